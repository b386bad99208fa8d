// The field Zone offers every time zone of the browser. A new object starts with the zone of the browser, unless the reader has
// chosen to see times in UTC. The text of a rule has an example as its placeholder.
const input = document.querySelector('main input[name=zone]'), box = input?.closest('[data-zone-of]');
const zones = Intl.supportedValuesOf?.('timeZone') ?? [];
if (input?.list && zones.length) {
  input.list.replaceChildren(...['UTC', ...zones.filter(z => z !== 'UTC')].map(value => Object.assign(document.createElement('option'), {value})));
}
if (box && document.body.dataset.times !== 'utc' && input.value === 'UTC' && input.defaultValue === 'UTC' && !document.querySelector('.problem')) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (own && !/^(Etc\/)?(UTC|GMT)$/.test(own)) {
    input.value = own;
  }
}
document.addEventListener('change', e => {
  if (e.target.name !== 'rule_kind') return;
  const text = e.target.closest('.rule').querySelector('textarea');
  text.placeholder = e.target.selectedOptions[0].dataset.like ?? '';
});
