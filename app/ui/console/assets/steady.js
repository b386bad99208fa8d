// Keeps the content that the reader looks at in its place on the screen during a live update.
import {held, isHeld} from './morph.js';

const visible = box => box.height > 0 && box.bottom > 0 && box.top < innerHeight;

// whereLooked records the positions of the elements below the pointer, with the focus, or ticked, or else at the top of the
// window. It returns a function that scrolls the first of them that still exists back to its position.
export function whereLooked() {
  const found = [...document.querySelectorAll('main :hover')].reverse();
  if (!found.length) for (const e of document.querySelectorAll('main [data-live]')) e.style.marginTop = e.style.paddingTop = '';
  if (document.activeElement?.closest('main')) found.push(document.activeElement);
  found.push(...document.querySelectorAll('main [data-live] input:checked'));
  if (scrollY > 0) for (let e = document.elementFromPoint(innerWidth / 2, 80); e?.closest('main'); e = e.parentElement) found.push(e);
  const seen = found.filter(e => visible(e.getBoundingClientRect())).map(e => [e, e.getBoundingClientRect().top]);
  const heights = [...document.querySelectorAll('[data-live] section, section[data-live]')].map(e => [e, e.getBoundingClientRect().height]);
  return () => {
    // A section that got shorter keeps its height, so that the sections below it do not move.
    for (const [e, high] of heights) if (e.isConnected && e.getBoundingClientRect().height < high) e.style.minHeight = `${high}px`;
    const still = seen.find(([e]) => e.isConnected && e.getBoundingClientRect().height > 0);
    if (!still) return;
    const [e, stood] = still, before = stood - (e === owed.of ? owed.by : 0);
    const off = () => e.getBoundingClientRect().top - before;
    const scroll = () => { if (Math.abs(off()) >= 1) scrollBy({top: off(), behavior: 'instant'}); };
    scroll();
    const part = e.closest('[data-live]');
    const add = (to, side, by) => { to.style[side] = `${(parseFloat(getComputedStyle(to)[side]) || 0) + by}px`; };
    if (off() <= -1 && part) add(part, 'marginTop', -off()); // the page cannot scroll above its top: push the part down
    if (off() <= -1 && part) add(part, 'paddingTop', -off()); // the margin collapsed into another: use padding
    if (off() >= 1) { // the page cannot scroll below its end: make it longer. Padding of a page shorter than the window would change nothing
      add(document.body, 'marginBottom', off());
      scroll();
    }
    owed = Math.abs(off()) < 1 ? {of: e, by: off()} : {};
  };
}

// owed is the error of the last scroll, less than a pixel, and its element. The next update corrects it, or the errors of
// many updates would add up.
let owed = {};

// whatIsMarked records the selected text, and returns a function that selects it again.
export function whatIsMarked() {
  const s = getSelection();
  if (!s.rangeCount || s.isCollapsed) return () => {};
  const {anchorNode, anchorOffset, focusNode, focusOffset} = s;
  return () => {
    if (!anchorNode.isConnected || !focusNode.isConnected) return;
    if (s.anchorNode === anchorNode && s.anchorOffset === anchorOffset && s.focusNode === focusNode && s.focusOffset === focusOffset) return;
    const most = n => n.nodeType === Node.TEXT_NODE ? n.length : n.childNodes.length;
    s.setBaseAndExtent(anchorNode, Math.min(anchorOffset, most(anchorNode)), focusNode, Math.min(focusOffset, most(focusNode)));
  };
}

// A button at the foot of the window shows how many rows of held lists wait to come or go. There it moves no content.
const foot = document.createElement('p'), button = document.createElement('button');
foot.className = 'held card';
foot.hidden = true;
foot.setAttribute('role', 'status');
button.type = 'button';
foot.append(button);
document.body.append(foot);
let waiting = [];

export function tellHeld() {
  waiting = [...held.keys()];
  let came = 0, went = 0;
  for (const n of held.values()) { came += n.came; went += n.went; }
  const text = [came && `${came} new`, went && `${went} gone`].filter(Boolean).join(', ');
  foot.hidden = text === '';
  if (button.textContent !== text) button.textContent = text;
  button.setAttribute('aria-label', `Show what has changed in the list: ${text}`);
}

const refresh = whole => dispatchEvent(new CustomEvent('belfry:refresh', {detail: whole}));
button.addEventListener('click', () => refresh(true));
for (const kind of ['mouseout', 'change', 'focusout', 'toggle', 'click']) {
  addEventListener(kind, () => setTimeout(() => {
    if (!waiting.length || waiting.some(isHeld)) return;
    waiting = [];
    foot.hidden = true;
    refresh(false);
  }), {capture: true, passive: true});
}
