package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/internal/portion"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// everyPage is what TestEveryPage looks at, after site.fill: each page in both
// themes and on a phone. Says is what a person must be able to read.
var everyPage = []struct {
	name, path string
	says       []string
	status     int          // default: 200
	scope      access.Scope // that the page takes, if it is more than to read
}{
	// First, because no engine runs here: what is due gets later with every page that is looked at.
	{name: "database", path: "/settings/database", says: []string{"All checks passed", "Oldest waiting", "write-ahead log", "Free within the file", "jobs_done", "30 d"}, scope: access.ScopeAdmin},
	{name: "home", path: "/", says: []string{"need you", "Running now", "hello", "the disk is full", "next 24 hours", "hourly", "shop"}},
	{name: "home-empty", path: "/?namespace=nobody", says: []string{"Nothing happens here yet.", "belfry task create"}},
	{name: "home-all", path: "/?namespace=*", says: []string{"all namespaces", "the disk is full"}},
	{name: "tour", path: "/tour", says: []string{"Belfry in two minutes", "Each page has its command"}},
	{name: "queues", path: "/queues", says: []string{"default", "checks", "system", "active"}},
	{name: "queue", path: "/queues/default", says: []string{"Jobs that name no other queue", "Ready", "3", "Pause", "Depth and oldest", "Oldest waiting, by minute", "more jobs than are counted"}},
	{name: "queue-week", path: "/queues/default?range=7d", says: []string{"Depth: most jobs ready and running, by hour"}},
	{name: "queue-idle", path: "/queues/system", says: []string{"Depth: most jobs ready and running, by minute"}},
	{name: "queue-new", path: "/queues/-new", says: []string{"New queue", "Priority among queues"}, scope: access.ScopeAdmin},
	{name: "queue-edit", path: "/queues/default/edit", says: []string{"Edit default"}, scope: access.ScopeAdmin},
	{name: "programs", path: "/programs", says: []string{"There is no program yet.", "belfry program push"}},
	{name: "program-new", path: "/programs/-new", says: []string{"Drop a file here", "Upload and save"}, scope: access.ScopeAdmin},
	{name: "workers", path: "/workers", says: []string{"builder", "active", "default 1", "Alive"}},
	{name: "workers-ended", path: "/workers?ended=yes", says: []string{"prober", "ended"}},
	{name: "no-worker", path: "/workers/nobody", says: []string{"Not here", "list of workers"}, status: 404},
	{name: "settings", path: "/settings", says: []string{"About", "sqlite", "retention_age", "Clock skew", "Secrets"}},
	{name: "join-tokens", path: "/settings/join-tokens", says: []string{"builders", "0 of 10", "pool=build", "New join token", "Machines that may join"}, scope: access.ScopeAdmin},
	{name: "tokens", path: "/settings/tokens", says: []string{"(yours)", "New token", "see everything but secrets", "Limits of namespaces", "team-limited", "no limit"}, scope: access.ScopeAdmin},
	{name: "limits", path: "/settings/limits?namespace=team-limited", says: []string{"Limits of team-limited", "Jobs waiting", "0 of 10", "Runs of schedules are skipped", "1: 4 at once", "each: 5/1s, for each input.customer"}},
	{name: "limits-edit", path: "/settings/limits/edit?namespace=team-limited", says: []string{"Limits of team-limited", "Jobs waiting", "An empty field is no limit"}, scope: access.ScopeAdmin},
	{name: "limits-none", path: "/settings/limits", says: []string{"None: nothing is refused."}},
	{name: "limits-of-all", path: "/settings/limits?namespace=*", says: []string{"Limits of namespaces", "team-limited", "waiting 10", "running=4"}},
	{name: "secrets", path: "/settings/secrets", says: []string{"There is no secret yet."}},
	{name: "cycles", path: "/cycles", says: []string{"nightly", "report", "1 of 3", "New cycle"}},
	{name: "cycles-empty", path: "/cycles?namespace=nobody", says: []string{"There is no cycle yet.", "belfry cycle create"}},
	{name: "cycle", path: "/cycles/nightly", says: []string{"Running: job", "1 of 3", "fetch", "It has never succeeded", "At most every", "Skip", "Cancel the run"}},
	{name: "cycle-new", path: "/cycles/-new", says: []string{"New cycle", "Members, in the order", "Save"}, scope: access.ScopeAdmin},
	{name: "cycle-edit", path: "/cycles/nightly/edit", says: []string{"Edit nightly", "Stagger"}, scope: access.ScopeAdmin},
	{name: "no-cycle", path: "/cycles/nothing", says: []string{"Not here"}, status: 404},

	{name: "monitors", path: "/monitors", says: []string{"shop", "api", "backup", "prices", "paused", "connection refused", "Check all", "core"}},
	{name: "monitors-grid", path: "/monitors?view=grid&span=24h", says: []string{"shop", "api", "24 hours"}},
	{name: "monitors-none", path: "/monitors?search=nothing&status=up", says: []string{"No matching monitor.", "Show all"}},
	{name: "monitors-empty", path: "/monitors?namespace=nobody", says: []string{"There is no monitor yet.", "belfry monitor create"}},
	{name: "monitors-all", path: "/monitors?namespace=*", says: []string{"in default", "api"}},
	{name: "monitors-bulk", path: "/monitors/-bulk?do=pause&m=default/shop&m=default/api", says: []string{"Pause 2 monitors?", "For how long"}, scope: access.ScopeOperate},
	{name: "monitor", path: "/monitors/api", says: []string{"The shaded time", "What the shop asks", "Uptime 90d", "Latency of good checks", "Mean time by phase", "unexpected status"}},
	{name: "monitor-week", path: "/monitors/api?range=7d", says: []string{"Latency of good checks", "for up to 24 hours"}},
	{name: "monitor-down", path: "/monitors/shop", says: []string{"Down since", "nothing listens there", "Incident "}},
	{name: "monitor-paused", path: "/monitors/old", says: []string{"it <moves> house", "until", "It was never down."}},
	{name: "monitor-results", path: "/monitors/api/results", says: []string{"status 503", "status = 503", "first byte", "no address can be reached"}},
	{name: "monitor-results-failed", path: "/monitors/api/results?outcome=fail", says: []string{"status 503, not 200-299"}},
	{name: "monitor-alerts", path: "/monitors/api/alerts", says: []string{"team", "1 attempt", "sent", "pending"}},
	{name: "monitor-settings", path: "/monitors/api/settings", says: []string{"https://api.example/health", "status == 200", "kept secret", "after 1 failure", "api/uptime.svg"}},
	{name: "monitor-settings-beat", path: "/monitors/backup/settings", says: []string{"waits to be called", "a call is overdue after"}},
	{name: "monitor-versions", path: "/monitors/prices/versions", says: []string{"baseline", "changed", "Show changes"}},
	{name: "monitor-version", path: "/monitors/prices/versions/3", says: []string{"<b>Figs</b> 20 EUR"}},
	{name: "monitor-diff", path: "/monitors/prices/diff?from=1&to=3", says: []string{"Pears 12 EUR", "Pears 14 EUR a kilo", "+3 −2 lines"}},
	{name: "monitor-diff-unified", path: "/monitors/prices/diff?view=unified", says: []string{"<b>Figs</b> 20 EUR"}},
	{name: "monitor-new", path: "/monitors/-new", says: []string{"New monitor"}},
	{name: "monitor-edit", path: "/monitors/api/edit", says: []string{"Edit api"}},
	{name: "monitor-edit-page", path: "/monitors/prices/edit", says: []string{"Edit prices"}},
	{name: "incidents", path: "/incidents", says: []string{"Open now", "shop", "nothing listens there", "Over", "api", "status 503, not 200-299"}},
	{name: "incidents-open", path: "/incidents?state=open", says: []string{"Open now", "shop"}},
	{name: "incidents-over", path: "/incidents?state=over&monitor=api", says: []string{"Incidents of api", "status 503, not 200-299"}},
	{name: "incidents-wrong", path: "/incidents?state=never", says: []string{"is no state of an incident"}, status: 422},
	{name: "incidents-empty", path: "/incidents?namespace=nobody", says: []string{"Nothing is down."}},
	{name: "incident", path: "/incidents/2", says: []string{"api was down", "503 Service Unavailable", `<script>alert("no")</script>`, "The rest was not kept.", "Notifications", "team"}},
	{name: "status-pages", path: "/status-pages", says: []string{"public", "How we are", "/status/public"}},
	{name: "status-pages-empty", path: "/status-pages?namespace=nobody", says: []string{"There is no status page yet."}},
	{name: "status-page-new", path: "/status-pages/-new", says: []string{"New status page"}},
	{name: "announcements-empty", path: "/status-pages/public/announcements", says: []string{"Nothing is announced on this page."}},
	{name: "announcement-new-page", path: "/status-pages/public/announcements/-new", says: []string{"New announcement", "until it is ended"}},
	{name: "status-page", path: "/status-pages/public", says: []string{"View public page"}},
	{name: "alerts", path: "/alerts", says: []string{"team", "all", "sent"}},
	{name: "alerts-empty", path: "/alerts?namespace=nobody", says: []string{"No notification was sent yet."}},
	{name: "alert-rules", path: "/alert-rules", says: []string{"everything", "team", "never"}},
	{name: "alert-rule-new", path: "/alert-rules/-new", says: []string{"New alert rule"}},
	{name: "alert-rule", path: "/alert-rules/all", says: []string{"Alert rule all"}},
	{name: "channels", path: "/settings/channels", says: []string{"team", "Webhook", "kept secret"}},
	{name: "channels-empty", path: "/settings/channels?namespace=nobody", says: []string{"There is no channel yet."}},
	{name: "channel-new", path: "/settings/channels/-new", says: []string{"New channel"}},
	{name: "channel", path: "/settings/channels/team", says: []string{"Channel team", "Notifications"}},
	{name: "hooks", path: "/settings/hooks", says: []string{"Hooks", "New hook", "billing", "failing", "since", "<b>no</b>", "paused", "task broken", "monitor.*", "everything"}},
	{name: "hooks-empty", path: "/settings/hooks?namespace=nobody", says: []string{"There is no hook yet.", "belfry hook set"}},
	{name: "hooks-all", path: "/settings/hooks?namespace=*", says: []string{"in default", "billing"}},
	{name: "hook-new", path: "/settings/hooks/-new", says: []string{"New hook", "Key of the signature", "With a tag of"}, scope: access.ScopeAdmin},
	{name: "hook-edit", path: "/settings/hooks/billing/edit", says: []string{"Edit hook billing", "Each that is given must match"}, scope: access.ScopeAdmin},
	{name: "hook", path: "/settings/hooks/billing", says: []string{"Hook billing", "active", "kept secret", "X-Team", "Last deliveries", "sent", "job.failed", "of broken", "the disk is full"}},
	{name: "hook-failing", path: "/settings/hooks/failing?state=pending", says: []string{"failing", "1 delivery failed since", "<b>no</b>", "Next try", "monitor.down", "shop"}},
	{name: "hook-paused", path: "/settings/hooks/paused", says: []string{"paused", "Nothing was delivered yet.", "pending"}},
	{name: "hook-new-pulled", path: "/settings/hooks/-new?delivery=pull", says: []string{"Pulled by programs", "Each that is given must match"}, scope: access.ScopeAdmin},
	{name: "hook-pulled", path: "/settings/hooks/pulled", says: []string{"none: programs ask for the events", "Ask for events", "Last acknowledged", "of broken"}},
	{name: "hook-none", path: "/settings/hooks/billing?type=monitor.*", says: []string{"No matching event."}},
	{name: "hook-wrong", path: "/settings/hooks/billing?type=nothing", says: []string{"is not a type of event"}, status: 422},
	{name: "no-hook", path: "/settings/hooks/nothing", says: []string{"Not here"}, status: 404},
	{name: "windows", path: "/settings/windows", says: []string{"Saturday, Sunday at 02:30, for 2 h, Europe/Sofia", "To the new house"}},
	{name: "window-new", path: "/settings/windows/-new", says: []string{"New maintenance window"}},
	{name: "window", path: "/settings/windows/night", says: []string{"Active times", "Europe/Sofia"}},
	{name: "parts", path: "/design", says: []string{"Latency, stacked", "has no minute 61", "1 min 30 s", "handed back"}},
	{name: "jobs", path: "/jobs", says: []string{"All", "broken", "the disk is full", "Cancel all", "How to search"}},
	{name: "jobs-empty", path: "/jobs?namespace=nobody", says: []string{"There is no job yet."}},
	{name: "jobs-all", path: "/jobs?namespace=*", says: []string{"in default"}},
	{name: "jobs-state", path: "/jobs?q=task%3Alater+state%3Aready", says: []string{"later", "ready", "Cancel all"}},
	{name: "jobs-none", path: "/jobs?q=task%3Anothing", says: []string{"No matching job."}},
	{name: "jobs-wrong", path: "/jobs?q=state%3Abroken+zince%3A2h", says: []string{"is not a job state", "zince:2h", "All jobs"}, status: 422},
	{name: "jobs-dry-run", path: "/jobs/-bulk?do=cancel&q=task%3Alater", says: []string{"Cancel 3 jobs?", "Nothing has been done yet", "Cancel"}, scope: access.ScopeOperate},
	{name: "jobs-dry-run-none", path: "/jobs/-bulk?do=retry&q=task%3Alater", says: []string{"There is no job to be retried."}, scope: access.ScopeOperate},
	{name: "job-failed", path: "/jobs/2", says: []string{"Job 2", "failed", "the disk is full", "Retry", "Timeline", "builder"}},
	{name: "job-running", path: "/jobs/3", says: []string{"running", "It runs: attempt 1", "Cancel"}},
	{name: "job-ready", path: "/jobs/4", says: []string{"Why is it not running?", "a worker", "Next step"}},
	{name: "job-signal", path: "/jobs/4/signal", says: []string{"Send a signal to job 4", "Of the step that waits for it"}, scope: access.ScopeOperate},
	{name: "no-job", path: "/jobs/999", says: []string{"Not here"}, status: 404},
	{name: "job-new", path: "/jobs/-new?task=later", says: []string{"Enqueue a job", "Input", "Not before"}, scope: access.ScopeOperate},
	{name: "job-like", path: "/jobs/-new?like=2", says: []string{"Run job 2 again"}, scope: access.ScopeOperate},
	{name: "dead", path: "/dead", says: []string{"1 dead job", "the disk is full", "Retry"}},
	{name: "dead-none", path: "/dead?q=task%3Ahello", says: []string{"No job is dead."}},
	{name: "audit", path: "/audit?noun=schedule", says: []string{"create", "hourly", "token:"}},
	{name: "audit-none", path: "/audit?actor=nobody", says: []string{"No matching change."}},
	{name: "audit-wrong", path: "/audit?since=never", says: []string{"is not a time"}, status: 422},
	{name: "tasks", path: "/tasks", says: []string{"hello", "func", "later"}},
	{name: "tasks-part", path: "/tasks?part=LAT", says: []string{"later", "func"}},
	{name: "tasks-none", path: "/tasks?part=nothing", says: []string{"No matching task."}},
	{name: "tasks-empty", path: "/tasks?namespace=nobody", says: []string{"There is no task yet."}},
	{name: "task", path: "/tasks/hello", says: []string{"hourly", "Details", "Newest jobs", "running"}},
	{name: "task-new", path: "/tasks/-new", says: []string{"New task", "Script", "Maximum attempts", "Go handler", "Environment", "Create and run", "Create and schedule", "As YAML", "Not complete yet"}, scope: access.ScopeAdmin},
	{name: "task-new-http", path: "/tasks/-new?kind=http", says: []string{"New task", "Good status"}, scope: access.ScopeAdmin},
	{name: "task-new-func", path: "/tasks/-new?kind=func", says: []string{"New task"}, scope: access.ScopeAdmin},
	{name: "task-new-dns", path: "/tasks/-new?kind=dns", says: []string{"New task", "Record", "New monitor", "Try it"}, scope: access.ScopeAdmin},
	{name: "task-new-json", path: "/tasks/-new?kind=json", says: []string{"New task", "Definition"}, scope: access.ScopeAdmin},
	{name: "task-edit", path: "/tasks/hello/edit", says: []string{"Edit task hello"}, scope: access.ScopeAdmin},
	{name: "schedules", path: "/schedules", says: []string{"hourly", "Every hour on the hour", "Europe/Sofia", "runs hello", "nothing yet", "New schedule"}},
	{name: "schedules-lanes", path: "/schedules?view=lanes", says: []string{"At once", "hourly", "Start ahead", "As a table"}},
	{name: "schedules-lanes-week", path: "/schedules?view=lanes&span=7d&part=hour", says: []string{"hourly", "List"}},
	{name: "schedules-part", path: "/schedules?part=HOUR&task=hello", says: []string{"hourly", "All of them"}},
	{name: "schedules-none", path: "/schedules?state=paused", says: []string{"No matching schedule."}},
	{name: "schedule", path: "/schedules/hourly?at=2026-12-24+18:00", says: []string{"Times are read in Europe/Sofia", "Next 20 times", "Yes, it is.", "skip the new run", "None of its times has come yet."}},
	{name: "schedule-new", path: "/schedules/-new", says: []string{"New schedule"}},
	{name: "schedule-edit", path: "/schedules/hourly/edit", says: []string{"hourly"}},
	{name: "schedule-trigger", path: "/schedules/hourly/trigger", says: []string{"Run hourly now"}},
	{name: "schedule-backfill", path: "/schedules/hourly/backfill?from=2026-11-01&to=2026-11-01+05:00", says: []string{"Backfill of hourly"}},
	{name: "forecast", path: "/forecast?zone=Europe/Sofia", says: []string{"within a week, at most", "No two runs start in the same minute."}},
	{name: "calendars", path: "/calendars", says: []string{"nights", "MON-FRI 22:00-06:00"}},
	{name: "calendar", path: "/calendars/nights?at=2026-12-24+23:30", says: []string{"Yes, it is closed", "people sleep", "Year to come"}},
	{name: "calendar-new", path: "/calendars/-new", says: []string{"New calendar"}},
	{name: "calendar-edit", path: "/calendars/nights/edit", says: []string{"Edit nights"}},
	{name: "no-schedule", path: "/schedules/nothing", says: []string{"Not here"}, status: 404},
	{name: "find", path: "/find", says: []string{"Search", "Overview", "Dead jobs", "New schedule", "Database"}},
	{name: "find-name", path: "/find?q=HO", says: []string{"shop", "hourly", "Run hourly…", "Check shop", "Pause hourly"}},
	{name: "find-jobs", path: "/find?q=state:failed+task:broken", says: []string{"Job ", "broken, failed", "All jobs of state:failed task:broken"}},
	{name: "find-fault", path: "/find?q=stat:failed", says: []string{"is not a term of a search for jobs"}},
	{name: "find-nothing", path: "/find?q=%D7%A9%D7%9C%D7%95%D7%9D+%F0%9F%94%A5", says: []string{"Nothing found."}},
	{name: "not-here", path: "/nowhere", says: []string{"Not here", "Go back"}, status: 404},
	{name: "no-queue", path: "/queues/nothing", says: []string{"Not here"}, status: 404},
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	var b *browser.Tab
	for i, tt := range portion.Of(t, everyPage) {
		if i%30 == 0 { // a tab has its time
			if b != nil {
				b.Close()
			}
			b = s.tab(s.admin)
		}
		t.Run(tt.name, func(t *testing.T) {
			b.T = t
			b.Emulate("light", 1200)
			b.Visit(s.url + tt.path)
			b.Shows(tt.says...)
			settled(b)
			var size int
			if b.Eval(`performance.getEntriesByType('navigation')[0].encodedBodySize`, &size); size < 500 || size > mostOfPage {
				t.Errorf("it has %d bytes as they travel; at most %d are allowed", size, mostOfPage)
			}
			look(b, s, tt.name, tt.status)
			drawers(b)
		})
	}
	b.T = t
}

