// Keeps what a person looks at in its place while a page is brought up to date.
import {held, isHeld} from './morph.js';

const visible = box => box.height > 0 && box.bottom > 0 && box.top < innerHeight;

// whereLooked notes where the things are that a person points at, has focused
// or has ticked, or else what stands at the top of the window. What it returns
// scrolls the first of them that is still there back to its place.
export function whereLooked() {
  const found = [...document.querySelectorAll('main :hover')].reverse();
  if (!found.length) for (const e of document.querySelectorAll('main [data-live]')) e.style.marginTop = e.style.paddingTop = '';
  if (document.activeElement?.closest('main')) found.push(document.activeElement);
  found.push(...document.querySelectorAll('main [data-live] input:checked'));
  if (scrollY > 0) for (let e = document.elementFromPoint(innerWidth / 2, 80); e?.closest('main'); e = e.parentElement) found.push(e);
  const seen = found.filter(e => visible(e.getBoundingClientRect())).map(e => [e, e.getBoundingClientRect().top]);
  const heights = [...document.querySelectorAll('[data-live] section, section[data-live]')].map(e => [e, e.getBoundingClientRect().height]);
  return () => {
    // What gets shorter leaves its room empty: what stands below it stays.
    for (const [e, high] of heights) if (e.isConnected && e.getBoundingClientRect().height < high) e.style.minHeight = `${high}px`;
    const still = seen.find(([e]) => e.isConnected && e.getBoundingClientRect().height > 0);
    if (!still) return;
    const [e, stood] = still, before = stood - (e === owed.of ? owed.by : 0);
    const off = () => e.getBoundingClientRect().top - before;
    const scroll = () => { if (Math.abs(off()) >= 1) scrollBy({top: off(), behavior: 'instant'}); };
    scroll();
    const part = e.closest('[data-live]');
    const add = (to, side, by) => { to.style[side] = `${(parseFloat(getComputedStyle(to)[side]) || 0) + by}px`; };
    if (off() <= -1 && part) add(part, 'marginTop', -off()); // the page ends at its top
    if (off() <= -1 && part) add(part, 'paddingTop', -off()); // and the margin lies within another
    if (off() >= 1) { // or it ends at its foot; a margin, because a page shorter than the window takes padding in
      add(document.body, 'marginBottom', off());
      scroll();
    }
    owed = Math.abs(off()) < 1 ? {of: e, by: off()} : {};
  };
}

// owed is by how much less than a pixel the last thing kept in its place is off. It is made up for when it is more: fifty
// updates would else move it by as many fractions.
let owed = {};

// whatIsMarked notes which text is selected. What it returns selects it again.
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

// Rows that wait are told of at the foot of the window, where they move nothing.
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
