// A form that was sent with the keyboard loads a page, which would put the focus at its top. This sets the focus to the row of
// the action, or the row that took its place, or the first field with a fault, or the notice.
const place = 'belfry-sent-by-key', rows = () => [...document.querySelectorAll('button[data-row]')];

function isOf(row, action) {
  const of = new URL(row.dataset.row, location.href), to = new URL(action, location.href);
  return to.pathname.startsWith(`${of.pathname}/`) && to.searchParams.get('namespace') === of.searchParams.get('namespace');
}

addEventListener('submit', e => {
  sessionStorage.removeItem(place);
  const form = e.target, button = e.submitter;
  if (e.defaultPrevented || !button?.matches(':focus-visible') || form.getAttribute('method') !== 'post' && button.formMethod !== 'post') return;
  const action = button.getAttribute('formaction') ?? form.getAttribute('action') ?? location.href;
  sessionStorage.setItem(place, JSON.stringify({action, page: location.pathname, at: rows().findIndex(row => isOf(row, action))}));
});

export function goOn() {
  const sent = JSON.parse(sessionStorage.getItem(place) ?? 'null'), notice = document.querySelector('main > .flash, main .problem');
  sessionStorage.removeItem(place);
  if (!sent || !notice || location.hash || document.activeElement !== document.body) return;
  notice.id ||= 'notice';
  const all = sent.page === location.pathname && sent.at >= 0 ? rows() : [];
  const row = all.find(row => isOf(row, sent.action)) ?? all[Math.min(sent.at, all.length - 1)];
  row?.setAttribute('aria-describedby', notice.id); // screen readers say the notice after the row
  const to = row ?? [...document.querySelectorAll('main [aria-invalid=true]')].find(e => e.checkVisibility()) ?? notice;
  if (to === notice) notice.tabIndex = -1;
  to.focus({focusVisible: true, preventScroll: to.matches('.flash')});
}
