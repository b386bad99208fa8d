// A list of pairs gets another empty row when its last row is filled. An input with data-words has several words, and offers
// the options of its datalist for the last one: browsers offer them for the whole text only.
addEventListener('input', e => {
  const rows = e.target.closest?.('.pair-rows');
  if (rows && [...rows.lastElementChild.children].some(c => c.value)) addRow(rows);
  if (e.target.dataset?.words !== undefined) offer(e.target);
});

export function addRow(rows) {
  const row = rows.lastElementChild.cloneNode(true), n = rows.children.length + 1;
  for (const c of row.children) {
    c.value = '';
    c.removeAttribute('aria-invalid');
    c.id = c.id.replace(/\d+$/, n);
    c.setAttribute('aria-label', c.getAttribute('aria-label').replace(/\d+$/, n));
  }
  rows.append(row);
}

const known = new WeakMap();

function offer(input) {
  const list = input.list;
  if (!list) return;
  if (!known.has(list)) known.set(list, [...list.options].map(o => [o.value, o.getAttribute('label') ?? o.value]));
  const typed = input.value.split(/[ ,]+/), last = input.value.slice(0, input.value.length - typed.at(-1).length);
  list.replaceChildren(...known.get(list).filter(([w]) => !typed.slice(0, -1).includes(w)).map(([w, label]) => Object.assign(document.createElement('option'), label === w ? {value: last + w} : {value: last + w, label})));
}

// The checkbox above a list ticks all of its rows, and shows whether all of them or some are ticked.
const boxes = form => [...form.elements].filter(e => e.type === 'checkbox' && e.name);

function tally(all) {
  const rows = boxes(all.form), on = rows.filter(e => e.checked).length;
  all.checked = on > 0 && on === rows.length;
  all.indeterminate = on > 0 && on < rows.length;
}
const tallyAll = () => document.querySelectorAll('[data-checks]').forEach(tally);

addEventListener('change', e => {
  if (e.target.dataset?.checks !== undefined) for (const row of boxes(e.target.form)) row.checked = e.target.checked;
  tallyAll();
});
document.addEventListener('belfry:fresh', tallyAll);
addEventListener('pageshow', tallyAll); // after a step back the browser restores ticks
