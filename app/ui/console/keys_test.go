package console_test

import (
	"strconv"
	"testing"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// cursor is the row that has the focus.
func cursor(b *browser.Tab) (id string) {
	b.T.Helper()
	b.Eval(`document.activeElement.closest('tbody > tr')?.id ?? ''`, &id)
	return id
}

// The keys of a list: over its rows, into one, and what else there is.
func TestKeysOfLists(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/jobs")
	b.Until(`document.documentElement.classList.contains('scripted')`)
	var rows []string
	b.Eval(`[...document.querySelectorAll('main tbody > tr')].map(r => r.id)`, &rows)
	for _, step := range []struct{ key, at string }{{"j", rows[0]}, {"j", rows[1]}, {"j", rows[2]}, {"k", rows[1]}, {"k", rows[0]}, {"k", rows[0]}} {
		if b.Key(step.key); cursor(b) != step.at {
			t.Fatalf("%s goes to %q, not %q", step.key, cursor(b), step.at)
		}
	}
	var shown bool
	if b.Eval(`document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement.closest('td')).backgroundColor !== getComputedStyle(document.querySelector('main tbody > tr:last-child > td')).backgroundColor`, &shown); !shown {
		t.Error("the cursor is not seen")
	}
	picture(b, "keys-cursor")
	b.Axe()
	b.Key("j")
	b.Key("x")
	var ticked string
	if b.Eval(`[...document.querySelectorAll('input[name=job]:checked')].map(e => 'job-' + e.value).join()`, &ticked); ticked != rows[1] {
		t.Errorf("x ticks %q", ticked)
	}
	if b.Key("x"); cursor(b) != rows[1] {
		t.Error("x moves the cursor")
	}
	b.Key("Enter")
	b.Until(`location.pathname === '/jobs/' + ` + strconv.Quote(rows[1][len("job-"):]))
	for _, tt := range []struct{ on, key, path string }{
		{"/schedules", "n", "/schedules/-new"}, {"/monitors", "n", "/monitors/-new"}, {"/tasks/hello", "e", "/tasks/hello/edit"},
		{"/schedules/hourly", "e", "/schedules/hourly/edit"}, {"/schedules", "je", "/schedules/hourly/edit"}, {"/cycles", "j\n", "/cycles/nightly"},
	} {
		b.Visit(s.url + tt.on)
		b.Until(`document.documentElement.classList.contains('scripted')`)
		for _, key := range tt.key {
			if key == '\n' {
				b.Key("Enter")
				continue
			}
			b.Key(string(key))
		}
		b.Until(`location.pathname === ` + strconv.Quote(tt.path))
	}
	// A letter that is typed is no key, and neither is one over a question.
	b.Visit(s.url + "/schedules")
	b.Until(`document.documentElement.classList.contains('scripted')`)
	b.Key("/")
	for _, key := range []string{"n", "j", "x", "?"} {
		b.Key(key)
	}
	var typed string
	if b.Eval(`document.activeElement.value + location.pathname + document.querySelector('#keys').matches(':popover-open')`, &typed); typed != "njx?/schedulesfalse" {
		t.Errorf("typed %q", typed)
	}
	b.Eval(`(document.activeElement.blur(), true)`, new(bool))
	b.Key("?")
	b.Until(`document.getElementById('keys').matches(':popover-open')`)
	b.Shows("next and previous row", "search, go anywhere, run actions")
	picture(b, "keys-help")
	b.Axe()
	if b.Key("j"); cursor(b) != "" {
		t.Error("a key works behind the dialog")
	}
	b.Key("Escape")
	b.Until(`!document.getElementById('keys').matches(':popover-open')`)
	b.Quiet(s.url)
}

// The cursor stays on its row while the list is brought up to date around it.
func TestKeysThroughLiveUpdates(t *testing.T) {
	t.Parallel()
	s := busySite(t)
	s.busyPages()
	b := s.at("/jobs")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	for range 3 {
		b.Key("j")
	}
	at := cursor(b)
	b.Eval(`(window.freshes = 0, document.addEventListener('belfry:fresh', () => freshes++), true)`, new(bool))
	b.Until(`freshes >= 4`)
	if got := cursor(b); got != at || at == "" {
		t.Errorf("the cursor went from %q to %q", at, got)
	}
	b.Key("j")
	if got := cursor(b); got == at || got == "" {
		t.Errorf("the cursor does not go on from %q", at)
	}
	if found := must(s.Jobs(t.Context(), job.Filter{}))(s); len(found.Items) == 0 {
		t.Error("nothing happened")
	}
	b.Quiet(s.url)
}

// The first job and the first schedule take a keyboard and nothing else.
func TestAFirstJobAndScheduleByKeysAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks")
	in := func(selector string) (is bool) {
		b.Eval(`document.activeElement.matches(`+strconv.Quote(selector)+`)`, &is)
		return is
	}
	to := func(selector string) {
		t.Helper()
		for range 80 {
			if in(selector) {
				return
			}
			b.Key("Tab")
		}
		t.Fatalf("Tab does not come to %s", selector)
	}
	types := func(text string) { b.Call("Input.insertText", map[string]any{"text": text}, nil) }
	opens := func(path string) {
		t.Helper()
		b.Until(`document.documentElement.classList.contains('scripted')`)
		b.Key("n")
		b.Until(`location.pathname === ` + strconv.Quote(path) + ` && document.activeElement.closest('form') !== null`)
	}
	opens("/tasks/-new")
	if !in("#f-name") {
		t.Fatal("the form does not begin in its first field")
	}
	types("greet")
	to("#f-command-shell")
	types("echo hello")
	picture(b, "keys-first-task")
	to("button[value=run]")
	b.Key("Enter")
	b.Until(`location.pathname.startsWith('/jobs/')`)
	b.Until(`document.documentElement.classList.contains('scripted')`)
	jumps(b, "s")
	b.Until(`location.pathname === '/schedules'`)
	opens("/schedules/-new")
	types("greeting")
	to("#f-task")
	b.Key("g") // the one option that begins so
	if got := value(b, "#f-task"); got != "greet" {
		t.Fatalf("the key chooses %q", got)
	}
	to("#rule-text-1")
	types("*/5 * * * *")
	to("main button.main")
	b.Key("Enter")
	b.Until(`location.pathname === '/schedules/greeting'`)
	if found := must(s.Jobs(t.Context(), job.Filter{Task: "greet"}))(s); len(found.Items) != 1 {
		t.Errorf("%d jobs", len(found.Items))
	}
	if sc := must(s.Schedule(t.Context(), "default", "greeting"))(s); sc.Task != "greet" || sc.Rules[0].Cron != "*/5 * * * *" {
		t.Errorf("%+v", sc)
	}
	b.Quiet(s.url)
}

