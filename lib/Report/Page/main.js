// main.js - what the user does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const functions = readFunctions(byId('data').textContent);
const timeline = new Timeline(byId('canvas'));
let shown = null;
let matches = [];
let match = -1;

/** The version that the text is about: what came out. */
function mainVersion() {
  return shown.versions[shown.versions.length - 1];
}

function select(item, isShown = true) {
  timeline.selection = item;
  fillDetails(timeline, item, select);
  if (item && isShown) timeline.showItem(item);
  else timeline.draw();
}

function choose(next) {
  shown = next;
  byId('title').textContent = labelOf(shown);
  document.title = `${labelOf(shown)} - CommSched timeline`;
  matches = [];
  timeline.setFunction(shown);
  fillEvidence(shown);
  showFigures(functions, shown);
  fillLegend(shown, (name) => timeline.color(name));
  fillExposed(mainVersion(), select);
  fillFrontier(shown);
  fillDetails(timeline, null, select);
  showPeak();
}

function showPeak() {
  const version = mainVersion();
  fillLive(version, version.step.peakNs, true);
}

//===--- Search ------------------------------------------------------------===

/** All items whose name has the text in it, the latest version first. */
function search(text) {
  const wanted = text.toLowerCase();
  const found = [];
  for (const version of [...shown.versions].reverse()) {
    const {step} = version;
    const isWanted = step.texts.map((t) => t.toLowerCase().includes(wanted));
    for (const type of ['collective', 'computation'])
      step[`${type}s`].name.forEach((name, index) => {
        if (isWanted[name]) found.push({version, type, index});
      });
  }
  return found;
}

function startSearch() {
  const text = byId('search').value.trim();
  matches = text ? search(text) : [];
  match = -1;
  byId('found').textContent =
      !text ? '' : matches.length ? `${matches.length} found` : 'none found';
}

/** Selects the next or the previous of what was found. */
function showMatch(step, isShown = true) {
  if (matches.length === 0) return;
  match = (match + step + matches.length) % matches.length;
  byId('found').textContent = `${match + 1} of ${matches.length}`;
  select(matches[match], isShown);
}

/** Selects the next or the previous exposed collective by time. */
function showExposed(step) {
  const version = mainVersion();
  const {wait} = version.step.collectives;
  const inTime = [...version.step.exposed].sort(
      (a, b) => wait[a] - wait[b] || a - b);
  if (inTime.length === 0) return;
  const {selection} = timeline;
  const now = selection?.version === version && selection.type === 'collective'
      ? inTime.indexOf(selection.index) : -1;
  const first = step > 0 ? 0 : inTime.length - 1;
  const next = now < 0 ? first : (now + step + inTime.length) % inTime.length;
  select({version, type: 'collective', index: inTime[next]});
}

byId('search').addEventListener('input', startSearch);
byId('search').addEventListener('keydown', (event) => {
  if (event.key === 'Enter') showMatch(event.shiftKey ? -1 : 1);
  if (event.key === 'Escape') byId('canvas').focus();
});

//===--- Pointer -----------------------------------------------------------===

const {canvas} = timeline;
let drag = null;

function pointOf(event) {
  const box = canvas.getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}

function showTip(point) {
  const tip = byId('tip');
  const item = drag?.hasMoved ? null : timeline.find(point.x, point.y);
  tip.hidden = !item;
  if (!item) return;
  const {name, begin, end, exposed} = timeline.describe(item);
  const text = exposed ? `, exposed ${formatTime(exposed)}` : '';
  tip.textContent = `${shorten(name, 900)}: ${formatTime(end - begin)}${text}`;
  const isRight = point.x > canvas.clientWidth / 2;
  tip.style.left = isRight ? '' : `${point.x + 14}px`;
  tip.style.right = isRight ? `${canvas.clientWidth - point.x + 14}px` : '';
  tip.style.top = `${point.y + 16}px`;
}

/** The version whose lanes a point is in, or else the main one. */
function versionAt(y) {
  const row = timeline.rows.filter(({top}) => top <= y).pop();
  const isInLanes = row && y < row.top + row.height;
  return (isInLanes && (row.title ?? row.lane.version)) || mainVersion();
}

canvas.addEventListener('pointerdown', (event) => {
  const point = pointOf(event);
  drag = {x: point.x, from: timeline.view.from, hasMoved: false};
  canvas.setPointerCapture(event.pointerId);
});

