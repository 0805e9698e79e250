// model.js - reads the data of the page.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/** Nanoseconds as text, in the unit that shows the digits that matter. */
function formatTime(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(3)} µs`;
  if (size < 1e10) return `${(ns / 1e6).toFixed(3)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

/** Bytes as text, in a binary unit. */
function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; Math.abs(bytes) >= 1024 && unit + 1 < units.length; ++unit)
    bytes /= 1024;
  return unit === 0 ? `${bytes} B` : `${bytes.toFixed(2)} ${units[unit]}`;
}

/** A share as text, with its sign if it is a change. */
function formatShare(part, whole, isChange = false) {
  const percent = whole ? (100 * part) / whole : 0;
  const sign = isChange && percent > 0 ? '+' : '';
  return `${sign}${percent.toFixed(1)} %`.replace('-', '−');
}

/** The sums of the numbers up to each: what printSteps() has written. */
function addUp(steps) {
  const sums = new Float64Array(steps.length);
  let sum = 0;
  for (let i = 0; i < steps.length; ++i) sums[i] = sum += steps[i];
  return sums;
}

/** The first index from `low` on with values[index] > limit. */
function upperBound(values, limit, low = 0) {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Intervals of time by their begin, each with a number that names it. */
class Series {
  constructor(color, begins, times, ids) {
    const order = Uint32Array.from(ids.keys());
    order.sort((a, b) => begins[a] - begins[b] || a - b);
    this.color = color;
    this.ids = Uint32Array.from(order, (i) => ids[i]);
    this.begins = Float64Array.from(order, (i) => begins[i]);
    this.ends = Float64Array.from(order, (i) => begins[i] + times[i]);
    this.busy = new Float64Array(order.length + 1);
    // The last end so far: ascending, even where intervals overlap.
    this.reach = new Float64Array(order.length);
    let reach = 0;
    for (let i = 0; i < order.length; ++i) {
      this.busy[i + 1] = this.busy[i] + this.ends[i] - this.begins[i];
      this.reach[i] = reach = Math.max(reach, this.ends[i]);
    }
  }

  /** The index of an interval at `ns`, or of one at most `slack` away. */
  at(ns, slack) {
    const last = upperBound(this.begins, ns + slack);
    let best = -1;
    let distance = Infinity;
    for (let i = upperBound(this.reach, ns - slack - 0.5); i < last; ++i) {
      const away = Math.max(this.begins[i] - ns, ns - this.ends[i], 0);
      if (away < distance) [best, distance] = [i, away];
    }
    return best;
  }
}

/** The names of the members of a merged collective, and without its chunk. */
function memberNames(name) {
  return name.split('+').map((part) => part.replace(/\.chunk\d+$/, ''));
}

/** One version of a function: what printStep() has written. */
class Step {
  constructor(record, texts) {
    this.texts = texts;
    this.figures = record.figures;
    this.computations = {
      name: record.computations.name,
      begin: addUp(record.computations.begin),
      time: record.computations.time,
    };
    this.collectives = {
      ...record.collectives,
      begin: addUp(record.collectives.begin),
      wait: addUp(record.collectives.wait),
    };
    this.memory = {
      time: addUp(record.memory.time),
      bytes: addUp(record.memory.bytes),
    };
    this.buffers = {...record.buffers, begin: addUp(record.buffers.begin)};
    // Of a measured step, when nothing is computed: a collective or a cause.
    if (record.gaps)
      this.gaps = {...record.gaps, begin: addUp(record.gaps.begin)};
    this.endNs = this.figures.step_time_ns;
    for (let i = 0; i < this.collectives.name.length; ++i)
      this.endNs = Math.max(
          this.endNs, this.collectives.begin[i] + this.collectives.time[i]);
  }

  /** Everything about one collective. */
  collective(i) {
    const c = this.collectives;
    return {
      name: this.texts[c.name[i]], kind: this.texts[c.kind[i]],
      group: this.texts[c.group[i]], isTransfer: c.transfer[i] === 1,
      bytes: c.bytes[i], areBytesExpected: c.expected[i] === 1,
      begin: c.begin[i], end: c.begin[i] + c.time[i], wait: c.wait[i],
      exposed: c.exposed[i], iterations: this.iterations(i),
      stall: this.stall(i), limit: this.texts[c.limit[i]],
      remedy: this.texts[c.remedy[i]],
    };
  }

  /** How often a collective runs: in a loop, more than once. Measured steps
   * have each run by itself. */
  iterations(i) { return this.collectives.iterations?.[i] ?? 1; }

  /** How long a collective is exposed the first time. */
  stall(i) { return this.collectives.exposed[i] / this.iterations(i); }

  computation(i) {
    const c = this.computations;
    return {
      name: this.texts[c.name[i]], begin: c.begin[i],
      end: c.begin[i] + c.time[i],
    };
  }

  /** A time in which nothing is computed for another cause than a collective. */
  gap(i) {
    const {cause, begin, time} = this.gaps;
    const name = this.texts[cause[i]];
    return {name, begin: begin[i], end: begin[i] + time[i],
            limit: idleCauses[name].text};
  }

  /** When the computation stands still for a collective: the index of each,
   * its begin and its time. */
  get stalls() {
    if (this.gaps) {
      const {collective, begin, time} = this.gaps;
      return [...collective.keys()].filter((i) => collective[i] >= 0)
          .map((i) => [collective[i], begin[i], time[i]]);
    }
    const {exposed, wait} = this.collectives;
    return [...exposed.keys()].filter((i) => exposed[i] > 0)
        .map((i) => [i, wait[i], this.stall(i)]);
  }

  /** Whether the values and their bytes are known: those of traces are not. */
  get hasMemory() { return this.figures.peak_memory_bytes !== undefined; }

  /** The indices of exposed collectives, the longest first. */
  get exposed() {
    const {exposed} = this.collectives;
    this.exposedOrder ??= [...exposed.keys()].filter((i) => exposed[i] > 0)
        .sort((a, b) => exposed[b] - exposed[a] || a - b);
    return this.exposedOrder;
  }

  /** The collectives that have a member with one of these names. */
  findMembers(names) {
    if (!this.byMember) {
      this.byMember = new Map();
      this.collectives.name.forEach((text, i) => {
        for (const member of memberNames(this.texts[text])) {
          if (!this.byMember.has(member)) this.byMember.set(member, []);
          this.byMember.get(member).push(i);
        }
      });
    }
    const found = new Set();
    for (const name of names)
      for (const i of this.byMember.get(name) ?? []) found.add(i);
    return [...found].sort((a, b) => a - b);
  }

  liveBytes(ns) {
    const place = upperBound(this.memory.time, ns) - 1;
    return place < 0 ? 0 : this.memory.bytes[place];
  }

  /** When the most is live. */
  get peakNs() {
    let best = 0;
    for (let i = 1; i < this.memory.bytes.length; ++i)
      if (this.memory.bytes[i] > this.memory.bytes[best]) best = i;
    return this.memory.time[best] ?? 0;
  }

  /** The largest buffers at a time, largest first. */
  largestBuffers(ns, count) {
    const {begin, time, bytes, name} = this.buffers;
    const largest = [];
    const last = upperBound(begin, ns);
    for (let i = 0; i < last; ++i) {
      const least = largest.length < count ? -1 : bytes[largest[count - 1]];
      if (begin[i] + time[i] <= ns || bytes[i] <= least) continue;
      let place = largest.length;
      while (place > 0 && bytes[largest[place - 1]] < bytes[i]) --place;
      largest.splice(place, 0, i);
      largest.length = Math.min(largest.length, count);
    }
    return largest.map((i) => ({name: this.texts[name[i]], bytes: bytes[i]}));
  }
}

/** The functions of the page; a function has `before`, `after` or both. That of
 * a trace is a rank, and has `measured`. */
function readFunctions(text) {
  const data = JSON.parse(text);
  return data.functions.map((record) => ({
    name: record.function,
    frontier: record.frontier,
    isMeasured: record.measured !== undefined,
    versions: ['before', 'after', 'measured'].filter((when) => record[when])
        .map((when) => ({when, step: new Step(record[when], data.texts)})),
  }));
}
