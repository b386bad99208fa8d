package view

import (
	"errors"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// A trial equals a save: an edit keeps the secrets of the check only if they go to the
// same destination, and the server is verified at least as strictly.
func TestATrialKeepsSecretsAsASaveDoes(t *testing.T) {
	t.Parallel()
	own := task.Task{HTTP: &task.HTTP{URL: "https://a.example.com/x", SkipVerify: true, Auth: &task.HTTPAuth{Bearer: "hunter2"}}}
	edit := func(url string, change func(*task.HTTP)) *task.Task {
		h := task.HTTP{URL: url, SkipVerify: true, Auth: &task.HTTPAuth{Bearer: core.Redacted}}
		if change != nil {
			change(&h)
		}
		return &task.Task{HTTP: &h}
	}
	for name, c := range map[string]struct {
		check *task.Task
		fault string // the field; empty: it is tried with the secret
	}{
		"the same place":    {edit("https://a.example.com/y", nil), ""},
		"proved better":     {edit("https://a.example.com/x", func(h *task.HTTP) { h.SkipVerify = false }), ""},
		"another host":      {edit("https://b.example.com/x", nil), "check.http.auth.bearer"},
		"in the clear":      {edit("http://a.example.com/x", nil), "check.http.auth.bearer"},
		"through a proxy":   {edit("https://a.example.com/x", func(h *task.HTTP) { h.Proxy = "http://p.example.com" }), "check.http.auth.bearer"},
		"a command":         {&task.Task{Command: &task.Command{Argv: []string{"id"}}}, "check.kind"},
		"nothing to try":    {nil, "check"},
		"a check that errs": {&task.Task{TCP: &task.TCP{}}, "check.tcp.address"},
	} {
		trial := Trial{Namespace: "default", Check: c.check}
		got, err := trial.Task(own)
		var e *core.Error
		switch {
		case c.fault == "" && (err != nil || got.HTTP.Auth.Bearer != "hunter2"):
			t.Errorf("%s: %+v, %v", name, got.HTTP, err)
		case c.fault != "" && (!errors.As(err, &e) || len(e.Fields) == 0 || e.Fields[0].Field != c.fault):
			t.Errorf("%s: want a fault of %s, got %v", name, c.fault, err)
		}
	}
	if _, err := (Trial{Monitor: "m"}).Task(task.Task{Kind: task.KindCommand, Command: &task.Command{Argv: []string{"id"}}}); core.CodeOf(err) != core.Invalid {
		t.Errorf("a monitor's command was tried: %v", err)
	}
}
