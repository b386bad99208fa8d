// The command palette: Ctrl+K opens it over any page. It shows the results of the page /find while the reader types. Arrow keys
// choose a result, Enter opens or runs it, Escape closes the palette and returns the focus.
const button = document.getElementById('quick');
const mac = /Mac|iP(hone|ad)/.test(navigator.platform);
let dialog, input, list, says, ask, asking, listed = '', wanted = '', enters = false, timer, slow;

const make = (tag, attributes = {}, ...inside) => {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...inside);
  return e;
};

function build() {
  input = make('input', {id: 'palette-q', name: 'q', type: 'text', role: 'combobox', 'aria-label': 'Search or run', 'aria-expanded': 'true', 'aria-controls': 'palette-list', 'aria-autocomplete': 'list', placeholder: 'A page, a name, state:failed, or pause backup', maxlength: '1000', dir: 'auto', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'go'});
  list = make('div', {id: 'palette-list', role: 'listbox', 'aria-label': 'Found', tabindex: '-1'});
  says = make('p', {role: 'status', class: 'soft'});
  const close = make('button', {type: 'button', class: 'more', 'aria-label': 'Close'}, button.querySelector('svg').cloneNode(true));
  close.firstChild.innerHTML = '<path d="M18 6 6 18M6 6l12 12"/>';
  close.addEventListener('click', () => dialog.close());
  const yes = make('button', {type: 'button', class: 'main'}, 'Run'), no = make('button', {type: 'button'}, 'Cancel');
  ask = make('div', {class: 'asks', role: 'group', hidden: '', 'aria-labelledby': 'palette-asks'}, make('p', {id: 'palette-asks'}), make('p', {class: 'actions'}, yes, no));
  yes.addEventListener('click', () => send(asking));
  no.addEventListener('click', answered);
  dialog = make('dialog', {class: 'palette card', 'aria-label': 'Search or run', 'data-keep': ''}, make('div', {class: 'bar'}, button.querySelector('svg').cloneNode(true), input, close), list, ask, says);
  dialog.addEventListener('click', e => { if (e.target === dialog) dialog.close(); }); // a click on the backdrop
  dialog.addEventListener('keydown', e => { if (e.key === 'Escape' && !ask.hidden) { e.preventDefault(); answered(); } });
  dialog.addEventListener('close', () => { clearTimeout(timer); wanted = ''; enters = false; });
  input.addEventListener('input', () => { enters = false; clearTimeout(timer); timer = setTimeout(look, 100); });
  input.addEventListener('keydown', key);
  list.addEventListener('pointerdown', e => e.preventDefault()); // the input keeps the focus
  list.addEventListener('click', e => { const o = e.target.closest('[role=option]'); if (o) { point(o); act(o); } });
  list.addEventListener('pointermove', e => { const o = e.target.closest('[role=option]'); if (o) point(o); });
  document.body.append(dialog);
}

function open() {
  if (!dialog) build();
  if (dialog.open) { dialog.close(); return; }
  for (const p of document.querySelectorAll(':popover-open')) p.hidePopover();
  answered();
  input.value = '';
  if (!list.children.length) { // nothing to show before the first answer
    list.setAttribute('aria-busy', 'true');
    list.append(make('div', {class: 'skeleton', 'aria-hidden': 'true'}, ...Array.from({length: 6}, () => make('i', {}))));
  }
  dialog.showModal();
  input.focus();
  look();
}

