// Draws a table of numbers as a chart. The table stays for readers who cannot see the chart.
import './locale.js';
import uPlot from './vendor/uPlot.esm.js';

const sheet = document.createElement('link');
sheet.rel = 'stylesheet';
sheet.href = new URL('./vendor/uPlot.min.css', import.meta.url);
document.head.append(sheet);
await new Promise(done => { sheet.onload = sheet.onerror = done; }); // a chart drawn before its style sheet is loaded has the wrong height

const tones = ['--busy', '--good', '--warn', '--bad', '--idle'];

function numbers(figure) {
  const table = figure.querySelector('.numbers table'); // the legend is a table too
  const rows = [...table.querySelectorAll('tbody tr')];
  const width = table.querySelectorAll('thead th').length;
  const data = Array.from({length: width}, () => []);
  for (const row of rows) {
    data[0].push(Date.parse(row.cells[0].dataset.at) / 1000);
    for (let i = 1; i < width; i++) data[i].push(row.cells[i].textContent === '' ? null : Number(row.cells[i].textContent));
  }
  return data;
}

function stack(data) {
  const sums = data[0].map(() => 0);
  return [data[0], ...data.slice(1).map(column => column.map((v, i) => v === null ? null : sums[i] += v))];
}

// Times are in UTC, as in the table, and written as on all pages.
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const date = v => {
  const at = new Date(v * 1000), year = at.getUTCFullYear();
  return `${at.getUTCDate()} ${months[at.getUTCMonth()]}${year === new Date().getUTCFullYear() ? '' : ` ${year}`}`;
};
const hour = v => new Date(v * 1000).toISOString().slice(11, 16);
const clock = v => v === null || v === undefined ? '' : `${date(v)}, ${hour(v)}`;
// Incidents are shaded behind the lines, with an edge at the top because the shade has little contrast. A short one is at least 3 pixels wide.
const spans = figure => (figure.dataset.spans ?? '').split(' ').filter(Boolean).map(s => s.split('-').map(Number));
function shade(u, figure, colour) {
  const {left, top, width, height} = u.bbox, ctx = u.ctx, least = 3 * devicePixelRatio;
  ctx.save();
  for (const [from, to] of spans(figure)) {
    const x = Math.max(left, u.valToPos(from, 'x', true)), end = Math.min(left + width, Math.max(u.valToPos(to, 'x', true), x + least));
    if (end <= x) continue;
    ctx.fillStyle = colour('--bad-tint');
    ctx.fillRect(x, top, end - x, height);
    ctx.fillStyle = colour('--bad-ink');
    ctx.fillRect(x, top, end - x, least);
  }
  ctx.restore();
}
// The first mark has its date below it, unless that would overlap the date of the first midnight.
const dayWidth = 80;
const marks = (u, at) => {
  const midnight = at.findIndex(v => hour(v) === '00:00');
  const first = midnight < 0 || u.valToPos(at[midnight], 'x') - u.valToPos(at[0], 'x') > dayWidth;
  return at.map((v, i) => hour(v) === '00:00' || i === 0 && first ? `${hour(v)}\n${date(v)}` : hour(v));
};

// Marks that are less than a minute apart have seconds.
const exact = (at, texts) => at.length > 1 && at[1] - at[0] < 60 ? texts.map((text, i) => text.replace(/\d\d:\d\d/, new Date(at[i] * 1000).toISOString().slice(11, 19))) : texts;

// Steps of an axis of counts: whole numbers only.
const whole = Array.from({length: 27}, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));

export function draw(figure) {
  const box = document.createElement('div');
  box.className = 'plot';
  box.dataset.keep = '';
  box.setAttribute('aria-hidden', 'true');
  figure.querySelector('figcaption').after(box);
  const kind = figure.dataset.chart;
  const inks = figure.dataset.tones ? figure.dataset.tones.split(' ').map(t => '--' + t) : tones;
  const wide = () => Math.max(box.clientWidth - 16, 100); // less its padding
  const read = () => kind === 'stacked' ? stack(numbers(figure)) : numbers(figure);
  const names = () => [...figure.querySelectorAll('.numbers thead th')].slice(1).map(e => e.textContent);
  let plot, drawn, called;
  const paint = () => {
    plot?.destroy();
    const style = getComputedStyle(figure), colour = name => style.getPropertyValue(name).trim();
    const labels = names();
    called = labels.join();
    const data = read();
    drawn = JSON.stringify([data, figure.dataset.spans]);
    const axis = {stroke: colour('--soft'), grid: {stroke: colour('--line'), width: 1}, ticks: {stroke: colour('--line'), width: 1}};
    plot = new uPlot({
      hooks: {drawClear: [u => shade(u, figure, colour)]},
      width: wide(), height: 200, cursor: {drag: {x: false, y: false}},
      scales: {y: {range: (u, lo, hi) => [0, (hi || 1) * 1.1]}},
      axes: [{...axis, values: (u, at) => exact(at, marks(u, at))}, {...axis, size: 64, ...figure.dataset.unit ? {} : {incrs: whole}, values: (u, at) => at.map(v => `${v} ${figure.dataset.unit}`)}],
      series: [{label: 'UTC', value: (u, v) => clock(v) || '–'}, ...labels.map((label, i) => ({
        label, stroke: colour(inks[i % inks.length]), width: 2, points: {show: data[0].length <= 60, size: 5}, spanGaps: false,
        dash: kind === 'line' && i > 0 ? [4 * i, 3] : undefined,
        fill: kind === 'line' ? undefined : colour(inks[i % inks.length]) + '66',
        paths: kind === 'bars' ? uPlot.paths.bars({size: [0.8, 40]}) : undefined,
      }))],
    }, data, box);
  };
  paint();
  const left = new AbortController(), {signal} = left;
  const sized = new ResizeObserver(() => plot.setSize({width: wide(), height: 200}));
  sized.observe(box);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint, {signal});
  document.addEventListener('belfry:fresh', () => {
    if (!figure.isConnected) { left.abort(); sized.disconnect(); plot.destroy(); return; }
    if (names().join() !== called) { paint(); return; }
    const data = read(), text = JSON.stringify([data, figure.dataset.spans]);
    if (text === drawn) return; // setData would reset the cursor and the value that it shows
    drawn = text;
    plot.setData(data);
  }, {signal});
}
