// Everything works without this. It keeps pages up to date, shows times in the
// viewer's zone, knows keys and draws charts.
import './time.js';
import './keys.js';
import {follow} from './live.js';

document.documentElement.classList.add('scripted');
follow();
for (const form of document.querySelectorAll('form[data-upload]')) {
  const {upload} = await import('./upload.js');
  upload(form);
}
for (const table of document.querySelectorAll('[data-chart]')) {
  const {draw} = await import('./chart.js');
  draw(table);
}
if (document.querySelector('[data-checks], [data-copies], [data-json], [data-go-on]')) await import('./jobs.js');
for (const box of document.querySelectorAll('[data-log]')) {
  const {log} = await import('./log.js');
  log(box);
}
if (document.querySelector('form[data-preview]')) await import('./preview.js');
