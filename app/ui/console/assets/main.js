// The scripts of all pages: live updates, relative times, keyboard shortcuts, charts. Every page works without them.
import './time.js';
import './keys.js';
import './menu.js';
import './palette.js';
import './busy.js';
import './rows.js';
import './tabs.js';
import './zones.js'; // before resume.js, whose draft may have another zone
import {follow} from './live.js';
import {goOn} from './after.js';
import {resume} from './resume.js';
import {whereLooked} from './steady.js';

document.documentElement.classList.add('scripted');
follow();
resume();
// The answer of a form gets a history entry by GET. Otherwise a reload, or a step back to it, asks to send the form again or
// shows an error page of the browser.
if (document.referrer.split(/[?#]/)[0] === location.origin + location.pathname) history.replaceState(history.state, '', location.href);
// The form of an object, new or edited, has the focus in its first field, or the first with a fault. Not on a touch screen,
// where the keyboard would cover the form.
if ((/\/(-new|edit)$/.test(location.pathname) || document.querySelector('main form[data-draft] input[name=version]')) && document.activeElement === document.body && !document.querySelector('[autofocus]') && !matchMedia('(pointer: coarse)').matches) {
  const inputs = [...document.querySelectorAll('main form[data-draft] :is(input, select, textarea):enabled:not([readonly])')].filter(e => e.checkVisibility());
  (inputs.find(e => e.matches('[aria-invalid=true]')) ?? inputs[0])?.focus({preventScroll: true});
}
goOn();
for (const form of document.querySelectorAll('form[data-upload]')) {
  const {upload} = await import('./upload.js');
  upload(form);
}
async function charts() { // also after live updates, which may add a chart
  const bare = [...document.querySelectorAll('[data-chart]:not([data-own-drawn])')];
  if (!bare.length) return;
  for (const figure of bare) figure.dataset.ownDrawn = '';
  const {draw} = await import('./chart.js'), place = whereLooked();
  bare.forEach(draw);
  await null; // uPlot sets the size of a chart in a microtask; place measures after it
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
