// Relative times tick, and every time has the viewer's own zone in its title.
const own = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'long'});
const units = [['d', 86400], ['h', 3600], ['min', 60]];

function roughly(s) {
  for (const [name, size] of units) if (s >= 2 * size || (name === 'd' && s >= size)) return `${Math.floor(s / size)} ${name}`;
  return `${Math.floor(s)} s`;
}

function relative(at) {
  const s = (Date.now() - at) / 1000;
  return Math.abs(s) < 1 ? 'now' : s < 0 ? `in ${roughly(-s)}` : `${roughly(s)} ago`;
}

export function tick(root = document) {
  for (const e of root.querySelectorAll('time[datetime]')) {
    const at = Date.parse(e.dateTime);
    if (Number.isNaN(at)) continue;
    if (!e.dataset.own) {
      e.dataset.own = 'yes';
      e.title = `${own.format(at)} where you are${e.title ? `; ${e.title}` : ''}`;
    }
    if ('rel' in e.dataset) set(e, relative(at));
  }
  for (const e of root.querySelectorAll('[data-rel-of]')) set(e, relative(Date.parse(e.dataset.relOf)));
}

function set(e, text) { if (e.textContent !== text) e.textContent = text; }

tick();
setInterval(() => { if (!document.hidden) tick(); }, 1000);
