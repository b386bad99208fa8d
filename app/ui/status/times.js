// Shows times in the zone of the reader, with UTC in the title. Days stay days of UTC, because they are counted so.
const form = options => new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', timeZoneName: 'short', ...options});
const whole = form({day: 'numeric', month: 'short', year: 'numeric'}), short = form({});
let last = '';
for (const e of document.querySelectorAll('time[datetime*="T"]')) {
  const at = new Date(e.dateTime), day = at.toDateString();
  if (isNaN(at) || at.getTimezoneOffset() === 0) continue;
  e.title = e.textContent;
  e.textContent = (/^\d\d:\d\d UTC$/.test(e.title) && day === last ? short : whole).format(at);
  last = day;
}
