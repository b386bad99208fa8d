// Keeps what was typed into a form that is sent after the session has ended,
// until somebody has signed in again. It stays in this tab and is forgotten with
// the next page otherwise. Passwords are never kept.
const place = 'belfry-form', who = document.querySelector('.who > summary')?.textContent;

export function resume() {
  const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null');
  if (!who) { // the page to sign in at
    if (kept) sessionStorage.setItem(place, JSON.stringify({...kept, asked: true}));
    return;
  }
  sessionStorage.removeItem(place);
  if (kept?.asked && kept.who === who && kept.page === location.pathname + location.search) fill(kept);
  addEventListener('submit', e => { if (!e.defaultPrevented) keep(e.target); });
}

const texts = form => [...form.elements].filter(e => e.name && e.name !== 'seen' && !['password', 'file'].includes(e.type) && !['BUTTON', 'FIELDSET'].includes(e.nodeName));

function keep(form) {
  if (form.getAttribute('method') !== 'post' || !form.closest('main')) return;
  const fields = texts(form).map(e => [e.name, e.type === 'checkbox' || e.type === 'radio' ? e.checked : e.value]);
  if (fields.length) sessionStorage.setItem(place, JSON.stringify({who, page: location.pathname + location.search, action: form.getAttribute('action'), fields}));
}

function fill({action, fields}) {
  const form = [...document.querySelectorAll('main form[method=post]')].find(f => f.getAttribute('action') === action);
  if (!form) return;
  const inputs = texts(form);
  if (form.dataset.again && inputs.map(e => e.name).sort().join() !== fields.map(([name]) => name).sort().join()) {
    sendAgain(form, fields); // it had more rows, or fewer
    return;
  }
  for (const [name, value] of fields) {
    const i = inputs.findIndex(e => e.name === name); // one by one: some names stand more than once
    if (i < 0) continue;
    const [e] = inputs.splice(i, 1);
    if (typeof value === 'boolean') e.checked = value; else e.value = value;
    e.closest('details')?.setAttribute('open', '');
  }
  form.closest('[popover]')?.showPopover();
  const note = document.createElement('p');
  note.className = 'flash';
  note.dataset.keep = '';
  note.setAttribute('role', 'status');
  note.textContent = 'You are signed in again. What you typed is here and has not been sent yet.';
  form.prepend(note);
  form.dispatchEvent(new Event('input', {bubbles: true}));
}

// The server shows the form as it was typed. Nothing is saved.
function sendAgain(form, fields) {
  const again = document.createElement('form');
  again.method = 'post';
  again.action = form.getAttribute('action');
  for (const [name, value] of [...fields, ['do', form.dataset.again]]) {
    if (value === false) continue;
    again.append(Object.assign(document.createElement('input'), {type: 'hidden', name, value: value === true ? 'true' : value}));
  }
  document.body.append(again);
  again.submit();
}
