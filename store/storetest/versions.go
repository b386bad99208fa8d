package storetest

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// editor edits one definition: save writes a description and returns the version.
type editor struct {
	save   func(ctx context.Context, description string) (string, error)
	remove func(ctx context.Context) error
}

func versionOf[T interface{ Version() string }](v T, err error) (string, error) {
	return v.Version(), err
}

// editors returns an editor for an existing object of each noun that people edit.
func (b *bench) editors() map[string]editor {
	b.Helper()
	hourly := []schedule.Rule{{Cron: "0 * * * *"}}
	must(b.st.CreateTask(b.ctx, task.Task{Name: "task"}))(b)
	must(b.st.CreateTask(b.ctx, task.Task{Name: "scheduled"}))(b)
	must(b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "schedule", Task: "scheduled", Rules: hourly}))(b)
	check := task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}
	must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "monitor", Check: check}))(b)
	must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "heartbeat", Heartbeat: &monitor.Heartbeat{}, Every: core.Duration(time.Minute)}))(b)
	must(b.st.SaveChannel(b.ctx, alert.Channel{Name: "told", Webhook: &alert.WebhookChannel{URL: "https://example.org/"}}))(b)
	st, ns := b.st, "default"
	return map[string]editor{
		"task": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.UpdateTask(ctx, task.Task{Name: "task", Description: d}))
		}, func(ctx context.Context) error { return st.DeleteTask(ctx, ns, "task") }},
		"schedule": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.UpdateSchedule(ctx, schedule.Schedule{Name: "schedule", Task: "scheduled", Rules: hourly, Description: d}))
		}, func(ctx context.Context) error { return st.DeleteSchedule(ctx, ns, "schedule") }},
		"monitor": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.UpdateMonitor(ctx, monitor.Monitor{Name: "monitor", Check: check, Description: d}))
		}, func(ctx context.Context) error { return st.DeleteMonitor(ctx, ns, "monitor") }},
		"heartbeat": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.UpdateMonitor(ctx, monitor.Monitor{Name: "heartbeat", Heartbeat: &monitor.Heartbeat{}, Every: core.Duration(time.Minute), Description: d}))
		}, func(ctx context.Context) error { return st.DeleteMonitor(ctx, ns, "heartbeat") }},
		"calendar": {func(ctx context.Context, d string) (string, error) {
			cal := closes("calendar", "SAT-SUN")
			cal.Description = d
			return versionOf(st.SaveCalendar(ctx, cal))
		}, func(ctx context.Context) error { return st.DeleteCalendar(ctx, ns, "calendar") }},
		"channel": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.SaveChannel(ctx, alert.Channel{Name: "channel", Description: d, Webhook: &alert.WebhookChannel{URL: "https://example.org/"}}))
		}, func(ctx context.Context) error { return st.DeleteChannel(ctx, ns, "channel") }},
		"queue": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.SaveQueue(ctx, job.Queue{Name: "queue", Description: d}))
		}, func(ctx context.Context) error { return st.DeleteQueue(ctx, "queue") }},
		"alert rule": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.SaveAlertRule(ctx, alert.Rule{Name: "rule", Description: d, Channels: []string{"told"}}))
		}, func(ctx context.Context) error { return st.DeleteAlertRule(ctx, ns, "rule") }},
		"window": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.SaveWindow(ctx, monitor.Window{Name: "window", Description: d, From: Epoch.Add(time.Hour), To: Epoch.Add(2 * time.Hour)}))
		}, func(ctx context.Context) error { return st.DeleteWindow(ctx, ns, "window") }},
		"namespace": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.SaveNamespace(ctx, access.Namespace{Name: "limited", MaxPriority: new(len(d))}))
		}, func(ctx context.Context) error {
			_, err := st.SaveNamespace(ctx, access.Namespace{Name: "limited"})
			return err
		}},
		"status page": {func(ctx context.Context, d string) (string, error) {
			return versionOf(st.SaveStatusPage(ctx, public.StatusPage{Name: "page", Description: d}))
		}, func(ctx context.Context) error { return st.DeleteStatusPage(ctx, ns, "page") }},
	}
}

func init() {
	add("of two edits of the same version of a definition, the second is refused, for each noun", caseOfTwoWhoEditTheSameVersionOfA)
}

func caseOfTwoWhoEditTheSameVersionOfA(b *bench) {
	for noun, e := range b.editors() {
		b.clock.Move(time.Second)
		first := must(e.save(b.ctx, "first"))(b)
		b.clock.Move(time.Second)
		of := core.WithVersion(b.ctx, first)
		second := must(e.save(of, "second"))(b)
		if second == first {
			b.Errorf("%s: an edit leaves version %s unchanged", noun, first)
		}
		b.clock.Move(12 * time.Second)
		_, err := e.save(of, "lost")
		wantCode(b, err, core.Conflict, "was changed 12s ago", first, second)
		want(b, noun+": the same edit again", must(e.save(of, "second"))(b), second)
		wantCode(b, e.remove(of), core.Conflict, "was changed", second)
		ok(b, e.remove(core.WithVersion(b.ctx, second)))
		if _, err := e.save(core.WithVersion(b.ctx, second), "gone"); err == nil {
			b.Errorf("%s: an edit recreates a deleted object", noun)
		}
	}
}
