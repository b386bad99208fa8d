// Menus. Those of rows open beside their button; those of the header close after a click elsewhere.
const itemsOf = menu => [...menu.querySelectorAll('a, button')].filter(e => !e.hidden);

// A list has one menu for all rows. A click on the button of a row points its links and forms to that row.
let row, shut;
addEventListener('pointerdown', e => { // closes an open popover before the click, which must not open it again
  const button = e.target.closest?.('button[data-row]');
  shut = button && button === row && document.getElementById('row-menu').matches(':popover-open');
}, true);
addEventListener('click', e => {
  const button = e.target.closest?.('button[data-row]'), menu = document.getElementById('row-menu');
  if (button && menu && !shut) {
    row?.removeAttribute('aria-expanded');
    row = button;
    menu.setAttribute('aria-label', row.getAttribute('aria-label'));
    for (const item of menu.querySelectorAll('[data-to], [data-asks]')) {
      item.hidden = (row.dataset.lacks ?? '').split(' ').includes(item.dataset.key);
      if (item.dataset.to !== undefined) item.setAttribute(item.matches('a') ? 'href' : 'formaction', addressOf(item.dataset.to));
    }
    const key = menu.querySelector('input[name=key]');
    if (key) {
      key.value = row.dataset.sent ?? '';
      key.disabled = !key.value;
    }
    menu.showPopover();
  }
  shut = false;
  const asks = e.target.closest?.('#row-menu [data-asks]');
  if (!asks) return;
  const question = document.getElementById(asks.dataset.asks), form = question.querySelector('form');
  form.setAttribute('action', addressOf(form.dataset.to));
  question.querySelector('bdi').textContent = row.getAttribute('aria-label').replace('Actions for ', '');
  menu.hidePopover();
  question.showPopover({source: row});
  question.querySelector('[popovertargetaction=hide]').focus(); // Cancel, which changes nothing
});
addEventListener('toggle', e => {
  if (e.target.id === 'row-menu') row?.setAttribute('aria-expanded', e.newState === 'open');
}, true);

function addressOf(to) {
  const of = new URL(row.dataset.row, location.href), name = of.pathname.split('/').at(-1);
  if (!to.startsWith('/') || !to.includes('--row--')) {
    const [path, hash = ''] = to.split('#');
    of.pathname += path;
    of.hash = hash;
    return of.pathname + of.search + of.hash;
  }
  const other = new URL(to.replace('--row--', name), location.href), namespace = of.searchParams.get('namespace');
  if (namespace) other.searchParams.set('namespace', namespace);
  return other.pathname + other.search;
}
addEventListener('beforetoggle', e => {
  const menu = e.target;
  if (!menu.matches?.('.rowmenu') || e.newState !== 'open') return;
  const button = menu.id === 'row-menu' ? row : document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`);
  if (!button) return;
  menu.dataset.ownPlaced = '';
  requestAnimationFrame(() => {
    const box = button.getBoundingClientRect(), high = menu.offsetHeight, wide = menu.offsetWidth;
    menu.style.left = `${Math.max(8, Math.min(box.right - wide, innerWidth - wide - 8))}px`;
    menu.style.top = `${box.bottom + high + 8 < innerHeight ? box.bottom + 4 : Math.max(8, box.top - high - 4)}px`;
    itemsOf(menu)[0]?.focus();
  });
}, true);
addEventListener('keydown', e => {
  const menu = e.target.closest?.('.rowmenu');
  if (!menu) return;
  if (e.key === 'Tab') { menu.hidePopover(); return; } // Tab moves on from the button of the menu
  const all = itemsOf(menu), at = all.indexOf(document.activeElement);
  const to = {ArrowDown: (at + 1) % all.length, ArrowUp: (Math.max(at, 0) + all.length - 1) % all.length, Home: 0, End: all.length - 1}[e.key];
  if (to === undefined) return;
  e.preventDefault();
  all[to].focus();
});
const menus = () => document.querySelectorAll('.top details[open]');
addEventListener('click', e => { for (const m of menus()) if (!m.contains(e.target) && m.id !== 'nav') m.open = false; });
addEventListener('keydown', e => {
  if (e.key !== 'Escape') return;
  document.querySelector('.rowmenu:popover-open')?.hidePopover();
  for (const m of menus()) {
    const inside = m.contains(document.activeElement);
    m.open = false;
    if (inside) m.querySelector('summary').focus();
  }
});
