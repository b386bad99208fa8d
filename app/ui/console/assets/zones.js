// Offers every zone that the browser knows, and for something new its own, unless
// times are shown in UTC. An example stands in a rule until something is written.
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
