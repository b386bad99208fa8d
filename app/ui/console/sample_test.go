package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// The sample runs on each node, whether it lets commands run or not, and leaves with what it brought.
func TestASampleIsLoadedAndRemoved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		commands  bool
		schedules int
		task      string // whose job succeeds
	}{
		{"with commands", true, 3, "sample-unlucky"},
		{"without", false, 1, task.CanaryTask},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t, func(c *config.Config) {
				c.Roles, c.AllowCommands = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, test.commands
			})
			mine := must(s.CreateTask(t.Context(), task.Task{Name: "mine", Kind: task.KindFunc}))(s)
			v := s.visitor(s.admin)
			if _, body := v.get("/?namespace=team"); !strings.Contains(body, "Load a sample") {
				t.Errorf("an empty Home offers no sample: %s", body)
			}
			if _, body := v.get("/tour"); !strings.Contains(body, "Load the sample") {
				t.Errorf("the tour does not offer its sample: %s", body)
			}
			if status, body := v.post("/-sample"); status != 200 || !strings.Contains(body, "The sample is loaded") || !strings.Contains(body, "Remove the sample") {
				t.Fatalf("%d %s", status, body)
			}
			if _, body := v.get("/tour"); !strings.Contains(body, "which is loaded") || strings.Contains(body, "Load the sample") {
				t.Errorf("the tour does not say that its sample is loaded: %s", body)
			}
			got := must(s.Schedules(t.Context(), schedule.Filter{Namespace: "default"}))(s)
			if len(got.Items) != test.schedules {
				t.Errorf("%d schedules, want %d", len(got.Items), test.schedules)
			}
			for cursor := ""; ; {
				done := must(s.Jobs(t.Context(), job.Filter{Task: test.task, States: []job.State{job.Succeeded}}))(s)
				if len(done.Items) > 0 {
					if want := test.task == "sample-unlucky"; want != (done.Items[0].Attempt > 1) {
						t.Errorf("it took %d attempts", done.Items[0].Attempt)
					}
					break
				}
				var err error
				if _, cursor, err = s.Events(t.Context(), "default", cursor, 5*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if status, body := v.post("/-sample/remove"); status != 200 || !strings.Contains(body, "The sample is removed") || strings.Contains(body, "Remove the sample") {
				t.Fatalf("%d %s", status, body)
			}
			if left := must(s.Schedules(t.Context(), schedule.Filter{Namespace: "default"}))(s); len(left.Items) != 0 {
				t.Errorf("schedules are left: %v", left.Items)
			}
			if left := must(s.Monitors(t.Context(), view.MonitorFilter{}))(s); len(left.Items) != 0 {
				t.Errorf("monitors are left: %v", left.Items)
			}
			tasks := must(s.Tasks(t.Context(), task.Filter{Namespace: "default"}))(s)
			for _, left := range tasks.Items {
				if left.Name != mine.Name && left.Name != task.CanaryTask {
					t.Errorf("task %s is left", left.Name)
				}
			}
			if status, body := v.post("/-sample/remove"); status != 200 || !strings.Contains(body, "There is no sample.") {
				t.Errorf("removed a second time: %d %s", status, body)
			}
			reader, _ := s.token("reader", "default", access.ScopeRead)
			if status, _ := s.visitor(reader).post("/-sample"); status != 403 {
				t.Errorf("a reader loads it: %d", status)
			}
		})
	}
}

// Definitions of other people may have the names of the sample. They are neither written over nor removed with it.
func TestASampleLeavesOthersDefinitionsAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	mine := must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "sample-backup", Description: "mine", Every: core.Duration(time.Hour), Heartbeat: &monitor.Heartbeat{}}))(s)
	if status, body := v.post("/-sample"); status != 409 || !strings.Contains(body, "sample-backup") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := v.post("/-sample/remove"); status != 200 || !strings.Contains(body, "There is no sample.") {
		t.Errorf("%d %s", status, body)
	}
	if got := must(s.Monitor(t.Context(), "default", "sample-backup"))(s); got.Description != mine.Description {
		t.Errorf("it says %q", got.Description)
	}
	if left := must(s.Schedules(t.Context(), schedule.Filter{Namespace: "default"}))(s); len(left.Items) != 0 {
		t.Errorf("schedules were made: %v", left.Items)
	}
}