canvas.addEventListener('pointermove', (event) => {
  const point = pointOf(event);
  const {view} = timeline;
  if (drag && (drag.hasMoved || Math.abs(point.x - drag.x) > 3)) {
    drag.hasMoved = true;
    canvas.classList.add('dragging');
    const from = drag.from - (point.x - drag.x) * view.nsPerPixel;
    view.show(from, from + view.to - view.from);
  }
  timeline.cursor = point;
  showTip(point);
  const ns = view.ns(point.x);
  if (ns >= 0 && ns <= view.endNs && point.x >= view.left)
    fillLive(versionAt(point.y), ns, false);
  timeline.draw();
});

canvas.addEventListener('pointerup', (event) => {
  const point = pointOf(event);
  const isClick = drag && !drag.hasMoved;
  drag = null;
  canvas.classList.remove('dragging');
  if (isClick) select(timeline.find(point.x, point.y), false);
});

canvas.addEventListener('pointercancel', () => {
  drag = null;
  canvas.classList.remove('dragging');
});

canvas.addEventListener('pointerleave', () => {
  timeline.cursor = null;
  byId('tip').hidden = true;
  showPeak();
  timeline.draw();
});

canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const {view} = timeline;
  // Some devices count lines instead of pixels.
  const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
  const sideways = event.shiftKey ? event.deltaY : event.deltaX;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    view.move(sideways * scale * view.nsPerPixel);
  else
    view.zoom(1.002 ** (event.deltaY * scale), view.ns(pointOf(event).x));
  timeline.draw();
}, {passive: false});

//===--- Keys and buttons --------------------------------------------------===

function zoomMiddle(factor) {
  const {view} = timeline;
  view.zoom(factor, (view.from + view.to) / 2);
  timeline.draw();
}

function move(share) {
  const {view} = timeline;
  view.move(share * (view.to - view.from));
  timeline.draw();
}

function showAll() {
  timeline.view.showAll();
  timeline.draw();
}

const keys = {
  '+': () => zoomMiddle(0.5), '=': () => zoomMiddle(0.5),
  '-': () => zoomMiddle(2), '0': showAll, 'n': () => showExposed(1),
  'p': () => showExposed(-1), 'ArrowLeft': () => move(-0.2),
  'ArrowRight': () => move(0.2), 'ArrowUp': () => zoomMiddle(0.5),
  'ArrowDown': () => zoomMiddle(2), '/': () => byId('search').focus(),
  'Escape': () => select(null),
};

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches('input, select');
  if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});

byId('zoom-in').addEventListener('click', () => zoomMiddle(0.5));
byId('zoom-out').addEventListener('click', () => zoomMiddle(2));
byId('fit').addEventListener('click', showAll);

//===--- Theme -------------------------------------------------------------===

const darkSystem = window.matchMedia('(prefers-color-scheme: dark)');

function applyTheme() {
  const wanted = byId('theme').value;
  const isDark = wanted === 'auto' ? darkSystem.matches : wanted === 'dark';
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  timeline.readColors();
  if (shown) fillLegend(shown, (name) => timeline.color(name));
  timeline.draw();
}

byId('theme').addEventListener('change', applyTheme);
darkSystem.addEventListener('change', applyTheme);
new ResizeObserver(() => timeline.draw()).observe(byId('plot'));

//===--- Begin -------------------------------------------------------------===

/** The function whose step takes longest. */
function longestFunction() {
  const time = ({versions}) =>
      versions[versions.length - 1].step.figures.step_time_ns;
  return functions.reduce((a, b) => time(b) > time(a) ? b : a);
}

/** Shows what the address asks for behind `#`: the name of a function, a text
 * to find, a theme. */
function followAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const name = wanted.get('function');
  choose(functions.find((one) => one.name === name) ?? longestFunction());
  const theme = [...byId('theme').options].find(
      ({value}) => value === wanted.get('theme'));
  if (theme) theme.selected = true;
  if (wanted.has('find')) {
    byId('search').value = wanted.get('find');
    startSearch();
    showMatch(1, false);
  }
}

timeline.readColors();
if (functions.length > 0) {
  fillSummary(functions, choose);
  followAddress();
  window.addEventListener('hashchange', () => {
    followAddress();
    applyTheme();
  });
} else {
  byId('notes').textContent = 'No function could be simulated.';
  for (const part of document.querySelectorAll('#chart, aside, #exposure'))
    part.hidden = true;
}
applyTheme();
timeline.drawNow();
// For measurements: when the first picture was complete.
document.documentElement.dataset.drawn = performance.now().toFixed(0);
