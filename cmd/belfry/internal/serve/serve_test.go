package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestANodeWithoutWorkersSaysNothingOfCommands(t *testing.T) {
	t.Parallel()
	all := []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}
	for _, row := range []struct {
		config config.Config
		want   string
	}{
		{config.Config{Roles: all}, "refused; --allow-commands"},
		{config.Config{Roles: all, AllowCommands: true}, "allowed"},
		{config.Config{Roles: all[:2]}, ""},
		{config.Config{Roles: all[:2], AllowCommands: true}, ""},
	} {
		if got := commands(row.config); !strings.HasPrefix(got, row.want) || row.want == "" && got != "" {
			t.Errorf("%v, %v: %q, want %q", row.config.Roles, row.config.AllowCommands, got, row.want)
		}
	}
}

func TestTheNextCommandTalksToThisNode(t *testing.T) {
	t.Parallel()
	const here = "http://127.0.0.1:7420"
	for _, row := range []struct{ url, server, want string }{
		{here, "", ""},
		{"http://127.0.0.1:7421", "", " --server http://127.0.0.1:7421"},
		{here, "https://belfry.example.com", " --server " + here},
		{here, here + "/", ""},
		{"http://127.0.0.1:7421", "http://127.0.0.1:7421", ""},
		{"", "https://belfry.example.com", ""},
	} {
		l, err := config.Load(config.Input{File: "", Env: func(name string) string {
			return map[string]string{"BELFRY_SERVER": row.server}[name]
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := serverFlag(row.url, &l); got != row.want {
			t.Errorf("node at %q, BELFRY_SERVER %q: got %q, want %q", row.url, row.server, got, row.want)
		}
	}
}

// away is a database that refuses a number of calls.
type away struct {
	code  core.Code
	calls int
}

func (a *away) answer() error {
	if a.calls--; a.calls >= 0 {
		return core.Errorf(a.code, "the database cannot be reached")
	}
	return nil
}

func (a *away) Apply(context.Context, view.Manifest, view.ApplyOptions) (view.Applied, error) {
	return view.Applied{}, a.answer()
}

func (a *away) Tasks(context.Context, task.Filter) (core.Page[task.Task], error) {
	return core.Page[task.Task]{}, a.answer()
}

// A node that has started lives on when its database is away before the node is ready.
func TestAStartedNodeWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	defs := config.Definitions{Manifest: view.Manifest{Tasks: []task.Task{{Name: "hello"}}}}
	for _, row := range []struct {
		name  string
		db    away
		defs  config.Definitions
		want  core.Code
		waits bool
	}{
		{"no definitions", away{core.Unavailable, 3}, config.Definitions{}, "", false},
		{"away for some calls", away{core.Unavailable, 3}, defs, "", true},
		{"away for longer than the patience", away{core.Unavailable, 1000}, defs, core.Unavailable, true},
		{"definitions are refused", away{core.Invalid, 1000}, defs, core.Invalid, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				_, err := apply(t.Context(), &row.db, slog.New(slog.DiscardHandler), row.defs, "")
				if row.want == "" && err != nil || row.want != "" && core.CodeOf(err) != row.want {
					t.Errorf("apply: %v, want code %q", err, row.want)
				}
				took := time.Since(begun)
				if waited := took > 0; waited != row.waits || took > applyPatience+10*time.Second {
					t.Errorf("apply took %v", took)
				}
			})
		})
	}
	if !hasNoTasks(t.Context(), &away{}, "") {
		t.Error("an empty namespace has tasks")
	}
	if hasNoTasks(t.Context(), &away{core.Unavailable, 1}, "") {
		t.Error("a namespace that could not be read is said to be empty")
	}
}

// A stop ends the wait.
func TestAStopEndsTheWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		defs := config.Definitions{Manifest: view.Manifest{Tasks: []task.Task{{Name: "hello"}}}}
		begun := time.Now()
		_, err := apply(ctx, &away{core.Unavailable, 1000}, slog.New(slog.DiscardHandler), defs, "")
		if took := time.Since(begun); err == nil || errors.Is(err, context.Canceled) || took > 2*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
