package ui

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		ratio float64
		want  string
	}{
		{1, "100%"}, {1.5, "100%"}, {0, "0%"}, {-1, "0%"}, {math.NaN(), "0%"},
		{math.Nextafter(1, 0), "99.999%"}, {0.99999, "99.999%"}, {0.999999, "99.999%"}, {0.999, "99.9%"}, {0.9995, "99.95%"}, {0.9991234, "99.912%"},
		{0.99899, "99.89%"}, {0.995, "99.5%"}, {0.99, "99%"}, {0.98999, "98.9%"}, {0.5, "50%"}, {0.57, "57%"}, {0.29, "29%"}, {0.001, "0.1%"}, {0.0009, "< 0.1%"},
	} {
		if got := percent(tt.ratio); got != tt.want {
			t.Errorf("percent(%v) = %s, not %s", tt.ratio, got, tt.want)
		}
	}
}

func TestOnlyAllIsAHundredPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		down := rapid.Int64Range(1, int64(90*24*time.Hour)).Draw(t, "down")
		whole := rapid.Int64Range(down, int64(90*24*time.Hour)).Draw(t, "whole")
		r := float64(whole-down) / float64(whole)
		if got := percent(r); r < 1 && got == "100%" {
			t.Fatalf("percent(%v) = %s", r, got)
		}
		d := view.BoardDay{Day: time.Unix(0, 0), Uptime: &r, Down: core.Duration(down)}
		if got := dayUptime(d); got == "100%" {
			t.Fatalf("a day with downtime has %s", got)
		}
	})
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		path string
		want address
		ok   bool
	}{
		{"/status/a", address{key{"default", "a"}, asHTML}, true},
		{"/status/a.json", address{key{"default", "a"}, asJSON}, true},
		{"/status/a.json.json", address{key{"default", "a.json"}, asJSON}, true},
		{"/status/n/a", address{key{"n", "a"}, asHTML}, true},
		{"/status/n/a.json", address{key{"n", "a"}, asJSON}, true},
		{"/status/a/feed.atom", address{key{"default", "a"}, asFeed}, true},
		{"/status/n/a/feed.atom", address{key{"n", "a"}, asFeed}, true},
		{"/status/feed.atom", address{key{"default", "feed.atom"}, asHTML}, true},
	} {
		if got, ok := parseAddress(tt.path); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v %t", tt.path, got, ok)
		}
	}
}

// TestShapes checks that a day can be told without its colour.
func TestShapes(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range legend() {
		seen[string(l.Path)] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d shapes", len(seen))
	}
	rapid.Check(t, func(t *rapid.T) {
		up := rapid.Float64Range(0, 1).Draw(t, "up")
		path := dayPath(0, view.BoardDay{Uptime: &up, Down: core.Duration(24 * float64(time.Hour) * (1 - up))})
		if path == "" {
			t.Fatal("nothing")
		}
	})
}
