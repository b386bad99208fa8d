import {addRow} from './rows.js';

// Keeps the fields of a form that was sent after the session had ended, and fills them in again after sign-in. They are kept in
// this tab, and dropped when another page opens. Passwords are never kept.
const place = 'belfry-form', who = document.querySelector('.who > summary')?.textContent;

// A form with data-draft keeps its fields in the tab, through a reload and a step back, until it is saved, canceled or
// discarded. With data-typed the server has filled in the fields already.
const at = new URL(location.href);
at.searchParams.delete('trial'); // names the job shown below the form; the draft is the same
const draft = 'belfry-draft:' + at.pathname + at.search, sentPlace = 'belfry-sent';
const read = place => JSON.parse(sessionStorage.getItem(place) ?? 'null');

function drafts(restored) {
  const sent = read(sentPlace), form = document.querySelector('main form[data-draft]');
  const failed = performance.getEntriesByType('navigation')[0]?.responseStatus >= 400;
  const saved = sent && !failed && (form?.getAttribute('action') !== sent.action || document.querySelector('main > .flash'));
  sessionStorage.removeItem(sentPlace);
  if (saved) for (const d of sent.drafts) sessionStorage.removeItem(d);
  if (!form) return;
  let timer, gone = false;
  const store = () => {
    clearTimeout(timer);
    if (gone) return;
    sessionStorage.setItem(draft, JSON.stringify({who, action: form.getAttribute('action'), fields: fieldsOf(form)}));
  };
  const forget = () => { clearTimeout(timer); gone = true; sessionStorage.removeItem(draft); };
  const discard = Object.assign(document.createElement('button'), {type: 'button', textContent: 'Discard the draft', className: 'quiet'});
  discard.addEventListener('click', () => { forget(); location.replace(location.href); });
  const says = 'What you typed before is here again. It is not saved yet.', kept = read(draft);
  if (restored) store();
  else if (form.dataset.typed !== undefined) {
    store();
    if (sent?.resumed) note(form, says, discard);
  } else if (kept?.who !== who) sessionStorage.removeItem(draft);
  else if (JSON.stringify(kept.fields) !== JSON.stringify(fieldsOf(form))) fill(kept, says, discard);
  form.addEventListener('input', e => { if (e.target !== form) { clearTimeout(timer); timer = setTimeout(store, 300); } });
  form.addEventListener('click', e => { if (e.target.closest('.actions a')) forget(); });
  addEventListener('pagehide', () => { if (timer) store(); });
  form.addEventListener('submit', e => {
    if (e.defaultPrevented || form.dataset.upload !== undefined && !form.elements.namedItem('program.sha256').value) return; // upload.js uploads the file first and submits again
    store();
    // The answer to a refused form may have another address than the page of the form. Each has a draft, and a save drops both.
    const before = sent && !saved && sent.action === form.getAttribute('action') ? sent.drafts : [];
    sessionStorage.setItem(sentPlace, JSON.stringify({drafts: [...before, draft], action: form.getAttribute('action')}));
  });
}

export function resume() {
  const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null');
  if (!who) { // this is the sign-in page
    if (!kept) return;
    sessionStorage.setItem(place, JSON.stringify({...kept, asked: true}));
    for (const e of document.querySelectorAll('[data-kept], [name^=kept-form]')) e.remove(); // the server would keep a second copy
    document.getElementById('provider')?.removeAttribute('target');
    return;
  }
  sessionStorage.removeItem(place);
  const back = kept?.asked && kept.who === who && kept.page === location.pathname + location.search;
  if (back) fill(kept, 'You are signed in again. What you typed is here and has not been sent yet.');
  drafts(back);
  addEventListener('submit', e => { if (!e.defaultPrevented) keep(e.target); });
}

const texts = form => [...form.elements].filter(e => e.name && !['seen', 'trial_key', 'program.sha256', 'program.size'].includes(e.name) && !['password', 'file'].includes(e.type) && e.dataset.secret === undefined && !['BUTTON', 'FIELDSET'].includes(e.nodeName));

const fieldsOf = form => texts(form).map(e => [e.name, e.type === 'checkbox' || e.type === 'radio' ? e.checked : e.value]);

function keep(form) {
  if (form.getAttribute('method') !== 'post' || !form.closest('main')) return;
  if (form.elements.definition) return; // a definition as text may have passwords
  const fields = fieldsOf(form);
  if (fields.length) sessionStorage.setItem(place, JSON.stringify({who, page: location.pathname + location.search, action: form.getAttribute('action'), fields}));
}

function fill({action, fields}, says, ...more) {
  const form = [...document.querySelectorAll('main form[method=post]')].find(f => f.getAttribute('action') === action);
  if (!form) return;
  for (const rows of form.querySelectorAll('.pair-rows')) {
    const first = rows.querySelector('[name]').name, most = fields.filter(([name]) => name === first).length;
    while (rows.children.length < most) addRow(rows);
  }
  const inputs = texts(form);
  if (form.dataset.again && inputs.map(e => e.name).sort().join() !== fields.map(([name]) => name).sort().join()) {
    sendAgain(form, fields); // the form had another number of rows
    return;
  }
  for (const [name, value] of fields) {
    const i = inputs.findIndex(e => e.name === name); // names may repeat: take the next with this name
    if (i < 0) continue;
    const [e] = inputs.splice(i, 1);
    if (typeof value === 'boolean') e.checked = value; else e.value = value;
    e.closest('details')?.setAttribute('open', '');
  }
  form.closest('[popover]')?.showPopover();
  note(form, says, ...more);
  form.dispatchEvent(new Event('input', {bubbles: true}));
}

function note(form, ...what) {
  const p = document.createElement('p');
  p.className = 'flash';
  p.dataset.keep = '';
  p.setAttribute('role', 'status');
  p.append(...what);
  form.prepend(p);
}

// sendAgain lets the server show the form with the kept fields, and its number of rows. Nothing is saved.
function sendAgain(form, fields) {
  const again = document.createElement('form');
  again.method = 'post';
  again.action = form.getAttribute('action');
  for (const [name, value] of [...fields, ['do', form.dataset.again]]) {
    if (value === false) continue;
    again.append(Object.assign(document.createElement('input'), {type: 'hidden', name, value: value === true ? 'true' : value}));
  }
  document.body.append(again);
  sessionStorage.setItem(sentPlace, JSON.stringify({drafts: [draft], action: form.getAttribute('action'), resumed: true}));
  again.submit();
}
