// The button "Try it now" of a form: runs the task once without saving it, and shows the job with its log below the form. Without
// scripts the page of the job opens.
import {log} from './log.js';
import {tick} from './time.js';

const button = document.querySelector('button[value=trial]'), form = button.form;
const word = Object.assign(document.createElement('span'), {className: 'soft'});
word.setAttribute('role', 'status');
button.closest('p').append(' ', word);
let plain = false;

const parse = async answer => new DOMParser().parseFromString(await answer.text(), 'text/html');

button.addEventListener('click', async e => {
  if (plain) return;
  e.preventDefault();
  if (button.getAttribute('aria-busy')) return;
  button.setAttribute('aria-busy', 'true');
  try { await run(); } finally { button.removeAttribute('aria-busy'); }
});

async function run() {
  word.textContent = '';
  const body = new URLSearchParams(new FormData(form));
  body.set('do', 'trial');
  const answer = await fetch(form.action, {method: 'POST', body, headers: {'X-Belfry-Live': '1'}}).catch(() => null);
  if (!answer) { word.textContent = 'No answer came. Try again: it is not run twice.'; return; }
  const box = (await parse(answer)).getElementById('trial-box');
  if (!answer.ok || !box) { // send the form without this script: its answer shows the faults
    plain = true;
    form.requestSubmit(button);
    return;
  }
  form.elements.trial_key.value = [...crypto.getRandomValues(new Uint8Array(13))].map(b => (b % 36).toString(36)).join('');
  const here = new URL(location.href);
  here.searchParams.set('trial', box.dataset.job);
  history.replaceState(history.state, '', here);
  const before = document.getElementById('trial-box');
  if (before) before.replaceWith(box); else form.after(box);
  tick();
  box.scrollIntoView({block: 'nearest'});
  await logOf(box);
}

async function logOf(box) {
  const place = box.querySelector('[data-log-of]');
  try {
    const found = (await parse(await fetch(place.dataset.logOf, {headers: {Accept: 'text/html'}}))).querySelector('#log .tail, #log > p');
    place.replaceChildren(found);
    if (found.dataset.log) log(found);
  } catch { place.textContent = 'The log could not be read just now. The job has it.'; }
  box.scrollIntoView({block: 'nearest'});
}

// Buttons of the trial, such as Cancel, are sent in the background, or the page would reload and lose the form.
document.addEventListener('submit', async e => {
  if (!e.target.closest('.trial > .now')) return;
  e.preventDefault();
  e.submitter?.setAttribute('aria-busy', 'true');
  const answer = await fetch(e.target.action, {method: 'POST', body: new URLSearchParams(new FormData(e.target)), headers: {'X-Belfry-Live': '1'}}).catch(() => null);
  if (!answer?.ok) { e.submitter?.removeAttribute('aria-busy'); word.textContent = 'It could not be canceled just now.'; }
  dispatchEvent(new CustomEvent('belfry:refresh'));
});

const last = document.getElementById('trial-box');
if (last) await logOf(last);
