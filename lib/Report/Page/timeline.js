// timeline.js - the canvas: lanes of each version above live bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const layout = {
  axis: 24, title: 20, gap: 4, between: 8, memory: 120, labels: 92, right: 10,
  font: '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif',
};

/** Numbers of one, two or five times a power of ten, at most `count`. */
function roundSteps(from, to, count) {
  const least = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= least);
  const steps = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step)
    steps.push(at);
  return {steps, step};
}

/** A time on the axis, with the digits that tell it from its neighbors. */
function formatTick(ns, step) {
  const [unit, size] = step >= 1e6 || ns >= 1e7 ? ['ms', 1e6] :
                       step >= 1e3 || ns >= 1e4 ? ['µs', 1e3] : ['ns', 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size)));
  return `${(ns / size).toFixed(digits)} ${unit}`;
}

class Timeline {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.view = new View(1);
    this.versions = [];
    this.rows = [];
    this.selection = null;
    this.cursor = null;
    this.colors = {};
  }

  /** Shows a function from its beginning to its end. */
  setFunction(shown) {
    this.versions = shown.versions;
    this.view = new View(
        Math.max(...this.versions.map(({step}) => step.endNs)));
    this.selection = null;
    this.placeRows();
    this.draw();
  }

  /** Places the lanes from top to bottom, and the live bytes below them. */
  placeRows() {
    this.rows = [];
    let top = layout.axis;
    for (const version of this.versions) {
      this.rows.push({title: version, top, height: layout.title});
      top += layout.title;
      version.lanes ??= makeLanes(version);
      for (const lane of version.lanes) {
        this.rows.push({lane, top, height: lane.height});
        top += lane.height + layout.gap;
      }
      top += layout.between;
    }
    this.memoryTop = top + layout.title;
    this.hasMemory = this.versions.some(({step}) => step.hasMemory);
    this.height = this.hasMemory ? this.memoryTop + layout.memory + 8 : top;
    this.canvas.style.height = `${this.height}px`;
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['page', 'text', 'muted', 'line', 'lane', 'accent',
                        'compute', 'stall', 'before'])
      this.colors[`--${name}`] = style.getPropertyValue(`--${name}`).trim();
  }

  color(name) { return this.colors[name] ?? name; }

  /** Draws in the next frame. */
  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.drawNow();
    });
  }

  drawNow() {
    if (this.rows.length === 0) return;
    const {context, canvas, view} = this;
    const width = canvas.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(this.height * ratio);
    context.scale(ratio, ratio);
    context.font = layout.font;
    context.textBaseline = 'middle';
    view.left = layout.labels;
    view.width = Math.max(width - layout.labels - layout.right, 1);
    context.fillStyle = this.color('--page');
    context.fillRect(0, 0, width, this.height);
    this.drawAxis();
    for (const row of this.rows)
      row.lane ? this.drawLane(row) : this.drawTitle(row);
    if (this.hasMemory) this.drawMemory();
    this.drawSelection();
    this.drawCursor();
  }

  text(text, x, y, color, align = 'left') {
    this.context.fillStyle = this.color(color);
    this.context.textAlign = align;
    this.context.fillText(text, x, y);
    this.context.textAlign = 'left';
  }

  line(x0, y0, x1, y1, color, dash = []) {
    const {context} = this;
    context.strokeStyle = this.color(color);
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.setLineDash([]);
  }

  drawAxis() {
    const {view} = this;
    const {steps, step} = roundSteps(view.from, view.to, view.width / 90);
    for (const ns of steps) {
      const x = Math.round(view.x(ns)) + 0.5;
      this.line(x, layout.axis - 5, x, this.height, '--line');
      const label = formatTick(ns, step);
      const half = this.context.measureText(label).width / 2;
      this.text(label, Math.min(x, view.left + view.width - half),
                layout.axis / 2 - 1, '--muted', 'center');
    }
  }

  drawTitle({title, top, height}) {
    const {figures} = title.step;
    const step = formatTime(figures.step_time_ns);
    const exposed = formatTime(figures.exposed_comm_ns);
    this.text(title.when, 8, top + height / 2, '--text');
    this.text(`step ${step}, exposed ${exposed}`, this.view.left,
              top + height / 2, '--muted');
  }

  drawLane({lane, top, height}) {
    const {context, view} = this;
    context.fillStyle = this.color('--lane');
    context.fillRect(view.left, top, view.width, height);
    this.text(shorten(lane.label, layout.labels - 14), 14, top + height / 2,
              '--muted');
    for (const series of lane.series)
      drawSeries(context, series, this.color(series.color), view, top, height,
                 (id) => this.describe({version: lane.version,
                                        type: series.type, index: id}).name);
    this.drawEnd(lane.version.step, top, height);
  }

  /** Marks the end of the step, or each period of one that repeats. */
  drawEnd({figures, endNs}, top, height) {
    const {view} = this;
    const period = figures.period_ns;
    const isSteady = period === figures.step_time_ns;
    const count = isSteady && period > 0 ? Math.ceil(endNs / period) : 1;
    for (let i = 1; i <= Math.min(count, 100); ++i) {
      const x = view.x(i * figures.step_time_ns);
      if (x >= view.left && x <= view.left + view.width)
        this.line(x, top - layout.gap, x, top + height, '--text', [3, 3]);
    }
  }

  drawMemory() {
    const {view} = this;
    const top = this.memoryTop;
    const bottom = top + layout.memory;
    const most = Math.max(
        1, ...this.versions.map(({step}) => step.figures.peak_memory_bytes));
    const y = (bytes) => bottom - (bytes / most) * (layout.memory - 8);
    this.text('live bytes', 8, top - layout.title / 2, '--text');
    this.text(this.versions.map(
        ({when, step}) =>
            `${when}: peak ${formatBytes(step.figures.peak_memory_bytes)}`)
                  .join(', '),
              view.left, top - layout.title / 2, '--muted');
    for (const share of [0, 0.5, 1]) {
      const height = Math.round(y(share * most)) + 0.5;
      this.line(view.left, height, view.left + view.width, height, '--line');
      this.text(formatBytes(share * most), view.left - 6, height, '--muted',
                'right');
    }
    for (const version of this.versions)
      this.drawMemoryCurve(version, y, bottom);
  }

  /** One step for each change that is in view, but the least and the most of
   * those in one pixel. */
  drawMemoryCurve({when, step}, y, bottom) {
    const {context, view} = this;
    const {time, bytes} = step.memory;
    const isMain = when === 'after' || this.versions.length === 1;
    const right = Math.min(view.left + view.width,
                           view.x(step.figures.step_time_ns));
    let next = upperBound(time, view.from);
    if (next === 0 || right < view.left) return;
    context.beginPath();
    context.moveTo(view.left, y(bytes[next - 1]));
    while (next < time.length && time[next] <= view.to) {
      const first = next;
      const pixel = Math.floor(view.x(time[first]));
      next = Math.max(upperBound(time, view.ns(pixel + 1), first), first + 1);
      let [least, most] = [bytes[first], bytes[first]];
      for (let i = first; i < next; ++i) {
        least = Math.min(least, bytes[i]);
        most = Math.max(most, bytes[i]);
      }
      for (const at of [bytes[first - 1], most, least, bytes[next - 1]])
        context.lineTo(pixel, y(at));
    }
    context.lineTo(right, y(bytes[next - 1]));
    context.strokeStyle = this.color(isMain ? '--compute' : '--before');
    context.lineWidth = 1.5;
    context.stroke();
    context.lineWidth = 1;
    if (!isMain) return;
    context.lineTo(right, bottom);
    context.lineTo(view.left, bottom);
    context.fillStyle = this.color('--compute');
    context.globalAlpha = 0.15;
    context.fill();
    context.globalAlpha = 1;
  }

  /** Frames what is selected, and the same collectives in the other version. */
  drawSelection() {
    if (!this.selection) return;
    for (const item of [this.selection, ...this.counterparts(this.selection)])
      for (const row of this.rows)
        if (row.lane?.version === item.version) this.drawFrame(row, item);
  }

  drawFrame({lane, top, height}, item) {
    const {context, view} = this;
    const series = lane.series.filter(({type}) => type === item.type);
    for (const {ids, begins, ends} of series) {
      const place = ids.indexOf(item.index);
      if (place < 0) continue;
      const from = Math.max(view.x(begins[place]), view.left);
      const to = Math.min(view.x(ends[place]), view.left + view.width);
      if (to < from) continue;
      context.strokeStyle = this.color('--text');
      context.lineWidth = 2;
      context.strokeRect(from - 1, top - 1, Math.max(to - from, 1) + 2,
                         height + 2);
      context.lineWidth = 1;
    }
  }

  drawCursor() {
    const {cursor, view} = this;
    if (!cursor || cursor.x < view.left || cursor.x > view.left + view.width)
      return;
    this.line(cursor.x, layout.axis, cursor.x, this.height, '--accent');
  }

  /** All about an item of a lane. */
  describe({version, type, index}) {
    return version.step[type](index);
  }

  /** The items of other versions with the same collectives. */
  counterparts({version, type, index}) {
    if (type !== 'collective') return [];
    const names = memberNames(version.step.collective(index).name);
    return this.versions.filter((other) => other !== version)
        .flatMap((other) => other.step.findMembers(names).map(
            (found) => ({version: other, type, index: found})));
  }

  /** What is drawn at a point of the canvas; null if nothing is. */
  find(x, y) {
    const row = this.rows.find(
        ({top, height}) => y >= top && y < top + height);
    if (!row?.lane || x < this.view.left) return null;
    return row.lane.find(this.view.ns(x), 2 * this.view.nsPerPixel);
  }

  /** The middle of an item on the canvas: a collective's on its stream. */
  placeOf({version, type, index}) {
    for (const {lane, top, height} of this.rows) {
      const isThere = lane?.version === version &&
          (lane.kind === 'compute') === (type === 'computation') &&
          lane.series.some((s) => s.type === type && s.ids.includes(index));
      if (!isThere) continue;
      const {begin, end} = this.describe({version, type, index});
      return {x: this.view.x((begin + end) / 2), y: top + height / 2};
    }
    return null;
  }

  /** Brings an item into view with what is around it. */
  showItem(item) {
    const {begin, end, wait = begin, stall = 0} = this.describe(item);
    const from = Math.min(begin, wait);
    const to = Math.max(end, wait + stall);
    const margin = Math.max(2 * (to - from), 20);
    this.view.show(from - margin, to + margin);
    this.draw();
  }
}
