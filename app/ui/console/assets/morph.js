// Makes an element like one that the server has sent anew and keeps the nodes
// of the page wherever it can: what a person has opened, typed, ticked,
// scrolled or focused belongs to the node, and goes with it.
//
// A node with data-keep was put there by a script. The server knows nothing of
// it, so it is neither changed nor removed. An attribute that begins with
// data-own belongs to scripts as well, and so do aria-describedby, aria-expanded
// and style, which the policy forbids to the server.

// held are lists that have not taken over which rows there are, and how many
// rows came and went.
export const held = new Map();

const glass = matchMedia('(pointer: coarse)'); // where :hover stays where a finger was last
let forced = false;

// force is fn with no list held.
export function force(fn) {
  forced = true;
  try { fn(); } finally { forced = false; }
}

// isHeld says whether somebody is about to act on a row of a list: rows are
// changed where they stand then, and none comes, goes or moves.
export function isHeld(list) {
  if (forced || !list.isConnected) return false;
  return !glass.matches && list.matches(':hover') || list.querySelector('input:checked, :popover-open, :focus-visible, button[aria-expanded=true]') !== null;
}

const isRows = e => e.matches('tbody, ul, ol') && [...e.children].some(key);
const isKept = n => n.nodeType === Node.ELEMENT_NODE && n.dataset.keep !== undefined;
const isOpen = n => n.nodeType === Node.ELEMENT_NODE && (n.matches(':popover-open') || n.querySelector(':popover-open') !== null);
const heldIn = n => n.nodeType === Node.ELEMENT_NODE ? [n, ...n.querySelectorAll('tbody, ul, ol')].filter(e => isRows(e) && isHeld(e)) : [];
const key = n => n.nodeType === Node.ELEMENT_NODE ? n.getAttribute('id') || n.dataset.key || '' : '';

export function morph(from, to) {
  attributes(from, to);
  if (isKept(from) || from.matches('textarea, select, [data-rel], [data-rel-of]')) return; // what was typed, drawn, or ticks
  const old = [...from.childNodes].filter(n => !isKept(n)), fresh = [...to.childNodes];
  const same = partners(old, fresh);
  const update = which => { for (const want of fresh.filter(which)) if (same.has(want)) one(same.get(want), want); };
  if (isRows(from) && isHeld(from)) {
    const rows = nodes => nodes.filter(key).length, stay = fresh.filter(n => key(n) && same.has(n)).length;
    const came = rows(fresh) - stay, went = rows(old) - stay;
    if (came || went) held.set(from, {came, went});
    update(key);
    return;
  }
  const stays = new Set(same.values());
  // A list that is to make way, such as for the word that nothing is down, waits for the hand as its rows do.
  const leaving = old.filter(n => !stays.has(n)).flatMap(heldIn);
  if (leaving.length) {
    for (const list of leaving) held.set(list, {came: 0, went: [...list.children].filter(key).length});
    update(() => true);
    return;
  }
  for (const n of old) if (!stays.has(n) && !isOpen(n)) n.remove(); // a question that is open is answered first
  let at = from.firstChild;
  for (const want of fresh) {
    while (at && (isKept(at) || isOpen(at) && !stays.has(at))) at = at.nextSibling;
    const n = same.get(want);
    if (!n) { from.insertBefore(document.importNode(want, true), at); continue; }
    if (n === at) at = at.nextSibling; else if (from.moveBefore) from.moveBefore(n, at); else from.insertBefore(n, at);
    one(n, want);
  }
}

function one(n, want) {
  if (n.nodeType === Node.ELEMENT_NODE) morph(n, want);
  else if (n.nodeValue !== want.nodeValue) n.nodeValue = want.nodeValue;
}

function attributes(from, to) {
  const opens = from.matches('details, dialog');
  for (const {name, value} of to.attributes) if (from.getAttribute(name) !== value && !(opens && name === 'open')) from.setAttribute(name, value);
  for (const {name} of [...from.attributes]) {
    if (to.hasAttribute(name) || opens && name === 'open' || name === 'style' || name.startsWith('data-own') || ['aria-describedby', 'aria-expanded'].includes(name)) continue;
    from.removeAttribute(name);
  }
}

// partners finds for nodes that came which of the present ones they are: by
// key, or else in their order, those that are most alike.
function partners(old, fresh) {
  const same = new Map(), known = new Map(old.filter(key).map(n => [key(n), n]));
  for (const n of fresh) {
    const was = known.get(key(n));
    if (key(n) && was?.nodeName === n.nodeName) same.set(n, was);
  }
  align(old.filter(n => !key(n)), fresh.filter(n => !key(n)), same);
  return same;
}

function alike(a, b) {
  if (a.nodeName !== b.nodeName) return 0;
  if (a.nodeType !== Node.ELEMENT_NODE) return 1;
  return 2 + (a.getAttribute('class') === b.getAttribute('class')) + (a.getAttribute('aria-labelledby') === b.getAttribute('aria-labelledby'));
}

// align pairs two rows of nodes so that no pair crosses another.
function align(a, b, same) {
  let first = 0, as = a.length, bs = b.length;
  while (first < as && first < bs && alike(a[first], b[first]) % 3 === 1) same.set(b[first], a[first++]); // 1 and 4: as alike as can be
  while (as > first && bs > first && alike(a[as - 1], b[bs - 1]) % 3 === 1) same.set(b[--bs], a[--as]);
  const n = as - first, m = bs - first;
  if (n * m > 1e6) { // too long to be weighed
    for (let i = first; i < Math.min(as, bs); i++) if (alike(a[i], b[i])) same.set(b[i], a[i]);
    return;
  }
  const best = Array.from({length: n + 1}, () => new Uint32Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) {
    const w = alike(a[first + i], b[first + j]);
    best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], w && w + best[i + 1][j + 1]);
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    const w = alike(a[first + i], b[first + j]);
    if (w && best[i][j] === w + best[i + 1][j + 1]) same.set(b[first + j++], a[first + i++]);
    else if (best[i][j] === best[i + 1][j]) i++; else j++;
  }
}
