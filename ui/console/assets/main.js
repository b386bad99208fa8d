// Everything works without this. It keeps pages up to date, shows times in the
// viewer's zone, knows keys and draws charts.
import './time.js';
import './keys.js';
import {follow} from './live.js';

follow();
for (const table of document.querySelectorAll('[data-chart]')) {
  const {draw} = await import('./chart.js');
  draw(table);
}
