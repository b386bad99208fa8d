package console_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
)

// What Home says is what was done: two tasks fail, one of them three times, a
// monitor is down, one task has failed and succeeded since, one job runs.
func TestHomeIsTrue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs() // broken fails once, hello runs, shop is down, three of later wait
	s.fail("broken", "the disk is full")
	s.fail("broken", "the disk is full")
	b := s.at("/")
	b.Emulate("light", 1280)
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	if title := strings.TrimSpace(b.Text("h1")); !strings.HasSuffix(title, "2 things need you") {
		t.Errorf("the title is %q", title)
	}
	says(b, "#failing-default-broken", "3 failed jobs: the disk is full", "Retry…")
	var names []string
	b.Eval(`[...document.querySelectorAll('.needs tbody .name a')].map(e => e.textContent)`, &names)
	if len(names) != 2 || names[0] != "shop" || names[1] != "broken" {
		t.Errorf("%q need somebody", names)
	}
	var numbers []string
	b.Eval(`[...document.querySelectorAll('.six > div')].map(e => e.querySelector('dt').textContent + ' ' + e.querySelector('dd').textContent)`, &numbers)
	for i, want := range []string{"Running 1", "Finished / min", "Failed in 24 h 3", "Mean wait", "Longest wait", "Monitors up 0 / 1"} {
		if i >= len(numbers) || !strings.HasPrefix(numbers[i], want) {
			t.Errorf("numbers are %q, want %q", numbers, want)
		}
	}
	var high float64
	if b.Eval(`document.querySelector('#now').getBoundingClientRect().bottom`, &high); high > 900 {
		t.Errorf("it takes %.0f pixels of 900", high)
	}
	picture(b, "home-truth")
	s.sends(b, "#down-1 button", "shop", "Overview") // which comes back here
	if found := must(s.Jobs(t.Context(), job.Filter{Task: "monitor:shop", States: []job.State{job.Ready}}))(s); len(found.Items) != 1 {
		t.Errorf("%d checks are asked for", len(found.Items))
	}
}
