// Keyboard shortcuts. j and k move the focus over the rows of a list. They use the focus and no cursor of their own, so that
// Enter opens the row, live updates keep it, and screen readers say it.
const places = new Map();
const words = (document.body.dataset.keys || '').trim().split(/\s+/);
for (let i = 0; i + 1 < words.length; i += 2) places.set(words[i], words[i + 1]);

let going = 0; // until this time, a letter after g opens a page

const seen = e => e.checkVisibility();
const linkOf = row => row.querySelector('.number a, .name a, th a') ?? row.querySelector('td a');
const rowOf = e => e?.closest('main tbody > tr');

// stops returns the links of the rows, then the link to the next page.
const stops = () => [...document.querySelectorAll('main table:not(.compare, .numbers table) > tbody > tr'), ...document.querySelectorAll('main .pager a[rel=next]')]
  .map(e => e.matches('a') ? e : linkOf(e)).filter(e => e && seen(e));

function step(by) {
  const all = stops(), now = document.activeElement, row = rowOf(now);
  let at = all.findIndex(e => e === now || row && rowOf(e) === row);
  if (at < 0) at = by > 0 ? -1 : all.length;
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus({focusVisible: true});
}

// ends finds the first link whose path has an ending, such as that of the form for a new object.
const ends = (root, end) => [...root.querySelectorAll('a[href]')].find(a => a.pathname.endsWith(end));
const keys = {
  j: () => step(1), k: () => step(-1),
  x: () => rowOf(document.activeElement)?.querySelector('input[type=checkbox]')?.click(),
  n: () => ends(document.querySelector('main'), '/-new')?.click(),
  e: () => { const row = rowOf(document.activeElement); (row ? ends(row, '/edit') : [...document.querySelectorAll('main a[href]')].find(a => a.pathname.endsWith('/edit') && !rowOf(a)))?.click(); },
  '/': () => document.querySelector('[data-search]')?.focus(),
};

const typing = e => e.target.closest('input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable]');

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.defaultPrevented || typing(e) || document.querySelector('dialog[open]')) return;
  const help = document.getElementById('keys');
  if (e.key === '?') { help?.togglePopover(); return; }
  if (document.querySelector(':popover-open:not(#keys)')) return; // a dialog or a menu is open
  if (going > Date.now() && places.has(e.key)) {
    e.preventDefault();
    location.assign(places.get(e.key));
    return;
  }
  going = e.key === 'g' ? Date.now() + 1500 : 0;
  if (!Object.hasOwn(keys, e.key) || help?.matches(':popover-open')) return;
  e.preventDefault();
  keys[e.key]();
});
