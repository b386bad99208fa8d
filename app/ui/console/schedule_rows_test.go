package console_test

import (
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// A list of 27 schedules is one line each, about a window high, and a row's menu pauses its schedule and no other.
func TestSchedulesAreOneLineEach(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	for i := range 26 {
		must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: fmt.Sprintf("every-quarter-of-an-hour-in-the-morning-%02d", i), Task: "hello", Rules: []schedule.Rule{{Cron: "*/15 6-11 * * MON-FRI"}}, Zone: "Europe/Sofia"}))(s)
	}
	b := s.at("/schedules")
	b.Emulate("light", 1280)
	var of struct{ Rows, Most, High float64 }
	b.Eval(`(() => { const all = [...document.querySelectorAll('.schedules tbody tr')].map(r => r.getBoundingClientRect().height);
		return {rows: all.length, most: Math.max(...all), high: document.querySelector('.schedules').getBoundingClientRect().height}; })()`, &of)
	if of.Rows != 27 || of.Most > 36 || of.High > 1000 {
		t.Errorf("%+v", of)
	}
	picture(b, "schedules-27")
	hourly := must(s.Schedule(t.Context(), "default", "hourly"))(s)
	menu := fmt.Sprint("menu-", hourly.ID)
	b.Click("button[popovertarget=" + menu + "]")
	b.Until(`document.getElementById('` + menu + `').matches(':popover-open')`)
	at := `JSON.stringify(document.getElementById('` + menu + `').getBoundingClientRect())`
	var before, after string
	b.Until(`document.activeElement.closest('#` + menu + `') !== null`) // it has its place
	b.Eval(at, &before)
	b.Eval(`(window.freshes = 0, document.addEventListener('belfry:fresh', () => freshes++), true)`, new(bool))
	must(s.Enqueue(t.Context(), []job.NewJob{{Task: "later"}}))(s)
	b.Until(`freshes > 0`)
	if b.Eval(at, &after); after != before {
		t.Errorf("the menu went from %s to %s when the page was brought up to date", before, after)
	}
	picture(b, "schedule-row-menu")
	s.sends(b, "#"+menu+" button[formaction$='/hourly/pause']", "Schedule hourly is paused", "Undo")
	paused := must(s.Schedules(t.Context(), schedule.Filter{State: schedule.Paused}))(s)
	if len(paused.Items) != 1 || paused.Items[0].Name != "hourly" {
		t.Errorf("%d are paused", len(paused.Items))
	}
}