// look asks the server and shows the answer, unless the text has changed in the meantime.
async function look() {
  const text = input.value.trim(), at = new URL(button.href);
  if (text === listed && list.children.length && text !== '') return;
  wanted = text;
  at.searchParams.set('q', text);
  clearTimeout(slow);
  slow = setTimeout(() => { if (wanted === text && dialog.open) { list.setAttribute('aria-busy', 'true'); says.textContent = 'Searching…'; } }, 200);
  let page, failed;
  try {
    const answer = await fetch(at, {headers: {'X-Belfry-Live': '1'}, signal: AbortSignal.timeout(15000)});
    if (answer.redirected) { location.assign(at); return; } // the session has ended: after sign-in the search page opens
    page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (!answer.ok) failed = page.querySelector('.problem')?.textContent.trim() || 'The server could not search.';
  } catch { failed = 'The server does not answer.'; }
  if (wanted !== text || !dialog.open) return;
  clearTimeout(slow);
  list.removeAttribute('aria-busy');
  dialog.dataset.ownListed = listed = failed ? '' : text;
  show(failed ? null : page.getElementById('found'), failed);
  if (enters) { enters = false; const o = chosen(); if (o && !o.dataset.post) act(o); } // Enter before the answer opens the first result, but runs no action that the reader has not seen
}

function show(found, failed) {
  list.replaceChildren();
  let n = 0;
  for (const section of found?.querySelectorAll('section') ?? []) {
    const head = make('div', {class: 'heading', id: `palette-${section.getAttribute('aria-labelledby')}`, role: 'presentation'}, section.querySelector('h2').textContent);
    const group = make('div', {role: 'group', 'aria-labelledby': head.id}, head);
    for (const li of section.querySelectorAll('li')) {
      const from = li.querySelector('a, button'), option = make('div', {role: 'option', id: `palette-${n++}`, 'aria-selected': 'false'}, ...from.childNodes);
      Object.assign(option.dataset, li.dataset);
      if (from.href) option.dataset.link = from.getAttribute('href');
      group.append(option);
    }
    list.append(group);
  }
  says.textContent = failed ?? [n ? `${n} found` : 'Nothing found', ...[...found.querySelectorAll('[data-said]')].map(e => e.textContent)].join('. ');
  point(list.querySelector('[role=option]'));
  list.scrollTop = 0;
}

const chosen = () => list.querySelector('[aria-selected=true]');

function point(option) {
  chosen()?.setAttribute('aria-selected', 'false');
  option?.setAttribute('aria-selected', 'true');
  if (option) input.setAttribute('aria-activedescendant', option.id); else input.removeAttribute('aria-activedescendant');
  option?.scrollIntoView({block: 'nearest'});
}

function key(e) {
  if (e.isComposing) return;
  const all = [...list.querySelectorAll('[role=option]')], at = all.indexOf(chosen());
  const to = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: Math.min(at + 8, all.length - 1), PageUp: Math.max(at - 8, 0)}[e.key];
  if (to !== undefined && all.length) { e.preventDefault(); point(all[(to + all.length) % all.length]); }
  if (e.key !== 'Enter') return;
  e.preventDefault();
  if (input.value.trim() !== listed) { enters = true; clearTimeout(timer); look(); } // the list is of an earlier text
  else if (chosen()) act(chosen());
}

function act(option) {
  const {link, post, asks} = option.dataset;
  if (!post) { location.assign(link); return; }
  if (!asks) { send(option); return; }
  asking = option;
  ask.querySelector('p').textContent = asks;
  list.hidden = true;
  ask.hidden = false;
  ask.querySelector('button').focus();
}

function answered() {
  ask.hidden = true;
  list.hidden = false;
  input.focus();
}

// send submits the form of an action. An action that can be undone returns to this page, whose toast offers Undo.
function send({dataset: {post, task, asks}}) {
  const form = make('form', {method: 'post', action: post});
  if (task) form.append(make('input', {type: 'hidden', name: 'task', value: task}));
  if (!asks && location.pathname !== new URL(button.href).pathname) form.append(make('input', {type: 'hidden', name: 'next', value: location.pathname + location.search}));
  dialog.append(form);
  says.textContent = 'Sending…';
  form.requestSubmit();
}

if (button) {
  if (mac) button.querySelector('kbd').textContent = '⌘ K';
  button.setAttribute('aria-haspopup', 'dialog');
  button.addEventListener('click', e => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey) { e.preventDefault(); open(); } });
  addEventListener('keydown', e => {
    if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === 'k') { e.preventDefault(); open(); }
  });
}
