package task_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestRequirementsOfSizeNameMissingMemoryAndProcessors(t *testing.T) {
	t.Parallel()
	tk := task.Task{Name: "p", Kind: task.KindProgram, Program: &task.Program{
		Arch: "amd64", MinIsolation: task.IsolationUser, Limits: task.Limits{Memory: 2 << 30, CPU: 4},
	}}
	d := tk.Requirement()
	for _, c := range []struct {
		memory int64
		cpu    float64
		want   string
	}{
		{0, 0, "[]"}, // a worker without reported capacity
		{2 << 30, 4, "[]"},
		{1 << 30, 4, "[memory of 2 GiB for a program (it offers 1 GiB)]"},
		{4 << 30, 0.5, "[4 processors for a program (it offers 0.5)]"},
	} {
		h := task.Has{Arch: "amd64", Isolation: task.IsolationUser, Memory: c.memory, CPU: c.cpu}
		if got := fmt.Sprint(d.Unmet(h)); got != c.want {
			t.Errorf("%d bytes and %v processors: %s, want %s", c.memory, c.cpu, got, c.want)
		}
	}
	if got, want := d.String(), "arch:amd64 isolation:user memory:2147483648 cpu:4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A worker that runs no programs may have a sandbox, but require a stronger one.
func TestRequirementsOfIsolationNameTheMissingTier(t *testing.T) {
	t.Parallel()
	d := task.Requirement{Isolation: task.IsolationConfined}
	for has, want := range map[task.Isolation]string{
		"":                       "[isolation confined (it runs no programs, and its log says why)]",
		task.IsolationUser:       "[isolation confined (it has user)]",
		task.IsolationNamespaces: "[]",
	} {
		if got := fmt.Sprint(d.Unmet(task.Has{Isolation: has})); got != want {
			t.Errorf("%q: %s, want %s", has, got, want)
		}
	}
}

func TestLimitsAreToldAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	task := task.Task{Name: "p", Kind: task.KindProgram, Program: &task.Program{
		SHA256: fmt.Sprintf("%064d", 0), Size: 1, Limits: task.Limits{Memory: 1 << 20, Disk: -1},
	}}
	err := task.WithDefaults().Validate()
	var be *core.Error
	if !errors.As(err, &be) {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range be.Fields {
		got[f.Field] = f.Value + " " + f.Message
	}
	if got["program.limits.memory"] != "1 MiB is outside 4 MiB to 16 TiB" || got["program.limits.disk"] != "-1 B is outside 0 B to 16 TiB" {
		t.Errorf("%q", got)
	}
}
