package console_test

import (
	"testing"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// The two versions of a page stand beside each other, a line high each, in wide windows and on phones.
func TestVersionsBesideEachOtherAreLines(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/prices/diff?from=1&to=3")
	for _, width := range []int{1200, 360} {
		b.Emulate("light", width)
		var of struct{ Rows, Most float64 }
		b.Eval(`(() => { const all = [...document.querySelectorAll('.page-diff tbody tr')].map(r => r.getBoundingClientRect().height); return {rows: all.length, most: Math.max(...all)}; })()`, &of)
		var wide float64
		b.Eval(`document.querySelector('.page-diff').getBoundingClientRect().width / document.querySelector('.page-diff').closest('.scroll').clientWidth`, &wide)
		if wide < 0.95 {
			t.Errorf("at %d pixels it takes %.2f of the width", width, wide)
		}
		if of.Rows < 3 || of.Most < 10 || of.Most > 60 {
			t.Errorf("at %d pixels: %+v", width, of)
		}
	}

	// The tabs of all settings are one line beside the navigation.
	b.Emulate("light", 1200)
	b.Visit(s.url + "/settings/channels")
	var high float64
	b.Eval(`document.querySelector('nav.tabs.area').getBoundingClientRect().height`, &high)
	if high < 20 || high > 50 {
		t.Errorf("the tabs of settings are %v pixels high", high)
	}
}

// On a phone the tabs of the settings are one line that scrolls, with the chosen one in view, with and without a script.
func TestTabsOnAPhoneAreOneLine(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.tab(s.admin)
	b.Emulate("light", 390)
	for _, scripts := range []bool{true, false} {
		b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !scripts}, nil)
		for _, path := range []string{"/settings", "/settings/windows", "/calendars", "/calendars/-new", "/tasks/-new?kind=yaml", "/monitors/-new?kind=tls"} {
			b.Visit(s.url + path)
			var seen []struct {
				High, Line, Left, Right, From, To float64
			}
			b.Eval(`[...document.querySelectorAll('.tabs ul')].filter(l => l.querySelector('[aria-current]')).map(l => { const box = l.getBoundingClientRect(), here = l.querySelector('[aria-current]').getBoundingClientRect();
				return {high: box.height, line: here.height, left: here.left, right: here.right, from: box.left, to: box.right}; })`, &seen)
			if len(seen) == 0 {
				t.Errorf("%s has no tabs", path)
			}
			for _, l := range seen {
				if l.High > l.Line+3 || l.Left < l.From-1 || l.Right > l.To+1 {
					t.Errorf("%s, scripts %v: %+v", path, scripts, l)
				}
			}
			if scripts {
				b.Layout()
				b.Axe()
			}
		}
	}
	b.Quiet(s.url)
}

// A list of monitors at 1,200 pixels shows what they look at, its headings whole, and the newest bar of each, which is at the right end.
func TestMonitorsAt1200PixelsShowTheirTargets(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "checkout", Tags: []string{"core"}, Check: task.Task{HTTP: &task.HTTP{URL: "https://shop.example/"}}}))(s)
	b := s.tab(s.admin)
	b.Emulate("light", 1200)
	b.Visit(s.url + "/monitors")
	var cut []string
	b.Eval(`[...document.querySelectorAll('.monitors thead th, .monitors tr[id$="-checkout"] .name, .monitors td.bars')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent.trim())`, &cut)
	if len(cut) > 0 {
		t.Errorf("it cuts %q", cut)
	}
	says(b, `.monitors tr[id$="-checkout"] .name`, "shop.example")
	b.Layout()
}

// A click beside Edit must not delete: Delete is at the other end of the row of buttons.
func TestDeleteStandsApartFromEdit(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.tab(s.admin)
	b.Emulate("light", 1200)
	for _, path := range []string{"/tasks/hello", "/schedules/hourly", "/monitors/shop"} {
		b.Visit(s.url + path)
		var gap float64
		b.Eval(`(() => { const del = [...document.querySelectorAll('.actions > button.danger')].find(e => e.textContent === 'Delete'); return del.getBoundingClientRect().left - del.previousElementSibling.getBoundingClientRect().right; })()`, &gap)
		if gap < 40 {
			t.Errorf("%s: Delete is %.0f pixels from Edit", path, gap)
		}
	}
}

// A bar of uptime is at least 3 pixels wide with a gap beside it, wherever it stands, so that one day can be told from the next.
func TestBarsOfUptimeAreWideEnough(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "shop", Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(s)
	b := s.at("/monitors")
	for _, path := range []string{"/monitors?span=90d", "/monitors?span=24h", "/monitors?view=grid&span=90d", "/monitors/shop"} {
		b.Visit(s.url + path)
		for _, width := range []int{1600, 1200, 1024, 880, 390, 320} {
			b.Emulate("light", width)
			var bar float64
			if b.Eval(`(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width * 3)(document.querySelector('svg.uptime'))`, &bar); bar < 2.99 {
				t.Errorf("%s has bars of %.2f pixels in a window of %d", path, bar, width)
			}
			b.Layout()
		}
	}
}

// The longest time that a thing needs attention is shown whole.
func TestTimesOfNeedsAreWhole(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/")
	for _, width := range []int{1280, 1024} {
		b.Emulate("light", width)
		var cut bool
		if b.Eval(`(e => { e.textContent = '23 h 59 min ago'; return e.scrollWidth > e.clientWidth; })(document.querySelector('.needs td.since'))`, &cut); cut {
			t.Errorf("it is cut in a window of %d", width)
		}
	}
}
