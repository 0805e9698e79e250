// panels.js - what stands as text around the timeline. Names come from programs
// that nobody has checked: they only become text of elements, never markup.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/** An element with attributes; what it holds are elements and texts. */
function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value);
  element.append(...content);
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

/** A text that may be broken behind what separates words in names. */
function breakable(text) {
  return text.split(/(?<=[+_.])/).flatMap(
      (part, i) => i > 0 ? [make('wbr'), part] : [part]);
}

function linkTo(text, act) {
  return make('button', {type: 'button', class: 'link', click: act},
              ...breakable(text));
}

/** The columns of the summary: title, key of the report, how to print. */
const figureColumns = [
  ['step', 'step_time_ns', formatTime],
  ['lower bound', 'tight_lower_bound_ns', formatTime],
  ['exposed', 'exposed_comm_ns', formatTime],
  ['of it no collective', 'idle_ns', formatTime],
  ['computation', 'compute_time_ns', formatTime],
  ['communication', 'comm_time_ns', formatTime],
  ['peak memory', 'peak_memory_bytes', formatBytes],
  ['collectives', 'num_collectives', String],
];
/** Those in which less is better. */
const lessIsBetter = ['step_time_ns', 'exposed_comm_ns', 'peak_memory_bytes'];

/** What a function is called; that of a trace is a rank. */
function labelOf({name, isMeasured}) {
  return isMeasured ? name : `@${name}`;
}

function makeFigureCell({step}, [, key, format], before) {
  const value = step.figures[key];
  const cell = make('td', {'data-key': key, 'data-value': value},
                    format(value));
  if (key === 'tight_lower_bound_ns' && value > 0)
    cell.append(make('span', {class: 'change'}, `step ${
        formatShare(step.figures.step_time_ns - value, value, true)}`));
  const old = before?.step.figures[key];
  if (lessIsBetter.includes(key) && old && old !== value)
    cell.append(make('span', {class: value < old ? 'change better' : 'change'},
                     formatShare(value - old, old, true)));
  return cell;
}

/** A table with a row for each version of each function, and the columns that
 * any has. */
function fillSummary(functions, choose) {
  const columns = figureColumns.filter(([, key]) => functions.some(
      ({versions}) => versions.some(({step}) => key in step.figures)));
  const titles = [functions.every(({isMeasured}) => isMeasured) ? 'rank'
                                                                : 'function',
                  '', ...columns.map(([title]) => title)];
  const head = make('thead', {}, make('tr', {}, ...titles.map(
      (title) => make('th', {scope: 'col'}, title))));
  const bodies = functions.map((shown) => {
    const rows = shown.versions.map((version, i) => make(
        'tr', {class: version.when},
        ...(i > 0 ? [] : [make('th', {
            scope: 'rowgroup', rowspan: shown.versions.length,
          }, linkTo(labelOf(shown), () => choose(shown)))]),
        make('th', {scope: 'row', class: 'text'}, version.when),
        ...columns.map((column) => makeFigureCell(
            version, column, i > 0 ? shown.versions[0] : undefined))));
    return make('tbody', {}, ...rows);
  });
  byId('summary').replaceChildren(head, ...bodies);
}

/** Says in the header what the figures rest on. */
function fillEvidence({versions}) {
  const texts = versions.map(({step: {figures}}) => figures.evidence);
  const isSame = texts.every((text) => text === texts[0]);
  byId('evidence').textContent = isSame ? texts[0] : versions.map(
      ({when}, i) => `${when} ${texts[i]}`).join(' · ');
}

