// The log of a job as a virtual list: the server sends pages of lines, and the document has only the lines in view. The list
// follows a log while it is written, keeps its place after the reader scrolled up, and searches the whole log.
import {list} from './loglist.js';

const pause = 1000; // ms between two reads
const page = 500;   // lines of one request
const kept = 8000;  // lines kept in memory
const places = ['bad', 'gap']; // lines with a button of their own: the first error, the first gap

export function log(box) {
  const $ = selector => box.querySelector(selector);
  const lines = $('.lines'), state = $('[data-log-state]'), follows = $('[data-follow]'), find = $('[data-find]'), found = $('[data-found]'), only = $('[data-only]');
  const first = lines.querySelector('.part');
  let rows = new Map(), total = 0, live = false, hits = [], at = -1, search = 0, loading = new Map(), failing = false, seen = Promise.resolve();
  let wanted = Number(location.hash.match(/^#L(\d+)$/)?.[1] ?? box.dataset.line ?? 0);

  const all = {
    total: () => total,
    row: i => rows.get(i),
    need: (from, to) => { for (let p = Math.floor(from / page); p * page < to; p++) if (missing(p * page, Math.min(total, (p + 1) * page))) load(p); },
  };
  const matches = {total: () => hits.length, row: i => hits[i], need: () => {}};
  const view = list(lines, all, paint);

  function missing(from, to) {
    for (let i = from; i < to; i++) if (!rows.has(i)) return true;
    return false;
  }

  // take stores the lines of a part by their row, and returns their rows.
  function take(part) {
    total = Math.max(0, Number(part.dataset.total));
    live = part.dataset.liveLog !== undefined;
    const came = [...part.children].map(line => [Number(line.dataset.row ?? line.dataset.n - 1), line]);
    for (const [i, line] of came) {
      line.remove();
      rows.delete(i); // moves the row to the end of the map: the oldest are dropped first
      rows.set(i, line);
    }
    for (const i of rows.keys()) { if (rows.size <= kept) break; rows.delete(i); }
    for (const place of places) {
      const link = $(`a[data-${place}]`), line = Number(part.dataset[place] ?? 0);
      link.hidden = !line;
      link.dataset.to = line;
      if (line) link.href = `${address({line})}#L${line}`;
    }
    return came.map(([i]) => i);
  }

  // address is the URL of this page, or of another, with parameters.
  function address(query, of = location.href) {
    const to = new URL(of, location.href);
    to.hash = '';
    for (const name of ['line', 'from', 'find']) if (of === location.href) to.searchParams.delete(name);
    for (const [name, value] of Object.entries(query)) to.searchParams.set(name, value);
    return to;
  }

  async function get(query) {
    const streams = [...box.querySelectorAll('[data-streams] input')].filter(e => e.checked).map(e => e.name);
    const answer = await fetch(address({streams: streams.length ? streams.join(',') : 'none', ...query}, box.dataset.log));
    if (!answer.ok || answer.redirected) throw new Error(answer.status);
    return new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('.part');
  }

  function load(p) {
    if (loading.has(p)) return;
    const of = rows;
    loading.set(p, get({from: p * page}).then(part => {
      if (of !== rows) return; // other streams were chosen in the meantime
      const came = take(part);
      for (let i = p * page; i < Math.min(total, (p + 1) * page); i++) if (!rows.has(i)) rows.set(i, blank(i)); // the server no longer has the line: do not ask again
      view.changed(came);
    }).catch(() => {}).finally(() => setTimeout(() => { if (loading.delete(p)) view.draw(); }, 100)));
  }

  function blank(i) {
    const line = document.createElement('div');
    line.className = 'line';
    line.dataset.n = i + 1;
    return line;
  }

  // read asks for new lines, and again for lines that had no newline yet.
  async function read() {
    const of = rows, before = total;
    let from = total;
    for (let i = Math.max(0, total - page / 2); i < total; i++) if (rows.get(i)?.dataset.open !== undefined) { from = i; break; }
    const part = await get({from});
    if (of !== rows) return;
    const stick = follows.checked && view.atEnd();
    const came = take(part);
    view.changed(came);
    if (find.value && !only.checked) for (const i of came) if (i >= before && has(rows.get(i))) hits.push(rows.get(i).cloneNode(true));
    if (came.length && find.value && at < 0) tellFound();
    if (stick && total > before) view.toEnd();
    return came.length > 0;
  }

  const has = line => line.querySelector('.say').textContent.toLowerCase().includes(find.value.toLowerCase());
  const tell = text => { if (state.textContent !== text) state.textContent = text; };
  const sleep = ms => new Promise(done => { setTimeout(done, ms); follows.addEventListener('change', done, {once: true}); });

  async function run() {
    for (let still = 0; ;) { // reads without a new line: the pause grows with them
      if (!box.isConnected) return;
      if (live && follows.checked && !document.hidden) {
        try { await seen; still = await read() ? 0 : still + 1; failing = false; } catch { failing = true; }
      }
      count();
      if (failing) { tell('It could not be read just now; this goes on trying.'); await sleep(5 * pause); continue; }
      if (!live) { tell('The end.'); follows.disabled = true; follows.checked = false; return; }
      tell(follows.checked ? 'Followed as it is written.' : 'Paused.');
      await sleep(pause * Math.min(3, 1 + still / 3));
    }
  }

  function count() {
    const text = `${total.toLocaleString('en').replaceAll(',', ' ')} ${total === 1 ? 'line' : 'lines'}`, to = $('.pages');
    if (to.textContent !== text) to.textContent = text;
  }

  // goes scrolls to a line by its number and puts the number into the address of the page.
  async function goes(n, address) {
    if (only.checked) { only.checked = false; view.show(all); }
    if ([...box.querySelectorAll('[data-streams] input')].some(e => !e.checked)) {
      for (const e of box.querySelectorAll('[data-streams] input')) e.checked = true;
      await streams();
    }
    wanted = Math.max(1, Math.min(n, total));
    if (address) history.replaceState(history.state, '', `#L${wanted}`);
    view.to(wanted - 1);
  }

  // paint marks among the shown lines the one in the address and the search results.
  function paint(shown) {
    const ranges = [], word = find.value.toLowerCase(), hit = Number(hits[at]?.dataset.n ?? 0);
    for (const line of shown) {
      const n = Number(line.dataset.n);
      line.classList.toggle('at-line', n === wanted);
      line.classList.toggle('at-hit', n === hit);
      if (word) mark(line.querySelector('.say'), word, ranges);
    }
    if (window.Highlight && CSS.highlights) CSS.highlights.set('found', new Highlight(...ranges));
  }

  function mark(say, word, ranges) {
    if (!say) return;
    const walk = document.createTreeWalker(say, NodeFilter.SHOW_TEXT);
    for (let node; node = walk.nextNode();) {
      const text = node.data.toLowerCase();
      for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + word.length)) {
        if (i + word.length > node.length) break; // toLowerCase changes the length of a few letters
        const range = new Range();
        range.setStart(node, i);
        range.setEnd(node, i + word.length);
        ranges.push(range);
      }
    }
  }

  function tellFound(more = 0) {
    const n = more || hits.length;
    found.textContent = !find.value ? '' : n === 0 ? 'not found' : `${n} ${n === 1 ? 'line' : 'lines'}${more > hits.length ? `, the first ${hits.length} at hand` : ''}`;
  }

  // looks searches the whole log, on the server.
  async function looks() {
    const word = find.value, turn = ++search;
    at = -1;
    if (!word) { hits = []; only.disabled = true; settle(); return; }
    found.textContent = 'Searching…';
    try {
      const part = await get({find: word});
      if (turn !== search) return;
      hits = [...part.children];
      for (const line of hits) line.remove();
      only.disabled = false;
      settle(Number(part.dataset.found));
    } catch { if (turn === search) found.textContent = 'It could not be searched just now.'; }
  }

  function settle(n) {
    if (only.disabled) only.checked = false;
    tellFound(n);
    view.show(only.checked ? matches : all);
    view.draw();
  }

  let typing;
  find.addEventListener('input', () => { clearTimeout(typing); search++; typing = setTimeout(() => seen = looks(), 150); });
  find.addEventListener('keydown', async e => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    if (found.textContent === '' && find.value) { clearTimeout(typing); seen = looks(); }
    await seen;
    if (!hits.length) return;
    at = (at + (e.shiftKey ? hits.length + (at < 0 ? 0 : -1) : 1)) % hits.length;
    found.textContent = `${at + 1} of ${hits.length}`;
    const line = hits[at];
    view.to(only.checked ? at : Number(line.dataset.row ?? line.dataset.n - 1));
  });
  only.addEventListener('change', () => view.show(only.checked ? matches : all));

  const line = $('[data-goto]');
  line.form.addEventListener('submit', e => { e.preventDefault(); if (line.value) goes(Number(line.value), true); });
  for (const place of places) $(`a[data-${place}]`).addEventListener('click', e => { e.preventDefault(); goes(Number(e.currentTarget.dataset.to), true); });
  addEventListener('hashchange', () => { const n = location.hash.match(/^#L(\d+)$/)?.[1]; if (n) goes(Number(n), false); });
  lines.addEventListener('click', e => { // a click on a line number
    const of = e.target.closest('.line');
    if (!of || String(getSelection()) || e.clientX > of.getBoundingClientRect().left + parseFloat(getComputedStyle(of, '::before').width) + 12) return;
    wanted = Number(of.dataset.n);
    history.replaceState(history.state, '', `#L${wanted}`);
    view.draw();
  });

  async function streams() {
    const of = rows = new Map();
    loading.clear();
    total = 0;
    view.show(all);
    try {
      const part = await get({});
      if (of !== rows) return; // other streams were chosen in the meantime
      take(part);
      view.show(all);
      view.toEnd();
      count();
      if (find.value) await (seen = looks());
    } catch { failing = true; }
  }
  for (const e of box.querySelectorAll('[data-streams] input')) e.addEventListener('change', () => seen = streams());
  for (const e of [$('.wraps'), $('.times')]) e.addEventListener('change', () => view.remeasure());

  const full = $('[data-full]');
  const fill = on => { box.classList.toggle('full', on); full.setAttribute('aria-pressed', on); view.remeasure(); };
  full.addEventListener('click', () => fill(full.getAttribute('aria-pressed') !== 'true'));
  box.addEventListener('keydown', e => { if (e.key === 'Escape' && box.classList.contains('full')) { fill(false); full.focus(); } });

  take(first);
  view.show(all);
  if (wanted) goes(wanted, false); else view.toEnd();
  count();
  run();
}
