package browser

import (
	"os"
	"strconv"
	"strings"
)

// Emulate looks at pages as a person with a colour scheme (light or
// dark) and a window of that width, 800 high. Under 600 it is a phone.
func (b *Tab) Emulate(scheme string, width int) {
	b.T.Helper()
	b.Window(scheme, width, 800)
}

// Window is Emulate with a height.
func (b *Tab) Window(scheme string, width, height int) {
	b.T.Helper()
	b.width = width
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	// Without a graphics card every pixel costs time, on each of all pages that move: four times as many at a scale of 2.
	scale := 1
	if os.Getenv("BELFRY_SCREENSHOTS") != "" {
		scale = 2
	}
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}, nil)
	// A page's scripts fit their drawings to the width before a frame is painted.
	var painted bool
	b.Eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, &painted)
}

// layoutScript lists faults: text that is too pale (WCAG 1.4.3) or too small,
// elements that stick out, numbers that are cut, headings that skip a level, and
// targets that are hard to hit (WCAG 2.5.8).
const layoutScript = `(() => {
  const faults = [];
  const rgb = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const name = e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + (e.textContent || '').trim().slice(0, 40);
  if (document.documentElement.scrollWidth > WIDTH) faults.push('scrolls sideways: ' + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll('td.num')) if (e.scrollWidth > e.clientWidth) faults.push('cut number: ' + name(e));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest('svg')) continue;
    const style = getComputedStyle(e), ratio = contrast(rgb(style.color), ground(e));
    if (ratio < 4.5) faults.push('contrast ' + ratio.toFixed(2) + ': ' + name(e));
    if (parseFloat(style.fontSize) < 12) faults.push('small: ' + name(e));
  }
  for (const e of document.querySelectorAll('svg path, svg circle, svg rect')) {
    const style = getComputedStyle(e), ink = e.matches('.mark :not(.solid):not(:first-child)');
    const colours = [style.fill, style.stroke].filter(c => c !== 'none'); // it is seen by either
    if (ink || !colours.length) continue;
    const ratio = Math.max(...colours.map(c => contrast(rgb(c), ground(e.closest('svg')))));
    if (ratio < 3) faults.push('contrast ' + ratio.toFixed(2) + ' of a shape: ' + e.outerHTML);
  }
  let level = 0;
  for (const h of document.querySelectorAll('h1, h2, h3, h4')) {
    const at = Number(h.tagName[1]);
    if (at > level + 1) faults.push('skips a level: ' + name(h));
    level = at;
  }
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  for (const e of document.querySelectorAll('a, summary')) {
    const box = e.getBoundingClientRect();
    if ((box.height < 24 || box.width < 24) && e.checkVisibility()) faults.push('hard to hit, ' + box.width + ' by ' + box.height + ': ' + name(e));
  }
  for (const e of document.querySelectorAll('main *')) {
    const box = e.getBoundingClientRect();
    if (box.right > WIDTH + 1 && e.checkVisibility() && !e.parentElement.closest('pre, .scroll, .tabs ul, nav.trail')) faults.push('sticks out: ' + name(e));
  }
  return faults;
})()`

// Layout fails the test for everything that the script finds.
func (b *Tab) Layout() {
	b.T.Helper()
	var faults []string
	width := "innerWidth"
	if b.width > 0 { // a phone shows all of a page that is too wide, and makes it smaller
		width = strconv.Itoa(b.width)
	}
	b.Eval(strings.ReplaceAll(layoutScript, "WIDTH", width), &faults)
	for _, f := range faults {
		b.T.Error(f)
	}
}
