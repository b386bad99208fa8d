// Shows what a form would do while somebody writes it. Without this, its button
// Preview does the same.
import {still} from './live.js';
import {morph} from './morph.js';
import {tick} from './time.js';

const form = document.querySelector('form[data-preview]');
let timer, asked = 0;

form.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(look, 300);
});

// What was typed before this was there counts too.
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
