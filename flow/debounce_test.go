package flow_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
)

// A job starts one window after its last request, at the latest a maximum time after the first, and never in the past.
func TestStartOfADebouncedJob(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		window := core.Duration(rapid.Int64Range(int64(flow.MinDebounceWindow), int64(flow.MaxDebounceWindow)).Draw(t, "window"))
		d := flow.Debounce{Window: window}
		if rapid.Bool().Draw(t, "bounded") {
			d.Max = core.Duration(rapid.Int64Range(int64(window), int64(flow.MaxDebounceWindow)).Draw(t, "max"))
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		if l := core.Duration(d.Longest()); l < window || l > flow.MaxDebounceWindow || d.Max > 0 && l != d.Max {
			t.Fatalf("at the latest %s after the first", l)
		}
		first := time.Unix(0, 0).UTC()
		last := first
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			start := d.StartAt(first, last)
			switch left := d.Longest() - last.Sub(first); {
			case !start.After(last):
				t.Fatalf("it starts at %s, after a request at %s", start, last)
			case left >= window.D() && start.Sub(last) != window.D():
				t.Fatalf("it starts %s after its last request, not %s", start.Sub(last), window)
			case left < window.D() && left > time.Millisecond && start.Sub(first) != d.Longest():
				t.Fatalf("it starts %s after its first request, not %s", start.Sub(first), d.Longest())
			case start.Sub(last) > window.D():
				t.Fatalf("it starts %s after its last request", start.Sub(last))
			}
			last = last.Add(time.Duration(rapid.Int64Range(0, int64(window)).Draw(t, "later")))
		}
	})
}

func TestTextsOfThrottlesAndDebounces(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"window=30s", "key=input.shop,window=30s", "window=1m,max=5m", `key=input.a + "/" + input.b,window=100ms,max=31d`} {
		d, err := flow.ParseDebounce("--debounce", text)
		if err != nil || d.Text() != text || d.Validate() != nil {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
		throttle, err := flow.ParseThrottle("--throttle", text)
		if strings.Contains(text, "max") != (err != nil) || err == nil && throttle.Text() != text {
			t.Errorf("%q: %+v, %v", text, throttle, err)
		}
	}
	for _, text := range []string{"", "30s", "window", "window=x", "window=1s,,", "burst=1", "max=1s;window=1s"} {
		if _, err := flow.ParseDebounce("--debounce", text); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "--debounce") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := flow.ParseThrottle("--throttle", "key=input.a,window=30"); err == nil || !strings.Contains(err.Error(), `at "window=30": "30" has no unit, write "30s"`) {
		t.Errorf("no unit: %v", err)
	}
	if d, err := flow.ParseDebounce("--debounce", " none "); d != nil || err != nil {
		t.Errorf("none: %+v, %v", d, err)
	}
}
