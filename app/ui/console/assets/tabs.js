// On a phone the tabs are one line that scrolls. Scroll it so that the chosen tab is visible.
for (const line of document.querySelectorAll('.tabs ul')) {
  const here = line.querySelector('[aria-current]')?.getBoundingClientRect();
  if (!here || line.scrollWidth <= line.clientWidth) continue;
  const box = line.getBoundingClientRect();
  line.scrollLeft += here.left + here.width / 2 - box.left - box.width / 2;
}
