// A person at a page: opens, ticks, types, selects and points at what there is,
// and says what became of it.
(() => {
  const live = [...document.querySelectorAll('[data-live][id]')], all = selector => live.flatMap(e => [...e.querySelectorAll(selector)]);
  const shown = e => e.checkVisibility() && e.getBoundingClientRect().height > 0;
  const name = e => `${e.nodeName.toLowerCase()}#${e.getAttribute('id') ?? ''} ${(e.innerText ?? '').trim().slice(0, 40)}`;
  for (const e of document.querySelectorAll('main details')) e.open = true;
  const details = [...document.querySelectorAll('main details')];
  const canvases = () => document.querySelectorAll('.plot canvas');
  const charts = canvases().length;
  const figures = [...document.querySelectorAll('[data-chart]')];
  const table = f => f.querySelector('.numbers tbody').innerText;
  const drawn = f => { const c = f.querySelector('canvas'); return c ? c.toDataURL() : ''; };
  const before = figures.map(f => [table(f), drawn(f)]);
  let heads = [];

  // A page has a box to tick, or one to type into, or else text is selected.
  const box = all('tbody input[type=checkbox]').find(shown);
  if (box) box.checked = true;
  const ticked = box?.closest('tr');
  const input = [...document.querySelectorAll('main input:not([type]), main input[type=text], main input[type=search], main textarea')].find(shown);
  if (input) { input.value = 'typed by hand'; }
  const heading = document.querySelector('main h1');
  if (heading) getSelection().selectAllChildren(heading);
  const words = String(getSelection()).split(' ')[0];
  const scrolled = all('.scroll, pre').filter(e => e.scrollWidth > e.clientWidth + 10);
  for (const e of scrolled) e.scrollLeft = 7;

  let under, text;
  // A row with a name of its own may change what it says, such as an incident that ends; one without may not become another.
  const said = () => under.id || under.dataset.key || under.cells?.[0]?.innerText.replace(/(now|(in )?\d+ (s|min|h)( ago)?)/g, '').trim();
  const choose = () => {
    const rows = all('tbody > tr').filter(r => r !== ticked && shown(r) && !r.closest('.numbers'));
    under = rows[Math.floor(rows.length / 2)] ?? all('h2, dt, p').find(shown);
    under?.scrollIntoView({block: 'center', behavior: 'instant'});
    text = under && said();
  };
  const inView = e => { const {top, bottom} = e.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; };
  choose();

  const faults = new Set();
  let began, tops, fresh = 0, question;
  const look = () => {
    if (canvases().length < charts) faults.add(`${charts} charts, then ${canvases().length}`);
    for (const d of details) if (d.isConnected ? !d.open : shown(d)) faults.add(`closed: ${name(d)}`);
    if (box && (!box.isConnected || !box.checked)) faults.add('the ticked box is gone, or not ticked');
    if (input && input.value !== 'typed by hand') faults.add(`typed, then: ${input.value}`);
    if (words && !String(getSelection()).startsWith(words)) faults.add(`selected ${words}, then ${getSelection()}`);
    for (const h of heads) if (!h.isConnected || !shown(h)) faults.add(`vanished: ${name(h)}`);
    for (const e of scrolled) if (e.isConnected && e.scrollWidth > e.clientWidth + 10 && e.scrollLeft !== 7) faults.add(`scrolled back: ${name(e)}`);
    for (const [e, top] of question ? [] : tops) { // a question is in front of everything
      if (!e.isConnected) { faults.add(`gone from under the hand: ${name(e)}`); continue; }
      const by = e.getBoundingClientRect().top - top;
      if (Math.abs(by) > 2) faults.add(`moved by ${Math.round(by)} px: ${name(e)}`);
    }
    if (!question && under?.isConnected && said() !== text) faults.add(`pointed at ${text}, then at ${said()}`);
    if (question && !question.matches(':popover-open')) faults.add(`the question closed: ${name(question)}`);
  };
  window.person = {
    // at is where to point, until the pointer is there: an update may come in between, and take with it what is not pointed at yet.
    at() {
      if (under && !(under.isConnected && shown(under) && inView(under))) choose();
      const place = under?.matches(':hover') === false && under.getBoundingClientRect();
      return place ? {x: place.left + Math.min(60, place.width / 2), y: place.top + place.height / 2} : null;
    },
    look() {
      began = performance.now();
      heads = all('h1, h2, h3').filter(shown);
      tops = [under].filter(Boolean).map(e => [e, e.getBoundingClientRect().top]);
      document.addEventListener('belfry:fresh', () => { fresh++; setTimeout(look); }); // what is seen is what it comes to
      setInterval(look, 100);
      setTimeout(() => { question = all('[popover]')[0]; question?.showPopover(); }, 13000);
      return true;
    },
    seconds: () => (performance.now() - began) / 1000,
    faults() {
      look();
      figures.forEach((f, i) => {
        const c = f.querySelector('canvas');
        if (!c) return;
        const {data} = c.getContext('2d').getImageData(0, 0, c.width, c.height);
        if (!data.some(v => v !== 0)) faults.add('a chart is blank');
        if (table(f) !== before[i][0] && drawn(f) === before[i][1]) faults.add('other numbers, the same picture');
      });
      return [...faults];
    },
    fresh: () => fresh,
  };
  return true;
})()
