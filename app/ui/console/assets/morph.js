// Changes an element of the page into a new version from the server, and reuses its nodes wherever it can. A node that is
// replaced loses what the reader did to it: open details, typed text, ticks, the scroll position and the focus.
//
// A node with data-keep was added by a script and is not in the version of the server, so it is neither changed nor removed.
// Attributes that begin with data-own are set by scripts too, and so are aria-describedby, aria-expanded and style: the content
// security policy forbids style to the server.

// held has the lists whose rows were not added, removed or moved in the last update, with the number of rows that would have
// come and gone.
export const held = new Map();

const glass = matchMedia('(pointer: coarse)'); // a touch screen, where :hover stays on the last touched element
let forced = false;

// force calls fn, in which no list is held.
export function force(fn) {
  forced = true;
  try { fn(); } finally { forced = false; }
}

// isHeld reports whether the reader is about to act on a row of a list: the pointer is over it, or a row is ticked, focused or
// has an open menu. Then rows change in place, and none is added, removed or moved, or a click would hit another row.
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
  if (isKept(from) || from.matches('textarea, select, [data-rel], [data-rel-of]')) return; // typed text, drawn charts and ticking times
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
  // A held list is not removed either, for example when the text "No monitor is down" replaces it.
  const leaving = old.filter(n => !stays.has(n)).flatMap(heldIn);
  if (leaving.length) {
    for (const list of leaving) held.set(list, {came: 0, went: [...list.children].filter(key).length});
    update(() => true);
    return;
  }
  for (const n of old) if (!stays.has(n) && !isOpen(n)) n.remove(); // an open dialog stays until it is answered
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

// partners maps new nodes to the present nodes to reuse: those with the same key, and for nodes without a key the most similar
// ones in the same order.
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

// align pairs nodes of two lists in order, so that the sum of their similarity is greatest.
function align(a, b, same) {
  let first = 0, as = a.length, bs = b.length;
  while (first < as && first < bs && alike(a[first], b[first]) % 3 === 1) same.set(b[first], a[first++]); // 1 and 4 are the highest values of alike
  while (as > first && bs > first && alike(a[as - 1], b[bs - 1]) % 3 === 1) same.set(b[--bs], a[--as]);
  const n = as - first, m = bs - first;
  if (n * m > 1e6) { // too many pairs to compare
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
