// Marks a form as sent and stops a second submit. A list is one form with a button in each row, so after one of them
// all wait.
addEventListener('submit', e => {
  const form = e.target;
  if (e.defaultPrevented || form.getAttribute('method') !== 'post' && e.submitter?.formMethod !== 'post') return;
  if (form.dataset.ownSent !== undefined) { e.preventDefault(); return; }
  form.dataset.ownSent = '';
  const button = e.submitter;
  setTimeout(() => button?.setAttribute('aria-busy', 'true')); // later, so that the name of the button is sent
});
// The form can be sent again after the browser shows the page from its back-forward cache, and after the load of the
// answer was stopped.
function free() {
  for (const form of document.querySelectorAll('[data-own-sent]')) delete form.dataset.ownSent;
  for (const b of document.querySelectorAll('button[aria-busy]')) b.removeAttribute('aria-busy');
}
addEventListener('pageshow', e => { if (e.persisted) free(); });
globalThis.navigation?.addEventListener('navigateerror', free);
// Closes a toast. The focus moves to main if it was inside, or it would be lost.
addEventListener('click', e => {
  const word = e.target.closest?.('.flash .shut') && e.target.closest('.flash');
  if (word?.contains(document.activeElement)) document.getElementById('main').focus({preventScroll: true});
  word?.remove();
});
