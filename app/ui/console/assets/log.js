// The log of a job: follows it while it is written, and searches in it.
const most = 20000; // lines that are kept here; the download has all
const pause = 1000; // ms between two looks

export function log(box) {
  const lines = box.querySelector('.lines'), state = box.querySelector('[data-log-state]');
  const follows = box.querySelector('[data-follow]'), find = box.querySelector('[data-find]'), found = box.querySelector('[data-found]'), only = box.querySelector('[data-only]');
  let last = lines.querySelector('.part'), hits = [], at = -1, dropped = 0;
  let live = last.dataset.liveLog !== undefined, more = last.dataset.more !== undefined, next = last.dataset.next;

  const bottom = () => lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
  const tell = text => { if (state.textContent !== text) state.textContent = text; };

  // A line that had no end goes on in the first one of its stream.
  function join(part) {
    for (const line of [...lines.querySelectorAll('.line[data-open]')]) {
      const rest = [...part.querySelectorAll('.line')].find(e => e.dataset.from === line.dataset.from);
      if (!rest) continue;
      line.querySelector('.say').append(...rest.querySelector('.say').childNodes);
      if (rest.dataset.open === undefined) delete line.dataset.open;
      rest.remove();
    }
  }

  async function read() {
    const address = new URL(box.dataset.log, location.href);
    address.searchParams.set('cursor', next);
    const answer = await fetch(address);
    if (!answer.ok || answer.redirected) throw new Error(answer.status);
    const part = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('.part');
    live = part.dataset.liveLog !== undefined;
    more = part.dataset.more !== undefined;
    next = part.dataset.next;
    if (!part.childElementCount) return;
    const stick = follows.checked && bottom();
    join(part);
    lines.append(part);
    for (let n = lines.querySelectorAll('.line').length; n > most; n--) { lines.querySelector('.line').remove(); dropped++; }
    search();
    if (stick) lines.scrollTop = lines.scrollHeight;
  }

  async function run() {
    for (;;) {
      const on = more || live && follows.checked && !document.hidden;
      if (on) {
        try { await read(); } catch { tell('It could not be read just now; this goes on trying.'); await sleep(5 * pause); continue; }
      }
      if (more && !live && lines.querySelectorAll('.line').length >= most) { further(); return; }
      if (more) { tell('Reading on…'); continue; }
      const cut = dropped ? ` The first ${dropped} lines are only in the download.` : '';
      if (!live) { tell(`The end.${cut}`); follows.disabled = true; follows.checked = false; return; }
      tell((follows.checked ? 'Followed as it is written.' : 'Paused.') + cut);
      await sleep(pause);
    }
  }

  // What is finished is not read past what is kept.
  function further() {
    const link = document.createElement('a');
    const to = new URL(location.href);
    to.searchParams.set('cursor', next);
    to.hash = 'log';
    link.href = to;
    link.textContent = 'Further on';
    state.replaceChildren(link);
  }

  const sleep = ms => new Promise(done => { setTimeout(done, ms); follows.addEventListener('change', done, {once: true}); });

  function search() {
    const word = find.value.toLowerCase(), ranges = [];
    hits = [];
    for (const line of lines.querySelectorAll('.line')) {
      const hit = word !== '' && line.querySelector('.say').textContent.toLowerCase().includes(word);
      line.classList.toggle('hit', hit);
      if (!hit) { line.classList.remove('at-hit'); continue; }
      hits.push(line);
      if (ranges.length < 2000) mark(line.querySelector('.say'), word, ranges);
    }
    if (window.Highlight && CSS.highlights) CSS.highlights.set('found', new Highlight(...ranges));
    only.disabled = word === '';
    if (only.disabled) only.checked = false;
    found.textContent = word === '' ? '' : hits.length === 0 ? 'not found' : `${hits.length} ${hits.length === 1 ? 'line' : 'lines'}`;
  }

  function mark(say, word, ranges) {
    const walk = document.createTreeWalker(say, NodeFilter.SHOW_TEXT);
    for (let node; node = walk.nextNode();) {
      const text = node.data.toLowerCase();
      for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + word.length)) {
        if (i + word.length > node.length) break; // letters that change their length with their case
        const range = new Range();
        range.setStart(node, i);
        range.setEnd(node, i + word.length);
        ranges.push(range);
      }
    }
  }

  find.addEventListener('input', () => { at = -1; search(); });
  find.addEventListener('keydown', e => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    if (!hits.length) return;
    hits[at]?.classList.remove('at-hit');
    at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
    hits[at].classList.add('at-hit');
    hits[at].scrollIntoView({block: 'center'});
    found.textContent = `${at + 1} of ${hits.length}`;
  });
  lines.scrollTop = live ? lines.scrollHeight : 0;
  run();
}
