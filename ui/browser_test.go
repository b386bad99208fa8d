package ui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/ui"
)

// TestInABrowser looks at pages as people do: wide and narrow, light and dark.
// BELFRY_SCREENSHOTS names a folder for pictures of them.
func TestInABrowser(t *testing.T) {
	var away atomic.Bool
	boards := map[string]belfry.Board{"full": fullBoard(), "calm": calmBoard(), "hostile": hostileBoard(), "stale": calmBoard()}
	p := handler(t, ui.Options{MaxAge: time.Nanosecond, Board: func(_ context.Context, _, name string) (belfry.Board, error) {
		b, ok := boards[name]
		if !ok {
			return b, belfry.Errorf(belfry.NotFound, "no")
		}
		if name == "stale" && away.Load() {
			return b, errors.New("away")
		}
		return b, nil
	}})
	site := httptest.NewServer(p)
	defer site.Close()
	get(t, p, "/status/stale")
	away.Store(true)

	b := openBrowser(t)
	for _, page := range []string{"full", "calm", "hostile", "stale", "gone"} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{320, 1100} {
				name := fmt.Sprintf("%s-%s-%d", page, scheme, width)
				t.Run(name, func(t *testing.T) {
					b.t = t
					b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
					b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": width < 600}, nil)
					b.open(site.URL + "/status/" + page)
					if dir := os.Getenv("BELFRY_SCREENSHOTS"); dir != "" {
						b.screenshot(filepath.Join(dir, name+".png"))
					}
					checkQuiet(t, b, site.URL, page == "gone")
					checkLayout(t, b)
					checkTree(t, b, page)
				})
			}
		}
	}
	b.t = t
}

// checkQuiet wants that nothing was refused, run, or fetched from elsewhere.
func checkQuiet(t *testing.T, b *browser, site string, missing bool) {
	t.Helper()
	fetched := 0
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded":
			if missing && strings.Contains(string(e.Params), "404") {
				continue
			}
			t.Errorf("%s", e.Params)
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded", "Page.javascriptDialogOpening":
			t.Errorf("%s: %s", e.Method, e.Params)
		case "Network.requestWillBeSent":
			var sent struct{ Request struct{ URL string } }
			if err := json.Unmarshal(e.Params, &sent); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(sent.Request.URL, site+"/status") {
				t.Errorf("it fetched %s", sent.Request.URL)
			}
			fetched++
		}
	}
	if fetched == 0 || fetched > 3 {
		t.Errorf("%d requests", fetched)
	}
}

// layoutScript lists what is wrong: text that is too pale (WCAG 1.4.3) or too
// small, what sticks out, headings that skip a level, targets that are hard to
// hit (WCAG 2.5.8).
const layoutScript = `(() => {
  const faults = [];
  const rgb = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const name = e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + (e.textContent || '').trim().slice(0, 40);
  if (document.documentElement.scrollWidth > innerWidth) faults.push('scrolls sideways: ' + document.documentElement.scrollWidth);
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
    const c = style.fill !== 'none' ? style.fill : style.stroke;
    if (ink || c === 'none') continue;
    const ratio = contrast(rgb(c), ground(e.closest('svg')));
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
    if (box.height < 24 || box.width < 24) faults.push('hard to hit, ' + box.width + ' by ' + box.height + ': ' + name(e));
  }
  for (const e of document.querySelectorAll('main *')) {
    const box = e.getBoundingClientRect();
    if (box.right > innerWidth + 1) faults.push('sticks out: ' + name(e));
  }
  return faults;
})()`

func checkLayout(t *testing.T, b *browser) {
	t.Helper()
	var faults []string
	b.eval(layoutScript, &faults)
	for _, f := range faults {
		t.Error(f)
	}
}

// checkTree reads the page as a screen reader is told of it.
func checkTree(t *testing.T, b *browser, page string) {
	t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
		}
	}
	b.call("Accessibility.getFullAXTree", nil, &tree)
	var roles []string
	for _, n := range tree.Nodes {
		role, name := fmt.Sprint(n.Role.Value), fmt.Sprint(n.Name.Value)
		if n.Ignored {
			continue
		}
		roles = append(roles, role)
		nameless := name == "" || name == "<nil>"
		if nameless && slices.Contains([]string{"image", "img", "link", "heading", "region", "RootWebArea"}, role) {
			t.Errorf("a %s without a name", role)
		}
		if (role == "image" || role == "img") && !strings.Contains(name, "last 90 days: ") {
			t.Errorf("a picture is called %q", name)
		}
	}
	want := []string{"main", "heading"}
	if page != "gone" {
		want = append(want, "banner", "contentinfo", "region", "list", "link")
	}
	for _, role := range want {
		if !slices.Contains(roles, role) {
			t.Errorf("no %s", role)
		}
	}
}