// drawers looks at a page with all that can be opened on it, in a window and on a phone.
func drawers(b *browser.Tab) {
	b.T.Helper()
	open := func(is string) {
		b.Eval(`(document.querySelectorAll('main details').forEach(e => { e.open = `+is+`; }), true)`, new(bool))
	}
	open("true")
	for _, width := range []int{1200, 360} {
		b.Emulate("light", width)
		b.Layout()
	}
	open("false")
	b.Emulate("light", 1200)
}

// look looks at a page in both themes, on a phone, and in a small window, in which what is pointed at may lie under something else.
func look(b *browser.Tab, s *site, name string, statuses ...int) {
	b.T.Helper()
	for _, as := range []struct {
		scheme string
		width  int
		height int
	}{{"light", 1200, 800}, {"dark", 1200, 800}, {"light", 360, 640}, {"light", 800, 600}} {
		b.Window(as.scheme, as.width, as.height)
		b.Layout()
		picture(b, fmt.Sprintf("%s-%s-%d", name, as.scheme, as.width))
		b.Quiet(s.url, statuses...)
		switch {
		case as.scheme == "dark":
			b.AxeColours()
		case as.width == 1200:
			b.Axe()
		case as.width == 800:
			b.AxeTargets()
		}
	}
	b.Emulate("light", 1200)
}

