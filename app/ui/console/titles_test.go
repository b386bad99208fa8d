package console_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/internal/portion"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Titles beside names of 128 characters: from right to left, with emoji, and as long as may be.
const (
	hebrew  = "גיבוי לילי של החנות 🔥"
	russian = "Магазин в Пловдиве"
)

var longest = strings.Repeat("Größe ", 22) + "Ende-langer-Titel"

// Titles of definitions: from right to left, without spaces, and a word as long as may be.
const (
	arabic   = "فريق المناوبة الليلية"
	japanese = "夜間当番への緊急連絡先と予備の連絡経路"
)

var (
	oneWord     = strings.Repeat("w", 200)
	definitions = map[string]string{"crew": arabic, "night": japanese, strings.Repeat("n", 100): oneWord, "bare": ""}
)

func titledSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	ctx := s.Context()
	for name, title := range map[string]string{"backup": hebrew, "shop": russian, strings.Repeat("n", 100): longest, "plain": ""} {
		must(s.CreateTask(ctx, task.Task{Name: name, Title: title, Kind: task.KindFunc}))(s)
		must(s.CreateSchedule(ctx, schedule.Schedule{Name: name, Title: title, Task: name, Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}))(s)
		must(s.CreateMonitor(ctx, monitor.Monitor{Name: name, Title: title, Public: true, Tags: []string{"web"}, Confirm: monitor.Confirm{Failures: 1}, Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(s)
		must(s.SaveQueue(ctx, job.Queue{Name: name, Title: title}))(s)
		must(s.SaveCalendar(ctx, schedule.Calendar{Name: name, Title: title}))(s)
	}
	for name, title := range definitions {
		must(s.SaveChannel(ctx, alert.Channel{Name: name, Title: title, Email: &alert.EmailChannel{Host: "mail.example.com", From: "a@example.com", To: []string{"b@example.com"}}}))(s)
		must(s.SaveHook(ctx, hook.Hook{Name: name, Title: title, Pull: true}))(s)
		must(s.SaveWindow(ctx, monitor.Window{Name: name, Title: title, From: time.Now().AddDate(1, 0, 0), To: time.Now().AddDate(1, 0, 1)}))(s)
	}
	for name, title := range definitions {
		must(s.SaveAlertRule(ctx, alert.Rule{Name: name, Title: title, Channels: slices.Compact([]string{name, "bare"})}))(s)
	}
	must(s.CreateTask(ctx, task.Task{Name: "round", Title: "Runde " + hebrew, Kind: task.KindCycle, Cycle: &task.Cycle{Members: []task.Member{{Task: "backup"}}}}))(s)
	must(s.Enqueue(ctx, []job.NewJob{{Task: "backup"}, {Task: "shop"}, {Task: "plain"}}))(s)
	must(s.SaveStatusPage(ctx, public.StatusPage{Name: "all"}))(s)
	must(s.SaveStatusPage(ctx, public.StatusPage{Name: "shop", Title: russian}))(s)
	s.failNext("backup", "the tape is full")
	s.check("shop", task.CheckResult{Outcome: task.CheckFail, Code: task.CodeConnectRefused, Message: "nothing listens there"})
	return s
}

// Titles stand before names in lists and on pages, in every direction, and break neither.
func TestEveryPageShowsTitles(t *testing.T) {
	t.Parallel()
	s := titledSite(t)
	b := s.at("/tasks")
	for _, page := range portion.Of(t, []string{"/tasks", "/schedules", "/monitors", "/monitors?view=grid", "/queues", "/calendars", "/jobs", "/", "/tasks/backup", "/schedules/backup", "/monitors/backup", "/queues/backup", "/calendars/backup", "/cycles/round", "/cycles", "/dead", "/jobs/1", "/schedules?view=lanes", "/incidents", "/incidents/1",
		"/tasks/" + strings.Repeat("n", 100), "/schedules/" + strings.Repeat("n", 100), "/monitors/" + strings.Repeat("n", 100)}) {
		for _, width := range []int{1280, 390} {
			b.Emulate("light", width)
			b.Visit(s.url + page)
			picture(b, "titles"+strings.NewReplacer("/", "-", "?", "-", strings.Repeat("n", 100), "long").Replace(page)+"-"+strconv.Itoa(width))
			b.Layout()
			var cut []string
			b.Eval(`[...document.querySelectorAll('.rows td > a .alias')].filter(e => {
				const link = e.parentElement.getBoundingClientRect(), at = e.getBoundingClientRect(), cut = e => e.scrollWidth > e.clientWidth + 1;
				return e.checkVisibility() && at.top < link.bottom && (cut(e) || cut(e.previousElementSibling));
			}).map(e => e.parentElement.textContent)`, &cut)
			var bare int
			if b.Eval(`[...document.querySelectorAll(':is(.rows td, .lane) > a:has(.alias)')].filter(e => e.title !== e.querySelector('bdi').textContent + ' – ' + e.querySelector('.alias').textContent).length`, &bare); bare > 0 {
				t.Errorf("%s: %d links may hide a name that nothing else says", page, bare)
			}
			if len(cut) > 0 {
				t.Errorf("%s: a name stands beside a title and one of them is cut: %q", page, cut)
			}
		}
		b.Axe()
		switch {
		case strings.HasSuffix(page, "nnn"):
			b.Shows(longest)
		case strings.HasPrefix(page, "/incidents"):
			b.Shows(russian)
		case page != "/":
			b.Shows(hebrew)
		}
	}
	b.Emulate("dark", 1280)
	b.Visit(s.url + "/monitors")
	b.AxeColours()
	picture(b, "titles-monitors-dark")
	b.Quiet(s.url)
}

// Definitions have titles too: on their pages, in forms that choose some, and where notifications name them.
func TestEveryPageShowsTitlesOfDefinitions(t *testing.T) {
	t.Parallel()
	s := titledSite(t)
	b := s.at("/alert-rules")
	pages := map[string][]string{
		"/alert-rules": {arabic, japanese, oneWord}, "/settings/channels": {arabic, japanese, oneWord}, "/settings/hooks": {arabic, japanese, oneWord}, "/settings/windows": {arabic, japanese, oneWord},
		"/alerts": {arabic, japanese, oneWord}, "/monitors/shop/alerts": {arabic, japanese, oneWord}, "/incidents/1": {arabic, japanese, oneWord},
		"/alert-rules/-new": {arabic, japanese, oneWord, "bare"}, "/status-pages/all": nil,
	}
	for name, title := range map[string]string{"crew": arabic, "night": japanese, strings.Repeat("n", 100): oneWord} {
		for _, page := range []string{"/alert-rules/", "/settings/channels/", "/settings/hooks/", "/settings/windows/"} {
			pages[page+name] = []string{title, name}
		}
		pages["/settings/hooks/"+name+"/edit"] = []string{title, name}
	}
	for _, page := range portion.Names(t, pages) {
		for _, width := range []int{1280, 390} {
			b.Emulate(map[int]string{1280: "light", 390: "dark"}[width], width)
			b.Visit(s.url + page)
			picture(b, "titles"+strings.NewReplacer("/", "-", strings.Repeat("n", 100), "long").Replace(page)+"-"+strconv.Itoa(width))
			b.Layout()
			var under []string
			b.Eval(`[...document.querySelectorAll('tbody tr:has(> td.end)')].filter(row => {
				const menu = row.querySelector('.end button').getBoundingClientRect();
				return [...row.querySelectorAll('td:first-child :is(bdi, .alias)')].some(e => [...e.getClientRects()].some(r => r.right > menu.left && r.top < menu.bottom && r.bottom > menu.top));
			}).map(row => row.id)`, &under)
			if len(under) > 0 && width == 390 {
				t.Errorf("%s: the menu of a row covers its title: %q", page, under)
			}
			var bare int
			if b.Eval(`[...document.querySelectorAll('td > a:has(.alias)')].filter(e => e.title !== e.querySelector('bdi').textContent + ' – ' + e.querySelector('.alias').textContent).length`, &bare); bare > 0 && page != "/incidents/1" && page != "/alerts" && page != "/monitors/shop/alerts" {
				t.Errorf("%s: %d links have no hint of title and name", page, bare)
			}
		}
		b.Axe()
		b.Shows(pages[page]...)
	}
	b.Visit(s.url + "/status-pages/all")
	var offers []string
	b.Eval(`[...document.querySelectorAll('[name="subscribe.mail"] ~ datalist option')].map(o => o.value.slice(0, 5) + ' ' + o.label)`, &offers)
	if want := []string{"bare ", "crew " + arabic, "night " + japanese, "nnnnn " + oneWord}; !slices.Equal(offers, want) {
		t.Errorf("the form offers %q, want %q", offers, want)
	}
	b.Emulate("dark", 1280)
	b.Visit(s.url + "/alert-rules")
	b.AxeColours()
	b.Quiet(s.url)
}

// A part of a title finds a thing, in lists and in the palette, whatever its case and with spaces.
func TestTitlesAreFound(t *testing.T) {
	t.Parallel()
	s := titledSite(t)
	v := s.visitor(s.admin)
	for _, page := range []string{"/tasks?part=", "/schedules?part=", "/monitors?search="} {
		for text, want := range map[string]string{"МАГАЗИН в": russian, "לילי של": hebrew, "größe grö": longest, "PLAIN": "plain"} {
			status, body := v.get(page + url.QueryEscape(text))
			if status != 200 || !strings.Contains(body, want) || want != "plain" && strings.Contains(body, ">plain</a>") {
				t.Errorf("%s%s: %d, %s is not found, or more than that", page, text, status, want)
			}
		}
	}
	b := s.at("/jobs")
	ctrlK(b)
	types(b, "магазин")
	if got := hits(b); got != "*"+strings.Join([]string{russian, russian, russian, russian, "Run " + russian + "…", "Run " + russian + "…", "Check " + russian, "Pause " + russian}, ", ") && !strings.HasPrefix(got, "*"+russian+", "+russian+", "+russian+", "+russian+", ") {
		t.Errorf("found %q", got)
	}
	picture(b, "titles-palette")
	b.Axe()
	types(b, "לילי של")
	if got := hits(b); !strings.HasPrefix(got, "*"+hebrew+", ") {
		t.Errorf("found %q", got)
	}
	types(b, "المناوبة")
	if got := hits(b); got != "*"+strings.Join([]string{arabic, arabic, arabic, arabic}, ", ") {
		t.Errorf("found %q", got)
	}
	picture(b, "titles-palette-definitions")
	types(b, "לילי של")
	if got := hits(b); !strings.HasPrefix(got, "*"+hebrew+", ") {
		t.Errorf("found %q", got)
	}
	b.Events = nil
	b.Key("Enter")
	b.Until(`location.pathname === '/tasks/backup' && document.readyState === 'complete'`)
	b.Quiet(s.url)
}

// The forms have the field, keep what it says, and name it when it is refused.
func TestTitlesInForms(t *testing.T) {
	t.Parallel()
	s := titledSite(t)
	v := s.visitor(s.admin)
	for _, noun := range []string{"tasks", "schedules", "monitors", "queues", "calendars"} {
		_, body := v.get("/" + noun + "/backup/edit")
		if !strings.Contains(body, `name="title"`) || !strings.Contains(body, hebrew) {
			t.Errorf("the form of %s has no title", noun)
		}
	}
	b := s.at("/queues/backup/edit")
	b.Eval(`(document.querySelector('[name=title]').value = 'a\u202eb', true)`, new(bool))
	b.Follow("form .main")
	b.Shows("must not contain U+202E")
	picture(b, "titles-refused")
	b.Eval(`(document.querySelector('[name=title]').value = 'تقرير', true)`, new(bool))
	b.Follow("form .main")
	if got := must(s.Queue(s.Context(), "backup"))(s).Title; got != "تقرير" {
		t.Errorf("it is %q", got)
	}
	b.Visit(s.url + "/monitors/backup/edit")
	changeTitle(b, "Нов магазин")
	if got := must(s.Monitor(s.Context(), "default", "backup"))(s).Title; got != "Нов магазин" {
		t.Errorf("it is %q", got)
	}
	b.Visit(s.url + "/tasks/backup/edit")
	changeTitle(b, "Нова задача")
	for _, page := range []string{"/settings/channels/crew", "/alert-rules/crew", "/settings/hooks/crew/edit", "/settings/windows/crew"} {
		b.Visit(s.url + page)
		changeTitle(b, "新しい題名")
	}
	ctx := s.Context()
	if got := must(s.Channel(ctx, "default", "crew"))(s).Title + must(s.AlertRule(ctx, "default", "crew"))(s).Title + must(s.Hook(ctx, "default", "crew"))(s).Title + must(s.Window(ctx, "default", "crew"))(s).Title; got != strings.Repeat("新しい題名", 4) {
		t.Errorf("they are %q", got)
	}
	if got := must(s.Task(s.Context(), "default", "backup"))(s).Title; got != "Нова задача" {
		t.Errorf("it is %q", got)
	}
}

func changeTitle(b *browser.Tab, to string) {
	b.T.Helper()
	b.Eval(`(document.querySelectorAll('details.drawer').forEach(d => d.open = true), document.querySelector('[name=title]').value = `+strconv.Quote(to)+`, true)`, new(bool))
	b.Follow("form .main[value=save]")
}

// The window of a page is titled as people call its object, so that tabs of a browser can be told apart.
func TestTitlesOfWindows(t *testing.T) {
	t.Parallel()
	s := titledSite(t)
	v := s.visitor(s.admin)
	for path, want := range map[string]string{
		"/monitors/shop": russian + " – monitor", "/monitors/shop/results": "Results of " + russian, "/monitors/shop/settings": "Settings of " + russian,
		"/monitors/shop/alerts": "Alerts of " + russian, "/monitors/shop/edit": "Edit " + russian, "/incidents/1": "Incident 1: " + russian,
		"/jobs/1": "Job 1: " + hebrew, "/tasks/backup": hebrew + " – task", "/tasks/backup/edit": "Edit task " + hebrew, "/tasks/plain/edit": "Edit task plain",
		"/schedules/backup/edit": "Edit schedule " + hebrew, "/schedules/backup/backfill": "Backfill of " + hebrew, "/schedules/backup/trigger": "Run schedule " + hebrew + " now",
		"/cycles/round/edit": "Edit cycle Runde " + hebrew, "/queues/shop/edit": "Edit queue " + russian, "/calendars/shop/edit": "Edit calendar " + russian,
		"/settings/channels/crew": "Channel " + arabic, "/settings/channels/bare": "Channel bare", "/alert-rules/night": "Alert rule " + japanese,
		"/settings/hooks/night": "Hook " + japanese, "/settings/hooks/night/edit": "Edit hook " + japanese, "/settings/windows/crew": "Window " + arabic,
		"/status-pages/shop/announcements": "Announcements of " + russian, "/status-pages/shop/subscribers": "Subscribers of " + russian,
	} {
		status, body := v.get(path)
		_, rest, _ := strings.Cut(body, "<title>")
		got, _, _ := strings.Cut(rest, "</title>")
		if status != 200 || got != want+" – Belfry" {
			t.Errorf("%s: %d %q, want %q", path, status, got, want+" – Belfry")
		}
	}
}
