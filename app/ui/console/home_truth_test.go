package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
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

// While the clock is behind what ran, Home and About say until when schedules and checks are quiet.
func TestHomeSaysThatChecksAreQuiet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "hello", Kind: task.KindFunc}))(s)
	must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: "hourly", Task: "hello", Rules: []schedule.Rule{{Cron: "0 * * * *"}}}))(s)
	v := s.visitor(s.admin)
	if _, body := v.get("/"); strings.Contains(body, "clock was set back") {
		t.Error("it is quiet with a clock that was never set")
	}
	until := time.Now().UTC().Truncate(time.Minute).Add(90 * time.Minute)
	must(true, s.node.Store().DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		if _, err := tx.Exec(t.Context(), `update belfry.clock set shifts = shifts + 1, set_at = 1`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `update belfry.schedules set high_water = $1, next_at = $2 where name = 'hourly'`, until.UnixMicro(), until.Add(time.Hour).UnixMicro())
		return err
	}))(s)
	b := s.at("/")
	b.Window("light", 1280, 900)
	says(b, "#quiet", "Schedules and checks", "Quiet until ", until.Format("15:04")+" UTC: the clock was set back")
	if title := strings.TrimSpace(b.Text("h1")); !strings.HasSuffix(title, "1 thing needs you") {
		t.Errorf("the title is %q", title)
	}
	b.Layout()
	b.Axe()
	b.Follow("#quiet .name a")
	b.Shows("It was set back: planned times of schedules and checks of monitors are quiet until ", until.Format("15:04"))
	b.Layout()
	b.Quiet(s.url)
	own, _ := s.token("team", "default", "read")
	if _, body := s.visitor(own).get("/"); strings.Contains(body, "clock was set back") {
		t.Error("a token of one namespace sees a time of all")
	}
}