func TestEveryPageWithoutRights(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	secret, _ := s.token("viewer", "default", access.ScopeRead)
	b := s.tab(secret)
	for _, tt := range portion.Of(t, everyPage) {
		if strings.Contains(tt.path, "namespace=") {
			continue // not of this reader's
		}
		if tt.scope != "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			b.T = t
			if tt.name == "parts" {
				return // which are shown whoever looks
			}
			b.Visit(s.url + tt.path)
			if tt.scope != "" {
				tt.status = 403
				b.Shows("Not allowed")
			}
			b.Quiet(s.url, tt.status)
			// Forms that change something are none of a reader's business.
			var forms []string
			b.Eval(`[...document.querySelectorAll('main form[method=post]')].map(f => f.action)`, &forms)
			for _, f := range forms {
				t.Errorf("a reader is offered %s", f)
			}
		})
	}
	b.T = t
}

// What is called new, bulk or edit is a thing like any other.
func TestObjectsNamedNewOrBulkCanBeOpened(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	for _, name := range []string{"new", "bulk"} {
		must(s.CreateTask(ctx, task.Task{Name: name, Kind: task.KindFunc}))(s)
		must(s.CreateTask(ctx, task.Task{Name: "c-" + name, Cycle: &task.Cycle{Members: []task.Member{{Task: name}}}}))(s)
		must(s.CreateSchedule(ctx, schedule.Schedule{Name: name, Task: name, Rules: []schedule.Rule{{Cron: "0 * * * *"}}}))(s)
		must(s.SaveQueue(ctx, job.Queue{Name: name}))(s)
		must(s.SaveCalendar(ctx, schedule.Calendar{Name: name}))(s)
		must(s.CreateMonitor(ctx, monitor.Monitor{Name: name, Check: task.Task{TCP: &task.TCP{Address: "db.example:22"}}}))(s)
		must(s.SaveChannel(ctx, alert.Channel{Name: name, Webhook: &alert.WebhookChannel{URL: "https://hooks.example/x"}}))(s)
		must(s.SaveAlertRule(ctx, alert.Rule{Name: name, Channels: []string{name}}))(s)
		must(s.SaveHook(ctx, hook.Hook{Name: name, URL: "https://hooks.example/x", Secret: "0123456789abcdef"}))(s)
		must(s.SaveStatusPage(ctx, public.StatusPage{Name: name}))(s)
		must(s.SaveWindow(ctx, monitor.Window{Name: name, Rules: []schedule.Rule{{Cron: "30 2 * * SAT"}}, Lasts: core.Duration(time.Hour)}))(s)
	}
	must(s.CreateTask(ctx, task.Task{Namespace: "programs", Name: "new", Program: &task.Program{SHA256: digest([]byte("x")), Size: 1}}))(s)
	must(s.CreateTask(ctx, task.Task{Namespace: "cycles", Name: "first", Kind: task.KindFunc}))(s)
	must(s.CreateTask(ctx, task.Task{Namespace: "cycles", Name: "new", Cycle: &task.Cycle{Members: []task.Member{{Task: "first"}}}}))(s)
	v := s.visitor(s.admin)
	for path, says := range map[string]string{
		"/tasks/new": "<h1>new", "/schedules/new": "<h1>new", "/schedules/bulk": "<h1>bulk", "/queues/new": "<h1>new", "/calendars/new": "<h1>new",
		"/monitors/new": "<h1>new", "/monitors/bulk": "<h1>bulk", "/settings/channels/new": "<h1>Channel new", "/alert-rules/new": "<h1>Alert rule new", "/settings/hooks/new": "<h1>Hook new",
		"/status-pages/new": "<h1>Status page new", "/settings/windows/new": "<h1>", "/programs/new?namespace=programs": "<h1>new", "/cycles/new?namespace=cycles": "<h1>new",
	} {
		if status, body := v.get(path); status != 200 || !strings.Contains(body, says) || strings.Contains(body, "<h1>New") {
			t.Errorf("%s: %d, without %q", path, status, says)
		}
	}
}
