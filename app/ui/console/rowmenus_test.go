package console_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// ofRow opens the menu of the row that has a link.
func ofRow(b *browser.Tab, link string) {
	b.T.Helper()
	b.Until(`document.documentElement.classList.contains('scripted')`)
	b.Click(`button[data-row=` + strconv.Quote(link) + `]`)
	b.Until(`document.getElementById('row-menu').matches(':popover-open') && !!document.activeElement.closest('#row-menu')`)
}

// chooses clicks an item of the open menu, and answers a question that it asks.
func (s *site) chooses(b *browser.Tab, item, says string) {
	b.T.Helper()
	var asks bool
	b.Eval(`(() => { const i = [...document.querySelectorAll('#row-menu :is(a, button)')].find(e => !e.hidden && e.textContent.trim() === `+strconv.Quote(item)+`);
		i.id = 'chosen'; return i.dataset.asks !== undefined; })()`, &asks)
	selector := "#chosen"
	if asks {
		b.Click(selector)
		b.Until(`!!document.querySelector('.confirm:popover-open')`)
		b.Axe()
		selector = ".confirm:popover-open button.danger"
	}
	s.sends(b, selector, says)
}

// The row of an open menu stays where it is while others come, and its button still says that it is open.
func TestRowOfAnOpenMenuStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: "mow", Command: &task.Command{Shell: "true"}}))(s)
	b := s.at("/tasks")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	ofRow(b, "/tasks/mow")
	must(s.CreateTask(t.Context(), task.Task{Name: "bake", Command: &task.Command{Shell: "true"}}))(s)
	b.Until(`!document.querySelector('.held').hidden`)
	var list, expanded string
	b.Eval(`[...document.querySelectorAll('button[data-row]')].map(e => e.dataset.row).join()`, &list)
	b.Eval(`document.querySelector('button[data-row]').getAttribute('aria-expanded')`, &expanded)
	if list != "/tasks/mow" || expanded != "true" {
		t.Errorf("the rows are %s, expanded %q", list, expanded)
	}
	b.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": 1, "y": 1}, nil)
	b.Key("Escape")
	b.Eval(`(document.activeElement.blur(), true)`, new(bool))
	b.Until(`!!document.querySelector('button[data-row="/tasks/bake"]')`)
	b.Quiet(s.url)
}

