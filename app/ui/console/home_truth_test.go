package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// What Home says is what was done: two tasks fail, one of them three times, a
// monitor is down, one task has failed and succeeded since, one job runs.
func TestHomeShowsTheTrueFigures(t *testing.T) {
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
	says(b, "#next-default-hourly", "Europe/Sofia")
	says(b, "section[aria-labelledby=hours]", "0 succeeded · 3 failed")
	var numbers []string
	b.Eval(`[...document.querySelectorAll('.six > div')].map(e => e.querySelector('dt').textContent + ' ' + e.querySelector('dd').textContent)`, &numbers)
	for i, want := range []string{"Running 1", "Finished / min < 1", "Failed in 24 h 3", "Mean wait", "Longest wait", "Monitors up 0 / 1"} {
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
	b.Visit(s.url + "/tasks/hello")
	says(b, "#schedule-hourly", "Europe/Sofia")
	if found := must(s.Jobs(t.Context(), job.Filter{Task: "monitor:shop", States: []job.State{job.Ready}}))(s); len(found.Items) != 1 {
		t.Errorf("%d checks are asked for", len(found.Items))
	}
}

// Eight needs, a run and what is next fit one window.
func TestHomeWithEightNeedsFitsAWindow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	for i := range 6 {
		s.down(fmt.Sprintf("shop-%d", i+1))
		must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: fmt.Sprintf("nightly-%d", i+1), Task: "later", Rules: []schedule.Rule{{Cron: "30 3 * * *"}}}))(s)
		if i < 4 {
			s.run("hello")
		}
	}
	b := s.at("/")
	b.Window("light", 1280, 900)
	var of struct{ Needs, Most, Foot float64 }
	b.Eval(`(() => { const rows = [...document.querySelectorAll('.needs tbody tr')].filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().height);
		return {needs: rows.length, most: Math.max(...rows), foot: document.querySelector('#now').getBoundingClientRect().bottom}; })()`, &of)
	if of.Needs != 8 || of.Most > 35 || of.Foot > 900 {
		t.Errorf("%+v", of)
	}
	picture(b, "home-eight-needs")
	b.Click("#now details.numbers summary")
	b.Layout()
	picture(b, "home-eight-needs-table")
	b.Emulate("light", 360)
	b.Layout()
	picture(b, "home-eight-needs-360")
}
