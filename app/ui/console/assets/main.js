// Everything works without this. It keeps pages up to date, shows times in the
// viewer's zone, knows keys and draws charts.
import './time.js';
import './keys.js';
import './menu.js';
import './palette.js';
import './busy.js';
import './rows.js';
import './tabs.js';
import './zones.js'; // before a draft may say another
import {follow} from './live.js';
import {goOn} from './after.js';
import {resume} from './resume.js';
import {whereLooked} from './steady.js';

document.documentElement.classList.add('scripted');
follow();
resume();
// Back to the answer of a form, or a reload of it, gives the page with the form: the browser has not kept the
// answer, and shows a page of its own instead.
if (document.referrer.split(/[?#]/)[0] === location.origin + location.pathname) history.replaceState(history.state, '', location.href);
// The form of something new is typed into at once, at its first fault if it has one. A finger chooses for itself, without a keyboard in the way.
if (location.pathname.endsWith('/-new') && document.activeElement === document.body && !document.querySelector('[autofocus]') && !matchMedia('(pointer: coarse)').matches) {
  const inputs = [...document.querySelectorAll('main form[data-draft] :is(input, select, textarea)')].filter(e => e.checkVisibility());
  (inputs.find(e => e.matches('[aria-invalid=true]')) ?? inputs[0])?.focus({preventScroll: true});
}
goOn();
for (const form of document.querySelectorAll('form[data-upload]')) {
  const {upload} = await import('./upload.js');
  upload(form);
}
async function charts() { // one may come while the page is open
  const bare = [...document.querySelectorAll('[data-chart]:not([data-own-drawn])')];
  if (!bare.length) return;
  for (const figure of bare) figure.dataset.ownDrawn = '';
  const {draw} = await import('./chart.js'), place = whereLooked();
  bare.forEach(draw);
  await null; // uPlot gives a chart its size when its caller is done
  place();
}
document.addEventListener('belfry:fresh', charts);
await charts();
if (document.querySelector('[data-copies], [data-json], [data-go-on]')) await import('./jobs.js');
for (const box of document.querySelectorAll('[data-log]')) {
  const {log} = await import('./log.js');
  log(box);
}
if (document.querySelector('button[value=trial]')) await import('./trial.js');
if (document.querySelector('form[data-preview]')) await import('./preview.js');
