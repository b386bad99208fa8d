// Parts of a page with an id and data-live, which lists nouns, are read again
// when the server says that one of them has changed. What somebody has opened,
// focused or typed stays as it is.
import {tick} from './time.js';
import {force, held, morph} from './morph.js';
import {forget, known, partsOf} from './parts.js';
import {tellHeld, whatIsMarked, whereLooked} from './steady.js';

const sign = document.getElementById('live');
let stream, asked = false, busy = false, whole = false,  missed = false, leaving = false, retry = 1000, note, again;

// How long to wait when there is no room for this page, in ms. It is read again then, so that it is no older.
const wait = 30000;

export function follow() {
  if (!document.body.dataset.stream) return;
  document.addEventListener('visibilitychange', () => document.hidden ? close() : open(true));
  addEventListener('pagehide', close); // or a page kept for going back holds its connection
  addEventListener('pageshow', e => { leaving = false; if (e.persisted) open(true); });
  // A form on its way may delete what this page shows, and the change of that
  // is told before its answer arrives.
  addEventListener('submit', e => { leaving ||= !e.defaultPrevented && e.target.getAttribute('method') === 'post'; });
  globalThis.navigation?.addEventListener('navigateerror', () => { leaving = false; refresh(); }); // it was stopped
  open(false);
  addEventListener('belfry:refresh', e => { whole ||= e.detail; refresh(); });
  // What no change is told of, such as a check that went well, is read again
  // after so many seconds.
  const every = Math.min(...[...document.querySelectorAll('[data-live][data-every]')].map(e => Number(e.dataset.every)));
  if (Number.isFinite(every)) setInterval(() => { if (stream?.readyState === EventSource.OPEN && !document.hidden) refresh(); }, every * 1000);
}

function open(late) {
  if (stream || document.hidden) return;
  clearTimeout(again);
  stream = new EventSource(document.body.dataset.stream);
  stream.addEventListener('hello', () => { // to be open is not enough: there may be no room
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
    if (stream?.readyState === EventSource.CLOSED) { // refused: the server stops, or nobody is signed in any more
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

// tellOff says above the page that it does not follow what changes, and why.
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

// count shows the numbers of the navigation. Those of none are hidden.
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

// still is when no button of the mouse and no finger is down. What is moved away
// between press and release gets no click, or something else gets it.
let up = Promise.resolve();
export const still = () => up;
addEventListener('pointerdown', e => {
  if (e.button !== 0) return;
  up = new Promise(done => { for (const kind of ['pointerup', 'pointercancel']) addEventListener(kind, () => setTimeout(done), {once: true, capture: true}); });
}, {capture: true});

// refresh reads the page again: one at a time, and no sooner than three times
// as long as it took.
async function refresh() {
  if (leaving || !parts().length) return;
  if (busy) { asked = true; return; }
  busy = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, {headers: {'X-Belfry-Live': '1', 'X-Belfry-Parts': known()}}), text = await answer.text();
    await still();
    if (leaving) return;
    if (answer.redirected) { location.reload(); return; } // to sign in
    const fresh = answer.ok && partsOf(text, whole || held.size > 0);
    if (fresh) await apply(fresh);
  } catch { missed = true; forget(); } // the page may show but a part of it
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
  await null; // a chart that is drawn anew has its size when its caller is done
  place();
  tellHeld();
}
