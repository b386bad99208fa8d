package console_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A sequence that a failed job stopped goes on from the page of its task.
func TestAStoppedSequenceIsResumed(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) {
		c.Roles, c.AllowCommands = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, true
	})
	must(s.CreateTask(t.Context(), task.Task{
		Name: "ship", Command: &task.Command{Shell: "grep -q ok"}, Retry: task.Retry{MaxAttempts: 1}, Sequence: &flow.Sequence{Key: "input.customer"},
	}))(s)
	var ids []int64
	for _, text := range []string{"bad", "ok"} {
		in, _ := json.Marshal(map[string]string{"customer": "Ann & Bob", "text": text})
		ids = append(ids, must(s.Enqueue(t.Context(), []job.NewJob{{Task: "ship", Input: in}}))(s)[0].Job.ID)
	}
	ends := func(id int64, state job.State) {
		t.Helper()
		for cursor := ""; ; {
			if j := must(s.Job(t.Context(), "default", id))(s); j.State.Final() {
				if j.State != state {
					t.Fatalf("job %d is %s, not %s", id, j.State, state)
				}
				return
			}
			var err error
			if _, cursor, err = s.Events(t.Context(), "default", cursor, time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	ends(ids[0], job.Failed)
	b := s.at("/tasks/ship")
	b.Shows("Ann & Bob", "job "+numberText(ids[0]))
	b.Axe()
	opens(b, "resume-0")
	s.sends(b, "#resume-0 button.main", "The sequence of task ship goes on.")
	ends(ids[1], job.Succeeded)
	b.Quiet(s.url)
	reader, _ := s.token("reader", "default", "read")
	if status, _ := s.visitor(reader).post("/tasks/ship/resume", "key", "Ann & Bob"); status != 403 {
		t.Errorf("a reader resumes it: %d", status)
	}
}
