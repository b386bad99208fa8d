// Pages of jobs: copy to the clipboard, check JSON while it is typed, and send the next form of a bulk action.
document.addEventListener('click', async e => {
  const id = e.target.dataset?.copies;
  if (!id) return;
  try {
    await navigator.clipboard.writeText(document.getElementById(id).textContent);
    e.target.textContent = 'Copied';
  } catch { // browsers refuse the clipboard to a page without TLS
    getSelection().selectAllChildren(document.getElementById(id));
    e.target.textContent = 'Selected: copy it with your keys';
  }
});

function check(text) {
  const fault = text.closest('.field').querySelector('[data-fault]') ?? Object.assign(document.createElement('p'), {className: 'help'});
  fault.dataset.fault = fault.dataset.keep = '';
  fault.setAttribute('role', 'status');
  let wrong = '';
  try { if (text.value.trim()) JSON.parse(text.value); } catch (e) { wrong = `It is not JSON yet: ${e.message}`; }
  text.toggleAttribute('aria-invalid', false);
  if (wrong) text.setAttribute('aria-invalid', 'true');
  fault.textContent = wrong;
  text.after(fault);
}

document.addEventListener('input', e => {
  if (e.target.matches('[data-json] textarea')) check(e.target);
});

document.querySelector('form[data-go-on]')?.requestSubmit();
