package console_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// The audit does not lead to what was deleted, and the page that was of it says who deleted it.
func TestDeletedThingsAreExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	for _, name := range []string{"gone", "back", "there"} {
		must(s.CreateTask(ctx, task.Task{Name: name, Command: &task.Command{Shell: "true"}}))(s)
	}
	must(s.CreateSchedule(ctx, schedule.Schedule{Name: "nightly", Task: "there", Rules: []schedule.Rule{{Cron: "0 0 * * *"}}}))(s)
	must(s.SaveChannel(ctx, alert.Channel{Name: "team", Webhook: &alert.WebhookChannel{URL: "https://hooks.example/s3cret"}}))(s)
	must(s.CreateTask(ctx, task.Task{Name: "round", Cycle: &task.Cycle{Members: []task.Member{{Task: "there"}}}}))(s)
	must(s.SaveQueue(ctx, job.Queue{Name: "slow"}))(s)
	for _, err := range []error{s.DeleteTask(ctx, "default", "round"), s.DeleteQueue(ctx, "slow"), s.DeleteTask(ctx, "default", "gone"), s.DeleteTask(ctx, "default", "back"), s.DeleteSchedule(ctx, "default", "nightly"), s.DeleteChannel(ctx, "default", "team")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.CreateTask(ctx, task.Task{Name: "back", Command: &task.Command{Shell: "true"}}))(s)

	v := s.visitor(s.admin)
	_, body := v.get("/audit")
	for path, links := range map[string]int{"/tasks/gone": 0, "/schedules/nightly": 0, "/settings/channels/team": 0, "/tasks/round": 0, "/cycles/round": 0, "/queues/slow": 0, "/tasks/back": 3, "/tasks/there": 1} {
		if n := strings.Count(body, `href="`+path+`"`); n != links {
			t.Errorf("%d links to %s, want %d", n, path, links)
		}
	}
	for path, noun := range map[string]string{"/tasks/gone": "Task", "/tasks/gone/edit": "Task", "/schedules/nightly": "Schedule", "/settings/channels/team": "Channel",
		"/cycles/round": "Cycle", "/cycles/round/edit": "Cycle", "/queues/slow": "Queue", "/queues/slow/edit": "Queue"} {
		name := strings.Split(strings.TrimSuffix(path, "/edit"), "/")
		status, body := v.get(path)
		if says := noun + ` &#34;` + name[len(name)-1] + `&#34; was deleted`; status != 404 || !strings.Contains(body, says) || !strings.Contains(body, "/audit?") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, never := range []string{"/tasks/never", "/cycles/never", "/queues/never"} {
		if status, body := v.get(never); status != 404 || strings.Contains(body, "was deleted") {
			t.Errorf("%s: %d %s", never, status, body)
		}
	}
	secret, _ := s.token("other", "other", access.ScopeAdmin)
	if status, body := s.visitor(secret).get("/tasks/gone"); status != 404 || strings.Contains(body, "was deleted") {
		t.Errorf("another namespace is told: %d %s", status, body)
	}
}
