package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("titles of any script are kept, and found by a part, whatever its case", caseTitlesAreKeptAndFound)
	add("a title that is changed or removed is no longer found", caseATitleThatIsChangedIsNoLongerFound)
	add("a title that is not one line is refused, and the error names it", caseATitleThatIsNotOneLineIsRefused)
	add("titles of many names are read at once, of one namespace", caseTitlesOfManyNamesAreRead)
	add("notifications of jobs, monitors and schedules have title and name", caseNotificationsHaveTitleAndName)
}

// titled creates one object of each noun with a title.
func titled(b *bench, name, title string) {
	b.Helper()
	must(b.st.CreateTask(b.ctx, task.Task{Name: name, Title: title, Kind: task.KindFunc}))(b)
	must(b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: name, Title: title, Task: name, Rules: []schedule.Rule{{Cron: "0 3 * * *"}}}))(b)
	must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: name, Title: title, Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(b)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: name, Title: title}))(b)
	must(b.st.SaveCalendar(b.ctx, schedule.Calendar{Name: name, Title: title}))(b)
	must(b.st.SaveChannel(b.ctx, channelTitled(name, title)))(b)
	must(b.st.SaveAlertRule(b.ctx, alert.Rule{Name: name, Title: title, Channels: []string{name}}))(b)
	must(b.st.SaveHook(b.ctx, hook.Hook{Name: name, Title: title, Pull: true}))(b)
	must(b.st.SaveWindow(b.ctx, windowTitled(name, title)))(b)
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: name, Title: title}))(b)
}

func channelTitled(name, title string) alert.Channel {
	return alert.Channel{Name: name, Title: title, Ntfy: &alert.NtfyChannel{Topic: "ops"}}
}

func windowTitled(name, title string) monitor.Window {
	return monitor.Window{Name: name, Title: title, From: Epoch, To: Epoch.Add(time.Hour)}
}

// foundDocuments returns the names of definitions that a search finds, by noun.
func foundDocuments(b *bench, part string) string {
	b.Helper()
	var names []string
	f := view.DocumentFilter{Part: part}
	for _, c := range must(b.st.Channels(b.ctx, f))(b).Items {
		names = append(names, "channel "+c.Name)
	}
	for _, r := range must(b.st.AlertRules(b.ctx, f))(b).Items {
		names = append(names, "rule "+r.Name)
	}
	for _, h := range must(b.st.ListHooks(b.ctx, f))(b).Items {
		names = append(names, "hook "+h.Name)
	}
	for _, w := range must(b.st.Windows(b.ctx, f))(b).Items {
		names = append(names, "window "+w.Name)
	}
	for _, s := range must(b.st.StatusPages(b.ctx, f))(b).Items {
		names = append(names, "page "+s.Name)
	}
	for _, c := range must(b.st.Calendars(b.ctx, schedule.CalendarFilter{Part: part}))(b).Items {
		names = append(names, "calendar "+c.Name)
	}
	return strings.Join(names, ", ")
}

// foundBy returns the names that a search of tasks, schedules and monitors finds.
func foundBy(b *bench, part string) string {
	b.Helper()
	var names []string
	for _, t := range must(b.st.Tasks(b.ctx, task.Filter{Part: part}))(b).Items {
		names = append(names, "task "+t.Name)
	}
	for _, s := range must(b.st.Schedules(b.ctx, schedule.Filter{Part: part}))(b).Items {
		names = append(names, "schedule "+s.Name)
	}
	for _, m := range must(b.st.Monitors(b.ctx, view.MonitorFilter{Search: part}))(b).Items {
		names = append(names, "monitor "+m.Name)
	}
	return strings.Join(names, ", ")
}

