package httpapi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

func ratio(r float64) *float64 { return &r }

// PublicMonitor has the service answer about one.
func publicMonitor(b *bench, v view.MonitorView, spans ...view.UptimeWindow) {
	v.Public = true
	b.when("Monitor", func(context.Context, []any) (any, error) { return v, nil })
	b.when("Uptime", func(context.Context, []any) (any, error) { return view.UptimeReport{Spans: spans}, nil })
}

func shopView(name string, status monitor.Status) view.MonitorView {
	return view.MonitorView{Monitor: monitor.Monitor{Name: name}, Status: status}
}

func span(name string, r *float64, p50 time.Duration) view.UptimeWindow {
	return view.UptimeWindow{Name: name, Uptime: monitor.Uptime{Ratio: r}, P50: core.Duration(p50)}
}

func TestBadgesAreAsTheyWereAgreed(t *testing.T) {
	t.Parallel()
	maintained, degraded := shopView("shop", monitor.StatusUp), shopView("shop", monitor.StatusUp)
	maintained.State.Maintenance, degraded.State.Degraded = "nightly", true
	month := []view.UptimeWindow{span("24h", ratio(1), 42*time.Millisecond), span("30d", ratio(0.99987), 1234*time.Millisecond)}
	for _, c := range []struct {
		golden, path string
		view         view.MonitorView
		spans        []view.UptimeWindow
	}{
		{"status-up", "status.svg", shopView("shop", monitor.StatusUp), nil},
		{"status-down", "status.svg", shopView("shop", monitor.StatusDown), nil},
		{"status-degraded", "status.svg", degraded, nil},
		{"status-maintenance", "status.svg", maintained, nil},
		{"uptime", "uptime.svg", shopView("shop", monitor.StatusUp), month},
		{"uptime-24h", "uptime.svg?window=24h", shopView("shop", monitor.StatusUp), month},
		{"uptime-unknown", "uptime.svg?window=1y", shopView("shop", monitor.StatusUp), month},
		{"latency", "latency.svg", shopView("shop", monitor.StatusUp), month},
		{"latency-24h", "latency.svg?window=24h", shopView("shop", monitor.StatusUp), month},
		{"label", "status.svg?label=Our+%3Cshop%3E&style=square", shopView("shop", monitor.StatusUp), nil},
		{"long", "status.svg", shopView(strings.Repeat("monitor-", 20), monitor.StatusNew), nil},
	} {
		t.Run(c.golden, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			publicMonitor(b, c.view, c.spans...)
			status, h, body := b.raw(t, "GET", "/badge/default/shop/"+c.path, "", "Authorization", "")
			if status != 200 || h.Get("Content-Type") != "image/svg+xml; charset=utf-8" || h.Get("Cache-Control") != "public, max-age=60" || h.Get("ETag") == "" {
				t.Fatalf("%d %v %s", status, h, body)
			}
			golden := filepath.Join("testdata", "badge-"+c.golden+".svg")
			if *update {
				if err := os.WriteFile(golden, []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || body != string(want) {
				t.Errorf("%v\n got %s\nwant %s", err, body, want)
			}
			if status, _, body := b.raw(t, "GET", "/badge/default/shop/"+c.path, "", "If-None-Match", h.Get("ETag")); status != 304 || body != "" {
				t.Errorf("asked again: %d %s", status, body)
			}
			if status, _, body := b.raw(t, "HEAD", "/badge/default/shop/"+c.path, ""); status != 200 || body != "" {
				t.Errorf("HEAD: %d %s", status, body)
			}
			if n := b.seen["Monitor"] + b.seen["Uptime"]; n != 2 {
				t.Errorf("the database was asked %d times in a row", n)
			}
		})
	}
}

func TestBadgesThatAreNotShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	publicMonitor(b, shopView("shop", monitor.StatusUp))
	for path, c := range map[string]struct {
		status int
		says   string
	}{
		"/badge/default/shop/status.png":             {404, "uptime.svg, latency.svg, status.svg"},
		"/badge/default/shop/verdict.svg":            {404, "there is no badge"},
		"/badge/default/shop/uptime.svg?style=round": {422, "one of flat, square"},
		"/badge/default/shop/uptime.svg?window=8d":   {422, "24h, 7d, 30d, 90d, 1y"},
		"/badge/default/-x/uptime.svg":               {404, "there is no public monitor"},
		"/badge/*/shop/uptime.svg":                   {404, "there is no public monitor"},
		"/badge/default/shop":                        {404, "nothing at"},
		"/badge/default/shop/deeper/uptime.svg?x=1":  {404, "nothing at"},
	} {
		p := b.refused(t, c.status, "GET", path, "", "Authorization", "")
		if text := p.AsError().Error(); !strings.Contains(text, c.says) {
			t.Errorf("%s says %s", path, text)
		}
	}
	if b.last() != nil {
		t.Errorf("the service was asked %v", b.last())
	}

	// One that is not public and one that is not there read the same.
	hidden := shopView("shop", monitor.StatusUp)
	b.when("Monitor", func(context.Context, []any) (any, error) { return hidden, nil })
	private := b.refused(t, 404, "GET", "/badge/default/shop/status.svg", "", "Authorization", "")
	b.when("Monitor", func(context.Context, []any) (any, error) {
		return nil, core.Errorf(core.NotFound, "no monitor %q, but see the other", "shop")
	})
	absent := b.refused(t, 404, "GET", "/badge/default/shop/status.svg", "", "Authorization", "")
	private.RequestID, absent.RequestID = "", ""
	same(t, "absent and private", absent, private)
	if b.seen["Uptime"] > 0 {
		t.Error("the uptime of one that is not public was computed")
	}
	b.when("Monitor", func(context.Context, []any) (any, error) { return nil, errors.New("password=hunter2") })
	b.refused(t, 500, "GET", "/badge/default/shop/status.svg", "")
}
