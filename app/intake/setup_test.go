package intake_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// now is a Saturday.
var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// crontab reads a file that must be readable as a whole.
func crontab(t *testing.T, text string, o intake.Options) intake.Result {
	t.Helper()
	o.Now = now
	r, err := intake.Crontab(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, r, o.Namespace)
	return r
}

func cronJobs(t *testing.T, text string, o intake.Options) intake.Result {
	t.Helper()
	o.Now = now
	r, err := intake.CronJobs(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, r, o.Namespace)
	return r
}

// sound checks what is true of every result.
func sound(t *testing.T, r intake.Result, namespace string) {
	t.Helper()
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	m := r.Manifest.WithDefaults(namespace)
	if err := m.Validate(); err != nil {
		t.Errorf("the manifest is not valid: %v", err)
	}
	tasks, schedules := map[string]bool{}, map[string]schedule.Schedule{}
	for _, task := range m.Tasks {
		tasks[task.Name] = true
	}
	for _, s := range m.Schedules {
		schedules[s.Name] = s
		if !tasks[s.Task] {
			t.Errorf("schedule %s has no task %s", s.Name, s.Task)
		}
	}
	good, number := 0, 0
	for _, l := range r.Lines {
		if l.Number < 1 {
			t.Errorf("line %+v has no number", l)
		}
		number = max(number, l.Number)
		if l.Err != nil {
			if l.Err.Message == "" || !strings.HasPrefix(l.Err.Field, "line ") || l.Schedule != "" || l.Task != "" || l.Column < 1 {
				t.Errorf("line %d: an odd fault %+v", l.Number, l)
			}
			continue
		}
		good++
		s, ok := schedules[l.Schedule]
		if !ok || s.Task != l.Task {
			t.Errorf("line %d: %q and %q are not in the manifest", l.Number, l.Schedule, l.Task)
			continue
		}
		if l.Means == "" {
			t.Errorf("line %d says nothing", l.Number)
		}
		if plan, err := s.Plan(); err != nil || len(s.Rules) > 0 && !slices.EqualFunc(s.Upcoming(plan, now, 3), l.Next, time.Time.Equal) {
			t.Errorf("line %d: next are %v, not those of the schedule (%v)", l.Number, l.Next, err)
		}
	}
	if good != len(m.Schedules) {
		t.Errorf("%d good lines and %d schedules", good, len(m.Schedules))
	}
	if err := r.Err(); (err == nil) != (good == len(r.Lines)) {
		t.Errorf("%d of %d lines are good, and the error is %v", good, len(r.Lines), err)
	}
}

// stable checks that a manifest survives a file, and that applying it and
// what was exported of it again changes nothing.
func stable(t *testing.T, m view.Manifest) {
	t.Helper()
	var b bytes.Buffer
	if err := config.WriteYAML(&b, m); err != nil {
		t.Fatal(err)
	}
	back, err := config.ParseManifest([]config.Source{{Name: "m.yaml", Text: b.Bytes()}}, "default")
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, b.String())
	}
	same(t, "read again", back.WithDefaults("default"), m.WithDefaults("default"))

	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "b.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	changes := func(m view.Manifest, want view.Action) {
		t.Helper()
		done, err := st.Apply(t.Context(), m, view.ApplyOptions{Namespace: "default", Prune: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range done.Changes {
			if c.Action != want {
				t.Errorf("%s %s %s: %v", c.Action, c.Noun, c.Name, c.Fields)
			}
		}
	}
	changes(m, view.ActionCreate)
	changes(m, view.ActionKeep)
	exported, err := st.Export(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	exported.Queues = nil // the default one is there by itself
	changes(exported, view.ActionKeep)
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got, "", " ")
		w, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// line is the entry at a line of the file.
func line(t *testing.T, r intake.Result, number int) intake.Line {
	t.Helper()
	for _, l := range r.Lines {
		if l.Number == number {
			return l
		}
	}
	t.Fatalf("nothing at line %d", number)
	return intake.Line{}
}

func taskOf(t *testing.T, r intake.Result, name string) task.Task {
	t.Helper()
	for _, task := range r.Manifest.Tasks {
		if task.Name == name {
			return task
		}
	}
	t.Fatalf("no task %q", name)
	return task.Task{}
}

func scheduleOf(t *testing.T, r intake.Result, name string) schedule.Schedule {
	t.Helper()
	for _, s := range r.Manifest.Schedules {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no schedule %q", name)
	return schedule.Schedule{}
}
