// Menus of rows open beside their button, and menus of the header close when
// somebody goes elsewhere.
addEventListener('beforetoggle', e => {
  const menu = e.target;
  if (!menu.matches?.('.rowmenu') || e.newState !== 'open') return;
  const button = document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`);
  if (!button) return;
  menu.classList.add('placed');
  requestAnimationFrame(() => {
    const box = button.getBoundingClientRect(), high = menu.offsetHeight, wide = menu.offsetWidth;
    menu.style.left = `${Math.max(8, Math.min(box.right - wide, innerWidth - wide - 8))}px`;
    menu.style.top = `${box.bottom + high + 8 < innerHeight ? box.bottom + 4 : Math.max(8, box.top - high - 4)}px`;
    menu.querySelector('a, button')?.focus();
  });
}, true);
addEventListener('keydown', e => {
  const menu = e.target.closest?.('.rowmenu');
  if (!menu || !['ArrowDown', 'ArrowUp'].includes(e.key)) return;
  e.preventDefault();
  const all = [...menu.querySelectorAll('a, button')], at = all.indexOf(document.activeElement);
  all[(at + (e.key === 'ArrowDown' ? 1 : all.length - 1)) % all.length].focus();
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