func TestRowsHaveMenus(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.tab(s.admin)
	b.Visit(s.url + "/workers")
	var worker string
	b.Eval(`document.querySelector('button[data-row]').dataset.row`, &worker)
	for _, tt := range []struct{ list, row, items string }{
		{"/tasks", "/tasks/later", "Run now… Schedule it… Edit Copy… Delete…"},
		{"/monitors", "/monitors/api", "Check now Pause Edit Delete…"},
		{"/monitors", "/monitors/old", "Resume Edit Delete…"},
		{"/jobs", "/jobs/2", "Log Retry Run again Run with other input…"},
		{"/jobs", "/jobs/4", "Log Run again Run with other input… Cancel…"},
		{"/queues", "/queues/default", "Jobs Pause… Edit"},
		{"/cycles", "/cycles/nightly", "Cancel the run… Edit"},
		{"/workers", worker, "Its jobs Drain…"},
		{"/settings/channels", "/settings/channels/team", "Send a test Notifications Edit Delete…"},
		{"/settings/hooks", "/settings/hooks/billing", "Send a test Pause Edit Delete…"},
		{"/settings/hooks", "/settings/hooks/failing", "Send a test Retry now Pause Edit Delete…"},
		{"/settings/hooks", "/settings/hooks/paused", "Send a test Resume Edit Delete…"},
		{"/settings/hooks", "/settings/hooks/pulled", "Pause Edit Delete…"},
		{"/alert-rules", "/alert-rules/all", "Disable Edit Delete…"},
		{"/settings/windows", "/settings/windows/night", "Disable Edit Delete…"},
		{"/status-pages", "/status-pages/public", "Announcements Subscribers Edit Disable… Delete…"},
	} {
		t.Run(strings.Trim(tt.row, "/"), func(t *testing.T) {
			b.T = t
			for _, width := range []int{1200, 360} {
				b.Emulate("light", width)
				b.Visit(s.url + tt.list)
				ofRow(b, tt.row)
				var items []string
				b.Eval(`[...document.querySelectorAll('#row-menu :is(a, button)')].filter(e => e.checkVisibility()).map(e => e.textContent.trim())`, &items)
				if got := strings.Join(items, " "); got != tt.items {
					t.Errorf("%q, want %q", got, tt.items)
				}
				b.Axe()
				picture(b, fmt.Sprint("row-menu-", strings.ReplaceAll(strings.Trim(tt.list, "/"), "/", "-"), "-", width))
			}
			// By keys alone.
			b.Key("ArrowDown")
			b.Until(`!!document.activeElement.closest('#row-menu') && document.activeElement !== [...document.querySelectorAll('#row-menu :is(a, button)')].find(e => !e.hidden)`)
			b.Key("Escape")
			b.Until(`!document.getElementById('row-menu').matches(':popover-open') && document.activeElement.dataset.row === ` + strconv.Quote(tt.row))
			b.Key("Enter")
			b.Until(`document.getElementById('row-menu').matches(':popover-open') && !!document.activeElement.closest('#row-menu')`)
			b.Key("End")
			b.Until(`document.activeElement === [...document.querySelectorAll('#row-menu :is(a, button)')].findLast(e => !e.hidden)`)
			b.Key("Home")
			b.Until(`document.activeElement === [...document.querySelectorAll('#row-menu :is(a, button)')].find(e => !e.hidden)`)
			b.Key("Tab") // goes on behind the button of the row
			b.Until(`!document.getElementById('row-menu').matches(':popover-open') && (from => !!(from.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_FOLLOWING))(document.querySelector(` + strconv.Quote(`button[data-row=`+strconv.Quote(tt.row)+`]`) + `))`)
			b.Quiet(s.url)
		})
	}
	b.T = t
	b.Emulate("light", 1200)

	// Each acts on its row, and comes back to the list.
	does := func(list, row, item, says string) {
		t.Helper()
		b.Visit(s.url + list)
		ofRow(b, row)
		s.chooses(b, item, says)
	}
	does("/monitors?kind=http", "/monitors/api", "Pause", "Monitor api is paused.")
	b.Until(`location.search === '?kind=http'`)
	s.sends(b, ".flash form button", "Monitor api is resumed")
	// A retry that is sent again retries nothing: it has a key, which other lists do not send.
	for _, tt := range []struct {
		list, row string
		sends     bool
	}{{"/jobs", "/jobs/2", true}, {"/monitors", "/monitors/api", false}} {
		b.Visit(s.url + tt.list)
		ofRow(b, tt.row)
		var key string
		b.Eval(`new FormData(document.querySelector('#row-menu form')).get('key') ?? ''`, &key)
		if (key != "") != tt.sends {
			t.Errorf("%s sends the key %q", tt.row, key)
		}
	}
	does("/jobs", "/jobs/2", "Retry", "Job 2 is ready again")
	does("/jobs", "/jobs/4", "Cancel…", "Job 4 is canceled")
	does("/queues", "/queues/default", "Pause…", "default is paused")
	does("/queues", "/queues/default", "Resume", "default")
	does("/tasks", "/tasks/later", "Run now…", "Enqueue a job")
	if got := value(b, "#f-task"); got != "later" {
		t.Errorf("it runs %q", got)
	}
	must(s.CreateTask(t.Context(), task.Task{Namespace: "other", Name: "backup", Command: &task.Command{Shell: "echo of other"}}))(s)
	does("/tasks?namespace=*", "/tasks/backup?namespace=other", "Copy…", "New task")
	if got := value(b, "#f-command-shell") + value(b, "#f-name"); got != "echo of other" {
		t.Errorf("it has %q", got)
	}
	does("/tasks?namespace=*", "/tasks/backup?namespace=other", "Delete…", "Task backup is deleted")
	does("/workers", worker, "Drain…", "builder")
	if n := len(must(s.Jobs(t.Context(), job.Filter{Task: "later", States: []job.State{job.Canceled}}))(s).Items); n != 1 {
		t.Errorf("%d jobs are canceled", n)
	}

	does("/settings/hooks", "/settings/hooks/billing", "Pause", "Hook billing is paused")
	s.sends(b, ".flash form button", "Hook billing is resumed")
	does("/settings/hooks", "/settings/hooks/paused", "Resume", "Hook paused is resumed")
	does("/settings/hooks", "/settings/hooks/pulled", "Delete…", "Hook pulled is deleted")
	for _, tt := range []struct {
		list, row, off, disabled, enabled string
		is                                func() bool
	}{
		{"/alert-rules", "/alert-rules/all", "Disable", "Alert rule all is disabled", "Alert rule all is enabled", func() bool { return must(s.AlertRule(t.Context(), "default", "all"))(s).Off }},
		{"/settings/windows", "/settings/windows/night", "Disable", "Window night is disabled", "Window night is enabled", func() bool { return must(s.Window(t.Context(), "default", "night"))(s).Off }},
		{"/status-pages", "/status-pages/public", "Disable…", "Status page public is disabled", "Status page public is enabled", func() bool { return must(s.StatusPage(t.Context(), "default", "public"))(s).Off }},
	} {
		does(tt.list, tt.row, tt.off, tt.disabled)
		if !tt.is() {
			t.Errorf("%s is not disabled", tt.row)
		}
		s.sends(b, ".flash form button", tt.enabled)
		does(tt.list, tt.row, tt.off, tt.disabled)
		does(tt.list, tt.row, "Enable", tt.enabled)
		if tt.is() {
			t.Errorf("%s is not enabled", tt.row)
		}
		does(tt.list, tt.row, "Delete…", "is deleted")
	}

	// A reader has none.
	secret, _ := s.token("reader-of-rows", "default", access.ScopeRead)
	v := s.visitor(secret)
	for _, list := range []string{"/tasks", "/monitors", "/jobs", "/queues", "/cycles", "/workers", "/settings/channels", "/settings/hooks", "/alert-rules", "/settings/windows", "/status-pages"} {
		if status, body := v.get(list); status != 200 || strings.Contains(body, "data-row") || strings.Contains(body, "row-menu") {
			t.Errorf("%s: %d", list, status)
		}
	}
}

