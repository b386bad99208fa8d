// Live updates. A part of a page with an id and data-live is read again when the server reports a change of one of the
// nouns in data-live. What is open, focused or typed stays as it is.
import {tick} from './time.js';
import {force, held, morph} from './morph.js';
import {forget, known, partsOf} from './parts.js';
import {tellHeld, whatIsMarked, whereLooked} from './steady.js';

const sign = document.getElementById('live');
let stream, asked = false, busy = false, whole = false,  missed = false, leaving = false, retry = 1000, note, again;

// After the server refused a stream for lack of room, the page is read again and asks for a stream again after so many ms.
const wait = 30000;

export function follow() {
  if (!document.body.dataset.stream) return;
  document.addEventListener('visibilitychange', () => document.hidden ? close() : open(true));
  addEventListener('pagehide', close); // a page in the back-forward cache would keep its connection
  addEventListener('pageshow', e => { leaving = false; if (e.persisted) open(true); });
  // No refresh between a submit and its answer: the form may delete the object of this page, the change arrives before the
  // answer, and a refresh would then show an error page.
  addEventListener('submit', e => { leaving ||= !e.defaultPrevented && e.target.getAttribute('method') === 'post'; });
  globalThis.navigation?.addEventListener('navigateerror', () => { leaving = false; refresh(); }); // the load was stopped
  open(false);
  addEventListener('belfry:refresh', e => { whole ||= e.detail; refresh(); });
  // A check that went well is reported as no change, so parts with data-every are read again after so many seconds.
  const every = Math.min(...[...document.querySelectorAll('[data-live][data-every]')].map(e => Number(e.dataset.every)));
  if (Number.isFinite(every)) setInterval(() => { if (stream?.readyState === EventSource.OPEN && !document.hidden) refresh(); }, every * 1000);
}

function open(late) {
  if (stream || document.hidden) return;
  clearTimeout(again);
  stream = new EventSource(document.body.dataset.stream);
  stream.addEventListener('hello', () => { // and not at open: the server may still answer that it has no room
    say('on', 'Live');
    note?.remove();
    note = undefined;
    retry = 1000;
    if (missed || late) refresh();
    missed = late = false;
  });
  stream.onerror = () => {
    say('off', 'Not live');
    missed = true;
    if (stream?.readyState === EventSource.CLOSED) { // refused: the server stops, or the session has ended
      close();
      again = setTimeout(open, retry, true);
      if (retry > 4000) tellOff('the node refuses them');
      retry = Math.min(retry * 2, 30000);
    }
  };
  stream.addEventListener('full', e => {
    missed = true;
    close();
    say('off', 'Not live');
    tellOff(e.data, ` This page is read again every ${wait / 1000} seconds.`);
    refresh();
    again = setTimeout(open, wait, true);
  });
  stream.addEventListener('counts', e => count(JSON.parse(e.data)));
  stream.addEventListener('change', e => {
    const changed = e.data.split(' ');
    if (parts().some(p => p.dataset.live.split(' ').some(n => changed.includes(n)))) refresh();
  });
}

// tellOff shows above the page that live updates are off, and why.
function tellOff(why, instead = '') {
  if (note || !parts().length) return;
  const place = whereLooked(), button = Object.assign(document.createElement('button'), {type: 'button', textContent: 'Try again'});
  button.addEventListener('click', () => { close(); refresh(); open(true); });
  note = Object.assign(document.createElement('p'), {className: 'note live-off'});
  note.dataset.keep = '';
  note.setAttribute('role', 'status');
  note.append(`Live updates are off: ${why}.${instead} `, button);
  document.querySelector('main').prepend(note);
  place();
}

// count shows the numbers beside entries of the navigation, and hides those without one.
function count(texts) {
  for (const [place, text] of Object.entries(texts)) {
    const e = document.getElementById(`count-${place}`);
    if (!e) continue;
    e.hidden = text === '';
    if (e.firstChild.textContent !== text) e.firstChild.textContent = text;
  }
}

function close() {
  stream?.close();
  stream = undefined;
}

function say(state, text) {
  if (!sign || sign.dataset.state === state || !parts().length) return;
  sign.dataset.state = state;
  sign.textContent = text;
}

const parts = () => [...document.querySelectorAll('[data-live][id]')];

// still resolves when no mouse button and no finger is down. An element that moves between press and release gets no click,
// and another element may get it.
let up = Promise.resolve();
export const still = () => up;
addEventListener('pointerdown', e => {
  if (e.button !== 0) return;
  up = new Promise(done => { for (const kind of ['pointerup', 'pointercancel']) addEventListener(kind, () => setTimeout(done), {once: true, capture: true}); });
}, {capture: true});

// refresh reads the page again: one read at a time, and a pause of three times its duration after each, so that a slow
// server is not loaded more.
async function refresh() {
  if (leaving || !parts().length) return;
  if (busy) { asked = true; return; }
  busy = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, {headers: {'X-Belfry-Live': '1', 'X-Belfry-Parts': known()}}), text = await answer.text();
    await still();
    if (leaving) return;
    if (answer.redirected) { location.reload(); return; } // the session has ended: show the sign-in page
    const fresh = answer.ok && partsOf(text, whole || held.size > 0);
    if (fresh) await apply(fresh);
  } catch { missed = true; forget(); } // the answer may be applied in part: ask for whole parts next time
  await new Promise(done => setTimeout(done, 3 * (performance.now() - began)));
  busy = false;
  if (asked) { asked = false; refresh(); }
}

async function apply(fresh) {
  const place = whereLooked(), marked = whatIsMarked();
  held.clear();
  const take = () => {
    for (const part of parts()) {
      const now = fresh.getElementById(part.id);
      if (now) morph(part, now);
    }
  };
  if (whole) force(take); else take();
  whole = false;
  tick();
  marked();
  document.dispatchEvent(new CustomEvent('belfry:fresh'));
  await null; // uPlot sets the size of a chart in a microtask; place measures after it
  place();
  tellHeld();
}
