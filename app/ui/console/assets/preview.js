// Shows the effect of a form while it is filled in. Without scripts its button Preview does the same.
import {still} from './live.js';
import {morph} from './morph.js';
import {tick} from './time.js';

const form = document.querySelector('form[data-preview]');
let timer, asked = 0;

form.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(look, 300);
});

// The form may have been filled in before this script was loaded.
if ([...form.elements].some(e => 'defaultValue' in e && e.type !== 'checkbox' && e.value !== e.defaultValue)) look();

async function look() {
  const mine = ++asked;
  const body = new URLSearchParams(new FormData(form));
  body.set('do', 'preview');
  const answer = await fetch(form.action, {method: 'POST', body, headers: {'X-Belfry-Live': '1'}}).catch(() => null);
  if (!answer?.ok || mine !== asked) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('preview');
  await still();
  if (fresh && mine === asked) morph(document.getElementById('preview'), fresh);
  tick();
}
