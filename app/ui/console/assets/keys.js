// Keys: / searches, ? lists the keys, g and a letter go to a page.
const places = new Map();
const words = (document.body.dataset.keys || '').trim().split(/\s+/);
for (let i = 0; i + 1 < words.length; i += 2) places.set(words[i], words[i + 1]);

let going = 0; // until when a letter is a place

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select, [contenteditable]')) return;
  if (going > Date.now() && places.has(e.key)) {
    e.preventDefault();
    location.assign(places.get(e.key));
    return;
  }
  going = e.key === 'g' ? Date.now() + 1500 : 0;
  const search = document.querySelector('[data-search]');
  if (e.key === '/' && search) {
    e.preventDefault();
    search.focus();
  }
  if (e.key === '?') document.getElementById('keys')?.togglePopover();
});