// Who uses keys alone is, after an action of a row, at that row, or at the one that took its place, or at the notice. A question of a
// menu has the focus, and gives it back to the row.
func TestFocusAfterActionsOfRows(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.tab(s.admin)
	must(s.CreateTask(t.Context(), task.Task{Name: "zinc", Command: &task.Command{Shell: "true"}}))(s)
	must(s.CreateTask(t.Context(), task.Task{Namespace: "other", Name: "backup", Command: &task.Command{Shell: "true"}}))(s)
	atRow := func(row string) {
		t.Helper()
		b.Until(`document.activeElement.dataset.row === ` + strconv.Quote(row))
	}
	open := func(row, item string) {
		t.Helper()
		b.Until(`document.documentElement.classList.contains('scripted') && (document.querySelector(` + strconv.Quote(`button[data-row=`+strconv.Quote(row)+`]`) + `).focus(), true)`)
		b.Key("Enter")
		b.Until(`!!document.activeElement.closest('#row-menu')`)
		for range 8 {
			var is bool
			if b.Eval(`document.activeElement.textContent.trim() === `+strconv.Quote(item), &is); is {
				return
			}
			b.Key("ArrowDown")
		}
		t.Fatalf("%s has no %s", row, item)
	}
	sends := func(says string) {
		t.Helper()
		b.Eval(`(document.documentElement.dataset.was = '', true)`, new(bool))
		b.Key("Enter")
		b.Until(`document.documentElement.dataset.was === undefined && document.readyState === 'complete' && !!document.querySelector('main > .flash')`)
		b.Shows(says)
	}
	does := func(list, row, item, says string) {
		t.Helper()
		b.Visit(s.url + list)
		open(row, item)
		if !strings.HasSuffix(item, "…") {
			sends(says)
			return
		}
		b.Key("Enter")
		b.Until(`document.activeElement.matches('.confirm:popover-open [popovertargetaction=hide]')`)
		b.Key("Escape")
		atRow(row)
		open(row, item)
		b.Key("Enter")
		b.Until(`document.activeElement.matches('.confirm:popover-open [popovertargetaction=hide]')`)
		b.Key("Shift+Tab")
		b.Until(`document.activeElement.matches('.confirm:popover-open button.danger')`)
		sends(says)
	}
	next := func(list, row string, by int) (next string) {
		t.Helper()
		b.Visit(s.url + list)
		b.Eval(`(all => all[all.indexOf(`+strconv.Quote(row)+`) + `+strconv.Itoa(by)+`])([...document.querySelectorAll('button[data-row]')].map(e => e.dataset.row))`, &next)
		return next
	}
	for _, tt := range []struct{ list, row, item, says string }{
		{"/monitors", "/monitors/api", "Pause", "Monitor api is paused"},
		{"/monitors", "/monitors/api", "Resume", "Monitor api is resumed"},
		{"/jobs", "/jobs/2", "Retry", "Job 2 is ready again"},
		{"/jobs", "/jobs/4", "Cancel…", "Job 4 is canceled"},
		{"/queues", "/queues/default", "Pause…", "default is paused"},
		{"/settings/hooks", "/settings/hooks/billing", "Pause", "Hook billing is paused"},
		{"/alert-rules", "/alert-rules/all", "Disable", "Alert rule all is disabled"},
		{"/settings/windows", "/settings/windows/night", "Disable", "Window night is disabled"},
		{"/status-pages", "/status-pages/public", "Disable…", "Status page public is disabled"},
	} {
		does(tt.list, tt.row, tt.item, tt.says)
		atRow(tt.row)
		b.Until(`document.getElementById(document.activeElement.getAttribute('aria-describedby'))?.matches('.flash')`)
	}
	// Undo keeps the row as well; a notice that is put away gives the focus to the content.
	does("/monitors", "/monitors/api", "Pause", "Monitor api is paused")
	b.Eval(`(document.querySelector('.flash form button').focus(), true)`, new(bool))
	sends("Monitor api is resumed")
	atRow("/monitors/api")
	b.Eval(`(document.querySelector('.flash .shut').focus(), true)`, new(bool))
	b.Key("Enter")
	b.Until(`!document.querySelector('main > .flash') && document.activeElement.id === 'main'`)

	following := next("/tasks", "/tasks/later", 1)
	does("/tasks", "/tasks/later", "Delete…", "Task later is deleted")
	atRow(following)
	before := next("/tasks", "/tasks/zinc", -1)
	does("/tasks", "/tasks/zinc", "Delete…", "is deleted")
	atRow(before)
	does("/tasks?namespace=other", "/tasks/backup?namespace=other", "Delete…", "is deleted")
	b.Until(`document.activeElement.matches('main > .flash')`) // the list is empty
	b.Axe()

	// A pointer moves no focus: rows that wait would be held.
	b.Visit(s.url + "/monitors")
	ofRow(b, "/monitors/api")
	s.chooses(b, "Pause", "Monitor api is paused.")
	b.Until(`document.documentElement.classList.contains('scripted') && document.activeElement === document.body`)
	b.Quiet(s.url)
}

// The menus of fifty rows cost little: each has a button, and all of them one menu.
func TestMenusOfFiftyRowsAreLight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var m view.Manifest
	for i := range 50 {
		m.Tasks = append(m.Tasks, task.Task{Name: fmt.Sprintf("task-%02d-of-many", i), Command: &task.Command{Shell: "true"}})
	}
	must(s.Apply(t.Context(), m, view.ApplyOptions{}))(s)
	secret, _ := s.token("reader-of-many", "default", access.ScopeRead)
	with, body := s.visitor(s.admin).weighed("/tasks")
	without, _ := s.visitor(secret).weighed("/tasks")
	if rows := strings.Count(body, "data-row"); rows != 50 || with-without > 2500 {
		t.Errorf("%d menus cost %d bytes as they travel", rows, with-without)
	}
}