func caseTitlesAreKeptAndFound(b *bench) {
	titles := map[string]string{
		"shop": "Магазин 🔥 Пловдив", "heb": "חנות בתל אביב", "de": "Läden & 100 %", "zh": "夜间备份", strings.Repeat("n", 100): strings.Repeat("é", 100), "plain": "",
	}
	for name, title := range titles {
		titled(b, name, title)
	}
	for name, title := range titles {
		want(b, "task", must(b.st.Task(b.ctx, "default", name))(b).Title, title)
		want(b, "schedule", must(b.st.Schedule(b.ctx, "default", name))(b).Title, title)
		want(b, "monitor", must(b.st.Monitor(b.ctx, "default", name))(b).Title, title)
		want(b, "queue", must(b.st.Queue(b.ctx, name))(b).Title, title)
		want(b, "calendar", must(b.st.Calendar(b.ctx, "default", name))(b).Title, title)
		want(b, "channel", must(b.st.Channel(b.ctx, "default", name))(b).Title, title)
		want(b, "rule", must(b.st.AlertRule(b.ctx, "default", name))(b).Title, title)
		want(b, "hook", must(b.st.Hook(b.ctx, "default", name))(b).Title, title)
		want(b, "window", must(b.st.Window(b.ctx, "default", name))(b).Title, title)
	}
	for part, name := range map[string]string{"МАГАЗ": "shop", "🔥 пло": "shop", "תל אביב": "heb", "LÄDEN &": "de", "0 %": "de", "夜间": "zh", "Pla": "plain", "ÉÉÉ": strings.Repeat("n", 100)} {
		want(b, part, foundBy(b, part), "task "+name+", schedule "+name+", monitor "+name)
		want(b, part, foundDocuments(b, part), "channel "+name+", rule "+name+", hook "+name+", window "+name+", page "+name+", calendar "+name)
	}
	for _, part := range []string{"de\nL", "Магазин Пловдив", "zh夜", "_", "%%"} { // not across name and title, and no patterns
		want(b, part, foundBy(b, part)+foundDocuments(b, part), "")
	}
}

func caseATitleThatIsChangedIsNoLongerFound(b *bench) {
	titled(b, "shop", "Old")
	t := must(b.st.Task(b.ctx, "default", "shop"))(b)
	t.Title = "New"
	must(b.st.UpdateTask(b.ctx, t))(b)
	s := must(b.st.Schedule(b.ctx, "default", "shop"))(b)
	s.Title = ""
	after := must(b.st.UpdateSchedule(b.ctx, s))(b)
	want(b, "the times of the schedule are the same", after.Generation, s.Generation)
	m := must(b.st.Monitor(b.ctx, "default", "shop"))(b).Monitor
	m.Title = "New"
	must(b.st.UpdateMonitor(b.ctx, m))(b)
	must(b.st.SaveChannel(b.ctx, channelTitled("shop", "New")))(b)
	must(b.st.SaveAlertRule(b.ctx, alert.Rule{Name: "shop", Title: "New", Channels: []string{"shop"}}))(b)
	must(b.st.SaveHook(b.ctx, hook.Hook{Name: "shop", Pull: true}))(b)
	must(b.st.SaveWindow(b.ctx, windowTitled("shop", "New")))(b)
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "shop"}))(b)
	must(b.st.SaveCalendar(b.ctx, schedule.Calendar{Name: "shop", Title: "New"}))(b)
	want(b, "old", foundBy(b, "old")+foundDocuments(b, "old"), "")
	want(b, "new definitions", foundDocuments(b, "nEW"), "channel shop, rule shop, window shop, calendar shop")
	want(b, "definitions by name", foundDocuments(b, "SHOP"), "channel shop, rule shop, hook shop, window shop, page shop, calendar shop")
	want(b, "new", foundBy(b, "new"), "task shop, monitor shop")
	want(b, "name", foundBy(b, "SHOP"), "task shop, schedule shop, monitor shop")
}

func caseATitleThatIsNotOneLineIsRefused(b *bench) {
	for _, bad := range []string{"a\nb", "pay\u202egpj", strings.Repeat("é", 101), "a\xff", strings.Repeat("é", 100)[:199]} {
		_, err := b.st.CreateTask(b.ctx, task.Task{Name: "a", Title: bad, Kind: task.KindFunc})
		refusedTitle(b, err)
		_, err = b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "a", Title: bad, Task: "a"})
		refusedTitle(b, err)
		_, err = b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "a", Title: bad, Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}})
		refusedTitle(b, err)
		_, err = b.st.SaveQueue(b.ctx, job.Queue{Name: "a", Title: bad})
		refusedTitle(b, err)
		_, err = b.st.SaveCalendar(b.ctx, schedule.Calendar{Name: "a", Title: bad})
		refusedTitle(b, err)
		_, err = b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "a", Title: bad})
		refusedTitle(b, err)
		_, err = b.st.SaveChannel(b.ctx, channelTitled("a", bad))
		refusedTitle(b, err)
		_, err = b.st.SaveAlertRule(b.ctx, alert.Rule{Name: "a", Title: bad, Channels: []string{"a"}})
		refusedTitle(b, err)
		_, err = b.st.SaveHook(b.ctx, hook.Hook{Name: "a", Title: bad, Pull: true})
		refusedTitle(b, err)
	}
	_, err := b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "a", Check: task.Task{Title: "x", HTTP: &task.HTTP{URL: "http://localhost/"}}})
	if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "check.title") {
		b.Errorf("check with a title: got %v, want an error of check.title", err)
	}
}

