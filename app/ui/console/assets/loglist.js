// A virtual list: the document has only the lines in view and a few around them. Lines are grouped in blocks. The height of
// a block is measured when it is shown, and estimated before.
const size = 50; // lines of a block

// list shows the rows of a source in a box that scrolls. A source has total(), the number of rows; row(i), an element, or
// nothing while it is not loaded; and need(from, to), which loads rows. paint gets the lines that are shown.
export function list(box, source, paint) {
  const above = document.createElement('div'), below = document.createElement('div');
  box.replaceChildren(above, below);
  let heights = [], blocks = new Map(), stale = new Set(), line = 20, due = 0, end = true, put = 0, target = -1;

  const count = () => Math.ceil(source.total() / size);
  const rowsOf = b => Math.min(size, source.total() - b * size);
  const height = b => heights[b] ?? rowsOf(b) * line;
  const before = b => { let y = 0; for (let i = 0; i < b; i++) y += height(i); return y; };

  function fill(b, div) {
    const rows = [];
    let whole = true;
    for (let i = b * size; i < b * size + rowsOf(b); i++) {
      const row = source.row(i);
      if (row) { rows.push(row); continue; }
      whole = false;
      const wait = document.createElement('div');
      wait.className = 'line wait';
      rows.push(wait);
    }
    if (rows.length !== div.children.length || rows.some((r, i) => div.children[i] !== r)) div.replaceChildren(...rows);
    return whole;
  }

  function draw() {
    due = 0;
    const n = count(), room = box.clientHeight;
    let top = end ? Infinity : box.scrollTop;
    if (target >= 0) top = before(Math.floor(target / size));
    let at = 0, y = 0;
    while (at < n - 1 && y + height(at) <= top) y += height(at++);
    if (end) { let up = room; while (at > 0 && (up -= height(at)) > 0) y -= height(--at); }
    const within = end ? 0 : top - y, from = Math.max(0, at - 1);
    let to = at, reach = y + height(at);
    while (to < n - 1 && reach < (end ? Infinity : top + room)) reach += height(++to);
    to = Math.min(n - 1, to + 1);

    for (const [b, div] of blocks) if (b < from || b > to) { div.remove(); blocks.delete(b); }
    let next = above.nextSibling;
    for (let b = from; b <= to; b++) {
      let div = blocks.get(b);
      if (!div) {
        div = document.createElement('div');
        div.className = 'block';
        blocks.set(b, div);
        stale.add(b);
        box.insertBefore(div, next);
      } else {
        next = div.nextSibling;
      }
      if (stale.delete(b)) div.dataset.whole = fill(b, div);
    }
    above.style.height = `${before(from)}px`; // set before the blocks are measured, because it moves them
    for (const [b, div] of blocks) {
      const h = div.getBoundingClientRect().height;
      if (div.dataset.whole === 'true') heights[b] = h; else delete heights[b];
    }
    below.style.height = `${Math.max(0, before(n) - before(Math.max(0, to + 1)))}px`;
    const shown = [...box.querySelectorAll('.line:not(.wait)')];
    if (end) { box.scrollTop = box.scrollHeight; put = box.scrollTop; }
    else if (target >= 0) toTarget();
    else if (at < n && Math.abs(before(at) + within - box.scrollTop) > 0.5) box.scrollTop = before(at) + within;
    if (to >= from) source.need(from * size, Math.min(source.total(), (to + 1) * size));
    paint(shown);
  }

  // toTarget scrolls the wanted row to the middle of the box, again after each draw until the row is loaded.
  function toTarget() {
    const row = source.row(target), div = blocks.get(Math.floor(target / size));
    const of = row?.isConnected ? row : div;
    if (!of) return;
    const off = of.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2 + line / 2;
    const to = Math.max(0, box.scrollTop + off);
    if (Math.abs(to - box.scrollTop) > 1) { box.scrollTop = to; soon(); }
    if (row?.isConnected && [...blocks.values()].every(d => d.dataset.whole === 'true')) { settled ||= setTimeout(() => { target = -1; settled = 0; }, 50); }
  }
  let settled = 0;

  const soon = () => { due ||= requestAnimationFrame(draw); };
  const hand = () => { target = -1; };
  for (const kind of ['wheel', 'touchmove', 'pointerdown', 'keydown']) box.addEventListener(kind, hand, {passive: true});
  // Home and End of the browser scroll smoothly. A draw on the way corrects an estimated height, which stops the scroll.
  box.addEventListener('keydown', e => {
    if (e.target !== box || e.shiftKey || e.altKey || e.metaKey) return;
    if (e.key === 'End') toEnd(); else if (e.key === 'Home') to(0); else return;
    e.preventDefault();
  });
  // The list is at its end until the reader scrolls up. A box that shrank, or that got lines, is still at its end.
  box.addEventListener('scroll', () => {
    end = target < 0 && (box.scrollHeight - box.scrollTop - box.clientHeight < 30 || end && box.scrollTop > put - 1);
    soon();
  }, {passive: true});
  let wide = 0;
  new ResizeObserver(() => { if (box.clientWidth !== wide) { wide = box.clientWidth; remeasure(); } else soon(); }).observe(box);

  // remeasure drops all heights and keeps the first visible row in its place.
  function remeasure() {
    let b = 0, y = 0;
    while (b < count() - 1 && y + height(b) <= box.scrollTop) y += height(b++);
    const within = box.scrollTop - y, share = within / Math.max(1, height(b)), was = end;
    heights = [];
    for (const b of blocks.keys()) stale.add(b);
    if (!was && target < 0) {
      below.style.height = `${before(count())}px`; // the place may lie beyond the present height
      box.scrollTop = before(b) + share * height(b);
    }
    end = was;
    draw();
  }

  function toEnd() { end = true; target = -1; draw(); }

  function to(row) { end = false; target = row; clearTimeout(settled); settled = 0; draw(); }

  return {
    // show draws another source, or the same one after all of its rows changed.
    show(other) {
      source = other;
      heights = [];
      for (const div of blocks.values()) div.remove();
      blocks.clear();
      stale.clear();
      draw();
    },
    // changed draws rows again.
    changed(rows) {
      for (const i of rows) stale.add(Math.floor(i / size));
      for (const b of blocks.keys()) if (blocks.get(b).children.length !== rowsOf(b)) stale.add(b);
      const last = count() - 1;
      heights.length = Math.min(heights.length, last + 1);
      if (last >= 0) delete heights[last];
      draw();
    },
    draw: soon,
    remeasure,
    atEnd: () => end,
    toEnd,
    to,
  };
}
