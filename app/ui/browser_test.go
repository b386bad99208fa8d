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
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// TestInABrowser looks at pages as people do: wide and narrow, light and dark.
// BELFRY_SCREENSHOTS names a folder for pictures of them.
func TestInABrowser(t *testing.T) {
	var away atomic.Bool
	boards := map[string]view.Board{"full": fullBoard(), "calm": calmBoard(), "hostile": hostileBoard(), "stale": calmBoard(), "own": ownBoard()}
	p := handler(t, ui.Options{MaxAge: time.Nanosecond, Board: func(_ context.Context, _, name string) (view.Board, error) {
		b, ok := boards[name]
		if !ok {
			return b, core.Errorf(core.NotFound, "no")
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

	b := browser.Open(t)
	for _, page := range []string{"full", "calm", "own", "hostile", "stale", "gone"} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{320, 1100} {
				name := fmt.Sprintf("%s-%s-%d", page, scheme, width)
				t.Run(name, func(t *testing.T) {
					b.T = t
					b.Emulate(scheme, width)
					b.Visit(site.URL + "/status/" + page)
					if dir := os.Getenv("BELFRY_SCREENSHOTS"); dir != "" {
						b.Screenshot(filepath.Join(dir, name+".png"))
					}
					checkQuiet(t, b, site.URL, page == "gone")
					b.Layout()
					checkTree(t, b, page)
				})
			}
		}
	}
	b.T = t
}

// checkQuiet wants that nothing was refused, run, or fetched from elsewhere.
func checkQuiet(t *testing.T, b *browser.Tab, site string, missing bool) {
	t.Helper()
	fetched := 0
	for _, e := range b.Events {
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
	if fetched == 0 || fetched > 6 {
		t.Errorf("%d requests", fetched)
	}
}

// checkTree reads the page as a screen reader is told of it.
func checkTree(t *testing.T, b *browser.Tab, page string) {
	t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
		}
	}
	b.Call("Accessibility.getFullAXTree", nil, &tree)
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

// Times are those of the reader, and days those of UTC, by which they are counted.
func TestTimesAreTheReadersOwn(t *testing.T) {
	site := httptest.NewServer(handler(t, ui.Options{Board: fixed(fullBoard())}))
	defer site.Close()
	b := browser.Open(t)
	for zone, want := range map[string]string{"Asia/Kolkata": "21 Nov 2026, 18:13 GMT+5:30", "UTC": "21 Nov 2026, 12:43 UTC"} {
		b.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": zone}, nil)
		b.Visit(site.URL + "/status/main")
		b.Until("document.querySelector('.banner time').textContent === " + strconv.Quote(want))
		var titles []string
		b.Eval(`[...document.querySelectorAll('time[datetime*="T"]')].filter(e => e.title && !/UTC$/.test(e.title) || e.textContent.includes('Invalid')).map(e => e.outerHTML)`, &titles)
		if len(titles) > 0 {
			t.Errorf("%s: %q", zone, titles)
		}
		var days int
		b.Eval(`[...document.querySelectorAll('time:not([datetime*="T"])')].filter(e => e.title).length`, &days)
		if days > 0 {
			t.Errorf("%s: %d days are changed", zone, days)
		}
	}
}