func refusedTitle(b *bench, err error) {
	b.Helper()
	if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "title") {
		b.Errorf("document with a bad title: got %v, want an error of title", err)
	}
}

func caseTitlesOfManyNamesAreRead(b *bench) {
	titled(b, "shop", "Магазин")
	titled(b, "plain", "")
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "other", Name: "shop", Title: "Other", Kind: task.KindFunc}))(b)
	t := must(b.st.Titles(b.ctx, view.Named{Tasks: []string{"shop", "plain", "shop", "none"}, Schedules: []string{"plain"}, Monitors: []string{"shop"}, Queues: []string{"shop", "plain"}}))(b)
	want(b, "titles", len(t), 3)
	want(b, "queue", t.Queue("shop"), "Магазин")
	want(b, "task", t.Task("shop"), "Магазин")
	want(b, "task of a monitor", t.Task("monitor:shop"), "Магазин")
	want(b, "schedule", t.Schedule("shop"), "")
	want(b, "task without", t.Task("plain"), "")
	must(b.st.SaveHook(b.ctx, hook.Hook{Namespace: "other", Name: "shop", Title: "Other", Pull: true}))(b)
	t = must(b.st.Titles(b.ctx, view.Named{Channels: []string{"shop", "plain"}, AlertRules: []string{"shop"}, Hooks: []string{"shop", "none"}}))(b)
	want(b, "titles of definitions", fmt.Sprint(t), "[{channel shop Магазин} {alert_rule shop Магазин} {hook shop Магазин}]")
	want(b, "channel, rule and hook", t.Channel("shop")+t.AlertRule("shop")+t.Hook("shop"), "МагазинМагазинМагазин")
	t = must(b.st.Titles(b.ctx, view.Named{Namespace: "other", Tasks: []string{"shop"}, Schedules: []string{"shop"}}))(b)
	want(b, "titles in the other namespace", fmt.Sprint(t), "[{task shop Other}]")
	if _, err := b.st.Titles(b.ctx, view.Named{Monitors: make([]string, view.MaxTitles+1)}); core.CodeOf(err) != core.Invalid {
		b.Errorf("query with too many names: got %v, want an error", err)
	}
}

func caseNotificationsHaveTitleAndName(b *bench) {
	told := alerts{b}
	told.channel("hook", func(r *alert.Rule) { r.Group = -1; r.On = alert.NotificationTypes; r.Remind = core.Duration(time.Hour) })
	b.task("t", func(t *task.Task) { t.Title, t.Retry.MaxAttempts = "Нощен архив", 1 })
	s := b.session("t")
	j := b.enqueue(job.NewJob{Task: "t"})
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	want(b, "job", strings.Join(told.deliver(view.DeliveryResult{}), ", "), fmt.Sprintf("Job %d of task Нощен архив (t) failed", j.ID))
	b.schedule("tick", "t", every(time.Minute), func(sc *schedule.Schedule) { sc.Title, sc.Catchup = "כל דקה", schedule.CatchupNone })
	b.clock.Move(time.Hour)
	b.fire()
	if titles := told.deliver(view.DeliveryResult{}); len(titles) != 1 || !strings.HasPrefix(titles[0], "Schedule כל דקה (tick) missed") {
		b.Errorf("messages: got %q, want 1 with the title of the schedule", titles)
	}
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "tick"))
	w := b.checker()
	b.monitor("site", func(m *monitor.Monitor) { m.Title = "Shop 🔥" })
	for w.look("site").Status != monitor.StatusDown {
		w.turn("site", failed)
	}
	message := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages[0]
	want(b, "monitor", message.Message.Title, "Shop 🔥 (site) is down")
	want(b, "display title", message.Message.Notifications[0].DisplayTitle, "Shop 🔥")
	want(b, "name", message.Message.Notifications[0].Monitor, "site")
	ok(b, b.st.SettleAlerts(b.ctx, message, view.DeliveryResult{}))
	want(b, "reminder", strings.Join(told.later(time.Hour), ", "), "Shop 🔥 (site) is still down")
}