/** Marks a function in the summary, and says what only it has. */
function showFigures(functions, shown) {
  [...byId('summary').tBodies].forEach((body, i) => {
    body.classList.toggle('chosen', functions[i] === shown);
  });
  const notes = shown.versions.flatMap(({when, step: {figures}}) => {
    const texts = [...figures.notes ?? []];
    if (figures.period_ns !== undefined)
      texts.push(`period ${formatTime(figures.period_ns)}, bound ${
          formatTime(figures.period_bound_ns)} (${
          figures.period_limited_by}), repetitions in progress: ${
          figures.repetitions_in_progress}`);
    if (figures.ramp_ns !== undefined)
      texts.push(`first and last repetitions take ${
          formatTime(figures.ramp_ns)} more`);
    if (figures.reserved_bytes !== undefined)
      texts.push(`reserved memory ${formatBytes(figures.reserved_bytes)}`);
    if (figures.total_bytes !== undefined)
      texts.push(`total memory ${formatBytes(figures.total_bytes)}`);
    if (figures.host_peak_bytes !== undefined)
      texts.push(`peak host memory ${formatBytes(figures.host_peak_bytes)}`);
    return texts.length ? [`${when}: ${texts.join('; ')}`] : [];
  });
  byId('notes').textContent = notes.join(' · ');
}

/** Names the colors that the function has. */
function fillLegend(shown, color) {
  const entries = new Map([['computation', color('--compute')],
                           ['wait', color('--stall')]]);
  for (const {step} of shown.versions)
    for (const kind of new Set(step.collectives.kind))
      entries.set(step.texts[kind], colorOfKind(step.texts[kind]));
  for (const {step} of shown.versions)
    for (const {color, ids: [first]} of makeIdleSeries(step))
      entries.set(`idle: ${step.gap(first).name}`, color);
  byId('legend').replaceChildren(...[...entries].map(([name, value]) => {
    const entry = make('span', {}, name);
    entry.style.setProperty('--swatch', value);
    return entry;
  }));
}

/** Says what is selected: interval, wait, reason and remedy. */
function fillDetails(timeline, item, select) {
  const box = byId('details');
  if (!item) {
    box.replaceChildren(make('p', {}, 'Click an operation, or search for it.'));
    return;
  }
  const facts = timeline.describe(item);
  const rows = [['version', item.version.when]];
  const add = (title, text, style = '') => rows.push([title, text, style]);
  if (item.type === 'collective') {
    add('kind', facts.kind);
    add(facts.isTransfer ? 'stream' : 'group', facts.group);
    // Traces need not say.
    if (facts.bytes !== null)
      add('bytes', (facts.areBytesExpected ? 'expected: ' : '') +
                       formatBytes(facts.bytes));
  }
  add('runs', `${formatTime(facts.begin)} to ${formatTime(facts.end)}`);
  add('takes', formatTime(facts.end - facts.begin));
  if (item.type === 'collective') {
    add('waited for', `at ${formatTime(facts.wait)}`);
    if (facts.iterations > 1)
      add('iterations', `${facts.iterations}, of which the first is shown`);
    add('exposed', formatTime(facts.exposed), facts.exposed ? 'stall' : '');
  }
  if (facts.limit) add('reason', facts.limit);
  if (facts.remedy) add('remedy', facts.remedy);
  const list = make('dl', {}, ...rows.flatMap(([title, text, style]) => [
    make('dt', {}, title),
    make('dd', {'data-fact': title, class: style ?? ''}, ...breakable(text)),
  ]));
  const others = timeline.counterparts(item).slice(0, 3);
  for (const other of others) {
    const there = timeline.describe(other);
    list.append(
        make('dt', {}, other.version.when),
        make('dd', {}, linkTo(shorten(there.name, 250), () => select(other)),
             `: exposed ${formatTime(there.exposed)}`));
  }
  box.replaceChildren(make('h3', {}, ...breakable(facts.name)), list);
}

/** Lists the largest values that are live at a time. */
function fillLive(version, ns, isPeak) {
  const {step, when} = version;
  byId('live-section').hidden = !step.hasMemory;
  byId('live-title').textContent =
      `Live ${when}, at ${formatTime(ns)}${isPeak ? ' (peak)' : ''}: ${
          formatBytes(step.liveBytes(ns))}`;
  const largest = step.largestBuffers(ns, 8);
  const rows = largest.map(({name, bytes}) => make(
      'tr', {}, make('td', {title: name}, name),
      make('td', {}, formatBytes(bytes))));
  if (rows.length === 0 && step.buffers.name.length === 0)
    rows.push(make('tr', {}, make('td', {}, 'Values are not known.')));
  byId('live').replaceChildren(...rows);
}

