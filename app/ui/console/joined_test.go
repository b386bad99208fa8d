package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Who asks for a job and gets another's is told so, wherever it is asked for.
func TestRequestsThatJoinAreTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	wait := &flow.Debounce{Window: core.Duration(time.Hour)}
	must(s.CreateTask(ctx, task.Task{Name: "shell", Command: &task.Command{Shell: "true"}, Debounce: wait}))(s)
	must(s.CreateTask(ctx, task.Task{Name: "program", Program: &task.Program{SHA256: digest([]byte("x")), Size: 1}, Debounce: wait}))(s)
	of := map[string]int64{}
	for _, name := range []string{"shell", "program"} {
		of[name] = must(s.Enqueue(ctx, []job.NewJob{{Task: name}}))(s)[0].Job.ID
	}
	v := s.visitor(s.admin)
	_, page := v.get("/tasks/shell/edit")
	for name, ask := range map[string]struct {
		path string
		form []string
		of   string
	}{
		"again":   {fmt.Sprintf("/jobs/%d/again", of["shell"]), nil, "shell"},
		"new":     {"/jobs/-new", []string{"task", "shell", "do", "save"}, "shell"},
		"task":    {"/tasks/shell/edit", append(formAt(t, page, "/tasks/shell/edit"), "do", "run"), "shell"},
		"program": {"/programs/program/run", nil, "program"},
	} {
		status, body := v.post(ask.path, ask.form...)
		if says := fmt.Sprintf("The request joined job %d, which waits for the window of the debounce.", of[ask.of]); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %d, and it does not say %q", name, status, says)
		}
	}
}
