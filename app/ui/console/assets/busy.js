// What is sent says that it is under way and is not sent twice. A list whose row
// an action is about is sent with that row's button, so the whole form waits.
addEventListener('submit', e => {
  const form = e.target;
  if (e.defaultPrevented || form.getAttribute('method') !== 'post' && e.submitter?.formMethod !== 'post') return;
  if (form.dataset.ownSent !== undefined) { e.preventDefault(); return; }
  form.dataset.ownSent = '';
  const button = e.submitter;
  setTimeout(() => button?.setAttribute('aria-busy', 'true')); // its name goes with the form
});
// A page that is kept for going back has sent nothing yet, and one whose answer
// was stopped may send again.
function free() {
  for (const form of document.querySelectorAll('[data-own-sent]')) delete form.dataset.ownSent;
  for (const b of document.querySelectorAll('button[aria-busy]')) b.removeAttribute('aria-busy');
}
addEventListener('pageshow', e => { if (e.persisted) free(); });
globalThis.navigation?.addEventListener('navigateerror', free);
// A word at the foot of the window can be put away. One with Undo stays until then.
addEventListener('click', e => {
  const word = e.target.closest?.('.flash .shut') && e.target.closest('.flash');
  if (word?.contains(document.activeElement)) document.getElementById('main').focus({preventScroll: true});
  word?.remove();
});
