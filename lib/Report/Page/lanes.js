// lanes.js - the streams of a function, and how their intervals are drawn.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/** The color of each kind of collective. */
const kindColors = {
  all_gather: '#ff7f0e', reduce_scatter: '#2ca02c', all_reduce: '#9467bd',
  all_to_all: '#8c564b', offload: '#7f7f7f', reload: '#17becf',
};
const otherColor = '#e377c2';

/** Why a measured step computes nothing while no collective is in flight. */
const idleCauses = {
  host: {color: '#bcbd22', text: 'the host had not launched what runs next'},
  copies: {color: '#17becf', text: 'only copies ran'},
  synchronization: {
    color: '#7f7f7f',
    text: 'the host waited for the device, and then had nothing queued',
  },
  rest: {color: '#c7c7c7', text: 'the trace does not say why'},
};

function colorOfKind(kind) {
  return Object.hasOwn(kindColors, kind) ? kindColors[kind] : otherColor;
}

/** Black or white, whichever is easier to read on the color. */
function textColorOn(color) {
  const [red, green, blue] =
      [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 135 ? '#000' : '#fff';
}

/** One stream of one version: series of what runs on it. */
class Lane {
  constructor(version, label, kind, series) {
    Object.assign(this, {version, label, kind, series});
    this.height = kind === 'compute' ? 30 : 22;
  }

  /** What is drawn at a time: {version, type, index}, or null. */
  find(ns, slack) {
    // What is drawn last lies on top.
    for (const series of [...this.series].reverse()) {
      const place = series.at(ns, slack);
      if (place >= 0)
        return {
          version: this.version, type: series.type, index: series.ids[place],
        };
    }
    return null;
  }
}

/** The lane of computation and of the stalls between. */
function makeComputeLane(version) {
  const {computations, stalls} = version.step;
  const all = Object.assign(
      new Series('--compute', computations.begin, computations.time,
                 Uint32Array.from(computations.name.keys())),
      {type: 'computation'});
  const column = (i) => stalls.map((stall) => stall[i]);
  const waits = Object.assign(
      new Series('--stall', column(1), column(2), column(0)),
      {type: 'collective'});
  return new Lane(version, 'compute', 'compute',
                  [all, waits, ...makeIdleSeries(version.step)]);
}

/** A series for each cause for which a measured step computes nothing. */
function makeIdleSeries({gaps, texts}) {
  return Object.entries(gaps ? idleCauses : {}).map(([name, {color}]) => {
    const indices = [...gaps.cause.keys()].filter(
        (i) => gaps.collective[i] < 0 && texts[gaps.cause[i]] === name);
    return Object.assign(
        new Series(color, indices.map((i) => gaps.begin[i]),
                   indices.map((i) => gaps.time[i]), indices),
        {type: 'gap'});
  }).filter(({ids}) => ids.length > 0);
}

/** A lane for each group in the order of the program, with a series for each
 * kind of collective. */
function makeStreamLanes(version) {
  const {step} = version;
  const groups = new Map();
  const {group, kind, transfer, begin, time} = step.collectives;
  for (let i = 0; i < group.length; ++i) {
    if (!groups.has(group[i])) groups.set(group[i], new Map());
    const kinds = groups.get(group[i]);
    if (!kinds.has(kind[i])) kinds.set(kind[i], []);
    kinds.get(kind[i]).push(i);
  }
  return [...groups].map(([text, kinds]) => {
    const series = [...kinds].map(([kindText, indices]) => Object.assign(
        new Series(colorOfKind(step.texts[kindText]),
                   indices.map((i) => begin[i]), indices.map((i) => time[i]),
                   indices),
        {type: 'collective'}));
    const first = series[0].ids[0];
    const label = (transfer[first] ? '' : '@') + step.texts[text];
    return new Lane(version, label, 'stream', series);
  });
}

function makeLanes(version) {
  return [makeComputeLane(version), ...makeStreamLanes(version)];
}

/** The part of time that is shown, and where on the canvas it is. */
class View {
  constructor(endNs) {
    this.endNs = Math.max(endNs, 1);
    this.left = 0;
    this.width = 1;
    this.showAll();
  }

  showAll() {
    this.from = 0;
    this.to = this.endNs;
  }

  get nsPerPixel() { return (this.to - this.from) / this.width; }
  x(ns) { return this.left + (ns - this.from) / this.nsPerPixel; }
  ns(x) { return this.from + (x - this.left) * this.nsPerPixel; }

  /** Shows `from` to `to`, or the nearest that is allowed. */
  show(from, to) {
    // A thousandth of a nanosecond more would show nothing.
    const span = Math.min(Math.max(to - from, 10), this.endNs);
    const begin = Math.min(Math.max(from, 0), this.endNs - span);
    this.from = begin;
    this.to = begin + span;
  }

  zoom(factor, aroundNs) {
    const span = Math.min((this.to - this.from) * factor, this.endNs);
    const share = (aroundNs - this.from) / (this.to - this.from);
    this.show(aroundNs - share * span, aroundNs + (1 - share) * span);
  }

  move(ns) { this.show(this.from + ns, this.to + ns); }
}

/** Shortens a text to about a width in pixels. */
function shorten(text, width) {
  const characters = Math.floor(width / 6.2);
  if (text.length <= characters) return text;
  return characters < 4 ? '' : text.slice(0, characters - 1) + '…';
}

/** Draws what of a series is in view: intervals of at least a pixel as such,
 * others as one pixel for all that begin in it, the stronger the more of its
 * time they fill. O(pixels log intervals). */
function drawSeries(context, series, color, view, top, height, getName) {
  const {begins, ends, busy, reach, ids} = series;
  const right = view.left + view.width;
  const textColor = textColorOn(color);
  context.fillStyle = color;
  let i = upperBound(reach, view.from);
  while (i < begins.length && begins[i] < view.to) {
    const x = view.x(begins[i]);
    const width = view.x(ends[i]) - x;
    if (width >= 1) {
      const from = Math.max(x, view.left);
      const shown = Math.min(x + width, right) - from;
      // Neighbors stay apart where there is room.
      const gap = width > 4 ? 1 : 0;
      context.fillRect(from, top, Math.max(shown - gap, 1), height);
      if (shown > 34) {
        context.fillStyle = textColor;
        context.fillText(shorten(getName(ids[i]), shown - 8), from + 4,
                         top + height / 2);
        context.fillStyle = color;
      }
      ++i;
      continue;
    }
    const pixel = Math.floor(x);
    let next = upperBound(begins, view.ns(pixel + 1), i + 1);
    if (next - 1 > i && view.x(ends[next - 1]) - view.x(begins[next - 1]) >= 1)
      --next;
    const share = (busy[next] - busy[i]) / view.nsPerPixel;
    context.globalAlpha = Math.min(Math.max(share, 0.4), 1);
    context.fillRect(Math.max(pixel, view.left), top, 1, height);
    context.globalAlpha = 1;
    i = next;
  }
}
