package console_test

import (
	"fmt"
	"slices"
	"strings"
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

// Incidents are one line each in windows of all widths beside the navigation, and say their cause once.
func TestIncidentsAreOneLineEachAndSayTheirCauseOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.down("shop")
	for i, message := range []string{"expected status 200-299, got 500 Internal Server Error", strings.Repeat("condition body contains 'x' ", 20) + "\nand more", ""} {
		name := fmt.Sprintf("search-of-the-shop-with-a-long-name-%d", i)
		must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: name, Confirm: monitor.Confirm{Failures: 1}, Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(s)
		s.check(name, task.CheckResult{Outcome: task.CheckFail, Code: task.CodeStatus, Message: message})
	}
	must(s.AssignIncident(t.Context(), "default", 1, "Ann Lee of the second line of support"))(s)
	must(s.AcknowledgeIncident(t.Context(), "default", 1, ""))(s)
	b := s.at("/incidents")
	for _, width := range []int{1280, 1100, 880} {
		b.Emulate("light", width)
		var of struct{ Rows, Most float64 }
		b.Eval(`(() => { const all = [...document.querySelectorAll('.incidents tbody tr')].map(r => r.getBoundingClientRect().height); return {rows: all.length, most: Math.max(...all)}; })()`, &of)
		if of.Rows != 4 || of.Most > 36 {
			t.Errorf("at %d pixels: %+v", width, of)
		}
		b.Layout()
	}
	b.Emulate("light", 1280)
	var causes []string
	b.Eval(`[...document.querySelectorAll('.incidents td[data-th=Cause]')].map(e => e.textContent.slice(0, 54))`, &causes)
	if want := []string{"unexpected status", "condition body contains 'x' condition body contains 'x", "expected status 200-299, got 500 Internal Server Error", "nothing listens there"}; !slices.Equal(causes, want) {
		t.Errorf("got %q, want %q", causes, want)
	}
	var cut int
	if b.Eval(`document.querySelectorAll('.incidents td.lasts').forEach(e => e.textContent = '23 h 59 min'), [...document.querySelectorAll('.incidents :is(th, .number, .began, .lasts)')].filter(e => e.scrollWidth > e.clientWidth).length`, &cut); cut > 0 {
		t.Errorf("%d heads, numbers and times are cut", cut)
	}
	b.Emulate("light", 390)
	b.Layout()
	b.Axe()
	b.Visit(s.url + "/incidents/3")
	says(b, ".facts", "Causecondition body")
	b.Quiet(s.url)
}

// Workers are one line each at 1,280 pixels, and their slots are told apart by queue.
func TestWorkersAreOneLineEach(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 3 {
		must(s.OpenSession(t.Context(), job.WorkerInfo{Name: fmt.Sprintf("builder-%d.eu-central-1.example.com", i), Kinds: []task.Kind{task.KindFunc, task.KindHTTP}, Version: "v1.2.3-44-g0123456",
			Queues: map[string]int{"default": 10, task.ChecksQueue: 200, "system": 2}, Has: task.Has{OS: "linux", Arch: "amd64", Isolation: task.IsolationNamespaces, Labels: map[string]string{"gpu": "true", "region": "eu-central-1"}}}))(s)
	}
	b := s.at("/workers")
	for _, width := range []int{1440, 1280, 1100, 880} {
		b.Emulate("light", width)
		var most, cut float64
		b.Eval(`Math.max(...[...document.querySelectorAll('.workers tbody tr')].map(r => r.getBoundingClientRect().height))`, &most)
		b.Eval(`(e => e.scrollWidth - e.clientWidth)(document.querySelector('.workers td.rest'))`, &cut)
		if most < 20 || most > 36 || width == 1280 && cut > 0 {
			t.Errorf("at %d pixels a line is %v high, and %v of its slots are cut", width, most, cut)
		}
		b.Layout()
	}
	says(b, ".workers td.rest", "default 0 of 10 · system 0 of 2 · checks 0 of 200")
	b.Emulate("light", 390)
	b.Layout()
	b.Axe()
	b.Quiet(s.url)
}

// The card of a young monitor has its figures in one line.
func TestCardsOfYoungMonitorsHaveOneLineOfFigures(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "shop", Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(s)
	s.check("shop", task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(1234 * time.Millisecond)})
	b := s.at("/monitors?view=grid")
	for _, width := range []int{1280, 1024, 390} {
		b.Emulate("light", width)
		var high float64
		b.Eval(`(e => { e.lastElementChild.textContent = '59 min ago'; return e.getBoundingClientRect().height; })(document.querySelector('.grid .last'))`, &high)
		if high > 30 {
			t.Errorf("at %d pixels the figures are %v high", width, high)
		}
		b.Layout()
	}
}