// The form of an edit begins in its first field, as that of a new object does, and its list of keys stays within reach.
func TestEditsBeginInTheirFirstField(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "hello", Kind: task.KindFunc}))(s)
	must(s.CreateSchedule(t.Context(), schedule.Schedule{Name: "nightly", Task: "hello", Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}))(s)
	must(s.SaveStatusPage(t.Context(), public.StatusPage{Name: "all"}))(s)
	must(s.SaveCalendar(t.Context(), schedule.Calendar{Name: "nights"}))(s)
	b := s.at("/tasks")
	for _, path := range []string{"/tasks/hello/edit", "/schedules/nightly/edit", "/queues/default/edit", "/status-pages/all", "/calendars/nights/edit"} {
		b.Visit(s.url + path)
		b.Until(`document.activeElement === [...document.querySelectorAll('main form[data-draft] :is(input, select, textarea):enabled:not([readonly])')].find(e => e.checkVisibility())`)
		b.Quiet(s.url)
	}
}

// What Tab goes back to, and what an address points at, is not left behind the header.
func TestTheHeaderHidesNoFocus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/design")
	for _, at := range []string{`document.querySelector('main a[href]').focus()`, `location.hash = '#' + document.querySelector('main [id]').id`} {
		b.Eval(`(scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'}), true)`, new(bool))
		b.Until(`scrollY > 500`)
		b.Eval(`(`+at+`, true)`, new(bool))
		b.Until(`(e => e.getBoundingClientRect().top >= document.querySelector('.top').getBoundingClientRect().bottom)(document.querySelector(':target') ?? document.activeElement)`)
	}
}
