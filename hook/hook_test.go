package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func good() Hook {
	return Hook{Name: "billing", URL: "https://hooks.example.com/a/s3cret", Secret: "s3cret-of-16-bytes", Headers: map[string]core.Secret{"X-Team": "s3cret"}}.WithDefaults()
}

func TestHooksAreChecked(t *testing.T) {
	t.Parallel()
	long := make([]string, MaxPatterns+1)
	for i := range long {
		long[i] = fmt.Sprint("a", i)
	}
	for _, row := range []struct {
		name  string
		edit  func(*Hook)
		field string // empty: it is good
		said  string
	}{
		{"good", func(*Hook) {}, "", ""},
		{"patterns", func(h *Hook) { h.On, h.Tasks = []string{"job.*", "cycle.failed"}, []string{"billing-*", "*"} }, "", ""},
		{"no types", func(h *Hook) { h.On = []string{} }, "on", "must name a type of event"},
		{"no name", func(h *Hook) { h.Name = "" }, "name", "is missing"},
		{"a title", func(h *Hook) { h.Title = "الفواتير" }, "", ""},
		{"a title with a space at its end", func(h *Hook) { h.Title = "Billing " }, "title", "must not begin or end with a space"},
		{"no URL", func(h *Hook) { h.URL = "" }, "url", "is missing"},
		{"a relative URL", func(h *Hook) { h.URL = "/x" }, "url", "not an absolute URL"},
		{"ftp", func(h *Hook) { h.URL = "ftp://x/y" }, "url", "neither http nor https"},
		{"no secret", func(h *Hook) { h.Secret = "" }, "secret", "is missing"},
		{"a short secret", func(h *Hook) { h.Secret = "s3cret" }, "secret", "must have at least 16 bytes"},
		{"our own header", func(h *Hook) { h.Headers["Belfry-Event"] = "x" }, "headers", "is reserved"},
		{"a type that is none", func(h *Hook) { h.On = []string{"job.dead"} }, "on[0]", "is not a type of event"},
		{"a pattern of no type", func(h *Hook) { h.On = []string{"jobs.*"} }, "on[0]", "is not a type of event"},
		{"a type twice", func(h *Hook) { h.On = []string{"job.*", "job.*"} }, "on[1]", "is named twice"},
		{"many types", func(h *Hook) { h.On = long }, "on", "more than 100"},
		{"a bad pattern", func(h *Hook) { h.Queues = []string{"a b"} }, "queues[0]", "neither a name nor a pattern"},
		{"a long pattern", func(h *Hook) { h.Tasks = []string{strings.Repeat("a", 201)} }, "tasks[0]", "neither a name nor a pattern"},
		{"many patterns", func(h *Hook) { h.Tasks = long }, "tasks", "more than 100"},
		{"a bad tag", func(h *Hook) { h.Tags = []string{"a b"} }, "tags", "is not a tag"},
		{"tasks of monitors", func(h *Hook) { h.Tasks, h.Monitors = []string{"a"}, []string{"b"} }, "on", "no event that the filters can match"},
		{"monitors and events of jobs", func(h *Hook) { h.On, h.Monitors = []string{"job.*"}, []string{"b"} }, "on", "no event that the filters can match"},
		{"tags of schedules", func(h *Hook) { h.On, h.Tags = []string{"schedule.*"}, []string{"b"} }, "on", "no event that the filters can match"},
	} {
		h := good()
		row.edit(&h)
		err := h.Validate(time.Time{})
		if row.field == "" {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		var e *core.Error
		if !errors.As(err, &e) || !slices.ContainsFunc(e.Fields, func(f core.FieldError) bool { return f.Field == row.field && strings.Contains(f.Message, row.said) }) {
			t.Errorf("%s: %v, want %s %s", row.name, err, row.field, row.said)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells a secret: %v", row.name, err)
		}
	}
}

func TestSecretsOfHooksStay(t *testing.T) {
	t.Parallel()
	h := good()
	shown := h.Redacted()
	if text, _ := json.Marshal(shown); strings.Contains(string(text), "s3cret") {
		t.Errorf("shown as %s", text)
	}
	if err := shown.Validate(time.Time{}); err != nil {
		t.Errorf("shown and saved again: %v", err)
	}
	if kept := shown.KeepSecrets(h); kept.URL != h.URL || kept.Secret != h.Secret || kept.Headers["X-Team"] != "s3cret" {
		t.Errorf("saved again it is %+v", kept)
	}
	shown.URL = "https://elsewhere.example/"
	if moved := shown.KeepSecrets(h); moved.Secret != core.Redacted || moved.CheckSecrets() == nil {
		t.Error("its secrets go to another host")
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		pattern, text string
		fits          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*b", "ab", true}, {"a*b", "a", false}, {"ab*b", "ab", false}, {"a*b*c", "a1b2c", true}, {"a*b*c", "acb", false}, {"*ab*ab", "xab", false}, {"**", "a", true},
	} {
		if got := fits(row.pattern, row.text); got != row.fits {
			t.Errorf("%q fits %q: %v", row.pattern, row.text, got)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	of := func(kind task.Kind, s job.State) Event {
		return OfJob(job.Job{ID: 7, Namespace: "default", Task: "billing-eu", Kind: kind, Queue: "slow", State: s, Schedule: "nightly", Tags: []string{"money"}}, at)
	}
	failed, flow, again := of(task.KindFunc, job.Failed), of(task.KindWorkflow, job.Succeeded), of(task.KindFunc, job.Scheduled)
	down, is := OfMonitor(alert.Notification{Type: alert.NotificationDown, Namespace: "default", Monitor: "shop", Tags: []string{"web"}}, at)
	if !is || down.Type != "monitor.down" || failed.Type != "job.failed" || flow.Type != "workflow.succeeded" || again.Type != JobRetrying {
		t.Fatal(down, failed, flow, again)
	}
	closed, is := OfMonitor(alert.Notification{Type: alert.NotificationClosed, Ends: alert.NotificationStale, Monitor: "shop"}, at)
	if !is || closed.Type != "monitor.closed" || closed.Monitor.Ends != alert.NotificationStale {
		t.Errorf("%v %+v", is, closed)
	}
	if _, is := OfMonitor(alert.Notification{Type: alert.NotificationReminder, Monitor: "shop"}, at); is {
		t.Error("a reminder is an event")
	}
	paused := OfSchedule(schedule.Schedule{Namespace: "default", Name: "nightly", Task: "billing-eu"}, SchedulePaused, at)
	for _, row := range []struct {
		name string
		hook Hook
		want []Event
	}{
		{"all", Hook{}, []Event{failed, flow, again, down, paused}},
		{"another namespace", Hook{Namespace: "other"}, nil},
		{"one type", Hook{On: []string{"job.failed"}}, []Event{failed}},
		{"jobs", Hook{On: []string{"job.*"}}, []Event{failed, again}},
		{"all that failed", Hook{On: []string{"*.failed", "monitor.down"}}, []Event{failed, down}},
		{"a task", Hook{Tasks: []string{"billing-*"}}, []Event{failed, flow, again, paused}},
		{"another task", Hook{Tasks: []string{"billing"}}, nil},
		{"a queue", Hook{Queues: []string{"slow"}}, []Event{failed, flow, again}},
		{"a schedule", Hook{Schedules: []string{"night*"}}, []Event{failed, flow, again, paused}},
		{"a monitor", Hook{Monitors: []string{"sh*p"}}, []Event{down}},
		{"a tag", Hook{Tags: []string{"web", "x"}}, []Event{down}},
		{"a task and a tag", Hook{On: []string{"job.*"}, Tasks: []string{"billing-eu"}, Tags: []string{"money"}}, []Event{failed, again}},
	} {
		var got []Event
		for _, e := range []Event{failed, flow, again, down, paused} {
			if row.hook.WithDefaults().Fits(e) {
				got = append(got, e)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

// What a hook gets is of a type that it says it can get.
func TestHookTypesIncludeEveryDeliveredEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string, from ...string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID[string]).Draw(t, label)
		}
		h := Hook{On: some("on", append([]string{"*", "job.*", "*.failed"}, Types...)...), Tasks: some("tasks", "a", "*"), Queues: some("queues", "a", "*"),
			Schedules: some("schedules", "a", "*"), Monitors: some("monitors", "a", "*"), Tags: some("tags", "a", "b")}.WithDefaults()
		var e Event
		switch rapid.SampledFrom(ofJobs).Draw(t, "noun") {
		case "job":
			e = OfJob(job.Job{Namespace: "default", Task: "a", Queue: "a", Schedule: "a", Kind: rapid.SampledFrom([]task.Kind{task.KindFunc, task.KindCycle}).Draw(t, "kind"), State: rapid.SampledFrom(finalStates).Draw(t, "state"), Tags: []string{"a"}}, time.Time{})
		case "cycle":
			e = OfSchedule(schedule.Schedule{Namespace: "default", Name: "a", Task: "a"}, ScheduleMissed, time.Time{})
		default:
			e, _ = OfMonitor(alert.Notification{Type: rapid.SampledFrom(notified).Draw(t, "type"), Namespace: "default", Monitor: "a", Tags: []string{"a"}}, time.Time{})
		}
		if h.Fits(e) && !slices.Contains(h.Types(), e.Type) {
			t.Fatalf("%+v gets %s and says %v", h, e.Type, h.Types())
		}
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	h := good()
	h.ID = 5
	events := []Event{{ID: 1, Type: "job.failed", Namespace: "default", Job: &Job{Error: "<b>&"}}, {ID: 2, Type: "job.failed"}}
	m := Message(h, events)
	var p Payload
	if err := json.Unmarshal(m.Body, &p); err != nil || p.Delivery != m.Key || len(p.Events) != 2 || p.Events[0].Job.Error != "<b>&" || p.Hook != "billing" || m.Title != "job.failed" {
		t.Fatalf("%s: %v", m.Body, err)
	}
	if strings.Contains(string(m.Body), "s3cret") {
		t.Errorf("it tells a secret: %s", m.Body)
	}
	if Message(h, events).Key != m.Key || Message(h, events[:1]).Key == m.Key {
		t.Error("the key is not of its events")
	}
	restored := slices.Clone(events)
	restored[1].At = restored[1].At.Add(time.Microsecond)
	if Message(h, restored).Key == m.Key {
		t.Error("an event that got the id of another after a restore has its key")
	}
	events[1].Type = "job.canceled"
	if got := Message(h, events).Title; got != "mixed" {
		t.Errorf("its title is %q", got)
	}
}

func TestReplaysAreChecked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []Replay{{}, {Since: now}, {Until: now}, {Since: now, Until: now.Add(1), Type: "job.*"}, {ID: 7}} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, r := range []Replay{{Since: now, Until: now}, {Type: "jobs"}, {ID: -1}} {
		if r.Validate() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	if got := Matching("cycle.*"); len(got) != 4 {
		t.Errorf("cycle.* are %v", got)
	}
}
