package console_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Recent jobs on the page of a schedule are one line each beside its next times, whatever there is to say of when and why.
func TestRecentJobsOfAScheduleAreOneLineEach(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	must(s.TriggerSchedule(t.Context(), "default", "hourly", job.RunNow{}))(s)
	b := s.at("/schedules/hourly")
	for _, width := range []int{1280, 1024, 880} {
		b.Emulate("light", width)
		var most float64
		b.Eval(`Math.max(...[...document.querySelectorAll('#jobs-now tbody tr')].map(r => { // the longest of each
			r.cells[1].insertAdjacentHTML('beforeend', ' <span class="soft">the previous run was still going</span>');
			r.cells[2].insertAdjacentHTML('beforeend', 'Wed 30 Sep 2026, 14:48:09 America/Argentina/Buenos_Aires 59 min ago');
			return r.getBoundingClientRect().height; }))`, &most)
		if most < 20 || most > 36 {
			t.Errorf("a line is %v pixels high in a window of %d", most, width)
		}
		b.Layout()
	}
	b.Quiet(s.url)
}

// Where nothing runs, Home has no hole: a box as high as what is next says so.
func TestHomeHasNoHoleWhereNothingRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "hello", Kind: task.KindFunc}))(s)
	must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: "nightly", Task: "hello", Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}))(s)
	b := s.at("/")
	b.Emulate("light", 1280)
	b.Shows("Nothing runs at the moment.", "nightly")
	var apart float64
	if b.Eval(`Math.abs(document.querySelector('[aria-labelledby=coming] table').getBoundingClientRect().bottom - document.querySelector('[aria-labelledby=running] > :last-child').getBoundingClientRect().bottom)`, &apart); apart > 2 {
		t.Errorf("the boxes end %.1f pixels apart", apart)
	}
	b.Layout()
	b.Quiet(s.url)
}

// The tools of a log are two lines, of which none is one button alone, and its title stands as high as the one beside it.
func TestToolsOfALogAreTwoLines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, j, _ := s.report()
	b := s.at(fmt.Sprint("/jobs/", j.ID))
	b.Emulate("light", 1280)
	var of struct {
		High        []float64
		Log, Beside float64
	}
	b.Eval(`(() => { const top = e => e.getBoundingClientRect().top;
		for (const e of document.querySelectorAll('.tail .tools > [hidden]')) e.hidden = false; // both the first error and the first gap
		document.querySelector('.beside').style.width = '1012px'; // beside a scroll bar of 12 pixels
		return {high: [...document.querySelectorAll('.tail .tools')].map(e => e.offsetHeight), log: top(document.getElementById('log-title')), beside: top(document.querySelector('#job-facts h2'))}; })()`, &of)
	if len(of.High) != 2 || of.High[0] > 40 || of.High[1] > 40 {
		t.Errorf("the lines of tools are %v pixels high", of.High)
	}
	if of.Log != of.Beside {
		t.Errorf("the titles stand at %v and %v", of.Log, of.Beside)
	}
	b.Layout()
}

// Where the system names a language that formats refuse, as WebKit does with LANG=C, charts are drawn and times can be read.
func TestChartsInALanguageThatIsNone(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.tab(s.admin)
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		Object.defineProperty(Navigator.prototype, 'language', {get: () => 'en-US@posix', configurable: true});
		{ const whole = Intl.DateTimeFormat;
			Intl.DateTimeFormat = function (at, options) { if (at === undefined && options) throw new RangeError('invalid language tag'); return new whole(at, options); }; }`}, nil)
	b.Visit(s.url + "/queues/default")
	b.Until(`document.querySelectorAll('#charts .plot canvas').length === 2`)
	b.Visit(s.url + "/jobs")
	b.Eval(`(document.querySelector('main time[datetime]').dispatchEvent(new MouseEvent('mouseover', {bubbles: true})), true)`, new(bool))
	b.Until(`document.getElementById('hint').textContent.includes('where you are')`)
	b.Quiet(s.url)
}

// A list of monitors at 1,280 pixels says which of those that are up is degraded: what does not fit is cut, not left out.
func TestDegradedMonitorsAreToldApartInTheList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "shop", Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(s)
	for range 2 {
		s.check("shop", task.CheckResult{Outcome: task.CheckDegraded, Latency: core.Duration(time.Second)})
	}
	b := s.at("/monitors")
	b.Emulate("light", 1280)
	says(b, ".monitors td.state", "degraded")
	var over float64
	if b.Eval(`(e => e.scrollWidth - e.clientWidth)(document.querySelector('.monitors td.state'))`, &over); over > 0 {
		t.Errorf("%v pixels of it are cut", over)
	}
	b.Emulate("light", 1100)
	var display string
	if b.Eval(`getComputedStyle(document.querySelector('.monitors td.state .chip + .chip')).display`, &display); display != "inline" {
		t.Errorf("a chip that does not fit is left out: %s", display)
	}
	b.Layout()
	b.Quiet(s.url)
}