/** Lists the collectives for which the step stands still longest. */
function fillExposed(version, select) {
  const {step, when} = version;
  const indices = step.exposed.slice(0, 10);
  const where = when === 'measured' ? 'in the measured step' : when;
  byId('exposed-title').textContent = step.exposed.length === 0
      ? `Nothing is exposed ${where}`
      : `Most exposed ${where}: ${indices.length} of ${step.exposed.length}`;
  const hasRemedies = indices.some((index) => step.collective(index).remedy);
  const titles = ['collective', 'exposed', 'reason',
                  ...(hasRemedies ? ['remedy'] : [])];
  const head = make('thead', {}, make('tr', {}, ...titles.map(
      (title) => make('th', {scope: 'col', class: 'text'}, title))));
  const rows = indices.map((index) => {
    const facts = step.collective(index);
    const name = linkTo(shorten(facts.name, 400),
                        () => select({version, type: 'collective', index}));
    return make('tr', {}, make('td', {class: 'text'}, name),
                make('td', {}, formatTime(facts.exposed)),
                make('td', {class: 'text'}, ...breakable(facts.limit)),
                ...(hasRemedies ? [make('td', {class: 'text'},
                                        ...breakable(facts.remedy))] : []));
  });
  byId('exposed').replaceChildren(...(rows.length ? [head] : []),
                                  make('tbody', {}, ...rows));
}

/** Draws the frontier, with the versions as dots. */
function fillFrontier(shown) {
  byId('frontier-section').hidden = !shown.frontier;
  if (!shown.frontier) return;
  const {peak_bytes: peaks, step_time_ns: times, lower_bound_ns: bounds} =
      shown.frontier;
  const dots = shown.versions.map(({when, step: {figures}}) => (
    {when, peak: figures.peak_memory_bytes, time: figures.step_time_ns}));
  const [width, height, left, bottom] = [316, 190, 62, 40];
  const scale = (values, from, to) => {
    const least = Math.min(...values);
    const span = Math.max(...values) - least || least || 1;
    return {least, most: least + span,
            at: (value) => from + ((value - least) / span) * (to - from)};
  };
  const x = scale([...peaks, ...dots.map(({peak}) => peak)], left + 8,
                  width - 12);
  const hasBounds = bounds.every((bound) => bound > 0);
  const y = scale([...times, ...(hasBounds ? bounds : []),
                   ...dots.map(({time}) => time)],
                  height - bottom - 8, 12);
  const draw = (tag, attributes, ...content) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes))
      element.setAttribute(name, value);
    element.append(...content);
    return element;
  };
  // Between two points the step is that of the one with less memory.
  const path = (values) => values.map((value, i) =>
      (i === 0 ? `M${x.at(peaks[0])},${y.at(value)}`
               : `H${x.at(peaks[i])}V${y.at(value)}`)).join('');
  const text = (content, attributes) => draw('text', attributes, content);
  byId('frontier').replaceChildren(draw(
      'svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
              'aria-label': 'Step time against peak memory'},
      draw('path', {class: 'axis', d: `M${left},4V${height - bottom}H${width}`}),
      draw('path', {class: 'curve', d: path(times)}),
      ...(hasBounds ? [draw('path', {class: 'bound', d: path(bounds)})] : []),
      ...peaks.map((peak, i) => draw(
          'circle', {cx: x.at(peak), cy: y.at(times[i]), r: 3},
          draw('title', {}, `${formatBytes(peak)}: ${formatTime(times[i])}`))),
      ...dots.map(({when, peak, time}) => draw(
          'circle', {class: when, cx: x.at(peak), cy: y.at(time), r: 5},
          draw('title', {},
               `${when}: ${formatBytes(peak)}, ${formatTime(time)}`))),
      text(formatTime(y.most), {x: left - 4, y: 14, 'text-anchor': 'end'}),
      text(formatTime(y.least),
           {x: left - 4, y: height - bottom - 4, 'text-anchor': 'end'}),
      text(formatBytes(x.least), {x: left, y: height - bottom + 15}),
      text(formatBytes(x.most),
           {x: width - 4, y: height - bottom + 15, 'text-anchor': 'end'}),
      text((hasBounds ? 'dashed: lower bound; ' : '') + 'gray: before',
           {x: left, y: height - bottom + 32})));
}
