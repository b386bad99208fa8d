// Relative times tick. The pointer, a tap or the focus on a time shows it in the reader's zone. A time is not reached by the
// Tab key: a page has dozens of them.
import {formatOf} from './locale.js';
import {whereLooked} from './steady.js';

const own = formatOf({dateStyle: 'medium', timeStyle: 'long'});

// now tells the time by the server's clock: that of this machine may be off. The foot of the page says when the page was made. A
// page on its way for less than half a minute says nothing about the clocks.
const off = Date.now() - Date.parse(document.querySelector('footer time')?.dateTime);
const now = () => Math.abs(off) > 30_000 ? Date.now() - off : Date.now();

// roughly writes a length as parts/moment.go does, so that the text does not change when the script takes over.
function roughly(s) {
  const min = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
  const two = (a, unit, b, less) => b ? `${a} ${unit} ${b} ${less}` : `${a} ${unit}`;
  if (d >= 2) return `${String(d).replace(/\B(?=(\d{3})+$)/g, '\u202f')} d`;
  if (d === 1) return two(1, 'd', h - 24, 'h');
  if (h >= 10) return `${h} h`;
  if (h >= 1) return two(h, 'h', min % 60, 'min');
  return min >= 1 ? `${min} min` : `${Math.floor(s)} s`;
}

// lasting writes the time since at as core.SpanText does from ten seconds on.
function lasting(at) {
  const s = Math.max(0, Math.floor((now() - at) / 1000));
  if (s < 60) return `${s} s`;
  return s < 3600 && s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : roughly(s);
}

function relative(at) {
  const s = (now() - at) / 1000;
  return Math.abs(s) < 1 ? 'now' : s < 0 ? `in ${roughly(-s)}` : `${roughly(s)} ago`;
}

export function tick(root = document) {
  for (const e of root.querySelectorAll('time[datetime]')) {
    const at = Date.parse(e.dateTime);
    if (Number.isNaN(at)) continue;
    if (e.title) { // a title is shown to a mouse only
      e.dataset.ownFull = e.title;
      e.removeAttribute('title');
    }
    if ('rel' in e.dataset) set(e, relative(at));
  }
  for (const e of root.querySelectorAll('[data-rel-of]')) {
    const at = Date.parse(e.dataset.relOf), {lasts} = e.dataset;
    set(e, lasts === undefined ? relative(at) : lasting(at) + lasts);
  }
}

function set(e, text) { if (e.textContent !== text) e.textContent = text; }

// hint is the tooltip below a time. It stays until the pointer or the focus leaves, or Escape.
const hint = document.createElement('div');
hint.id = 'hint';
hint.className = 'hint card';
hint.hidden = true;
hint.dataset.keep = '';
hint.setAttribute('role', 'tooltip');
const home = document.querySelector('main') ?? document.body; // all content has to be in a landmark
home.append(hint);
let shown;

function show(e) {
  if (shown && shown !== e) hide();
  const at = Date.parse(e.dateTime);
  if (Number.isNaN(at)) return;
  shown = e;
  hint.replaceChildren();
  for (const text of [`${own.format(at)} where you are`, e.dataset.ownFull]) {
    if (!text) continue;
    const line = document.createElement('div');
    line.textContent = text;
    hint.append(line);
  }
  const inside = e.closest('[popover]:popover-open'); // outside it, the popover would cover the hint
  (inside || home).append(hint);
  hint.hidden = false;
  e.setAttribute('aria-describedby', 'hint');
  const box = e.getBoundingClientRect(), wide = hint.offsetWidth, high = hint.offsetHeight;
  const below = box.bottom + 4 + high <= innerHeight;
  hint.style.left = `${Math.max(4, Math.min(box.left, document.documentElement.clientWidth - wide - 4))}px`;
  hint.style.top = `${below ? box.bottom + 4 : Math.max(4, box.top - 4 - high)}px`;
}

function hide() {
  shown?.removeAttribute('aria-describedby');
  shown = undefined;
  hint.hidden = true;
}

const time = e => e.target instanceof Element ? e.target.closest('time[datetime]') : null;
for (const kind of ['focusin', 'mouseover']) {
  addEventListener(kind, e => { const at = time(e); if (at) show(at); else if (!hint.contains(e.target)) hide(); });
}
addEventListener('focusout', hide);
addEventListener('scroll', hide, {capture: true, passive: true});
addEventListener('keydown', e => { if (e.key === 'Escape') hide(); });

// The server writes times in the zone of the browser once the browser has sent its name.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, choice = document.getElementById('times');
if (choice && zone) {
  choice.elements.zone.value = zone;
  choice.querySelector('.mine').append(` (${zone})`);
  const {times, zone: shown} = document.body.dataset, told = 'belfry-zone';
  if (times === 'mine' && shown !== zone && sessionStorage.getItem(told) !== zone) { // the zone of the browser has changed
    sessionStorage.setItem(told, zone); // once per tab: the server may not know the zone
    choice.requestSubmit(choice.querySelector('.mine'));
  }
}

tick();
// A longer text may wrap to another line and move the content below, which place undoes.
setInterval(() => {
  if (document.hidden) return;
  const place = whereLooked();
  tick();
  place();
}, 1000);
