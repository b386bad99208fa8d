//go:build linux

package database_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/benchtest"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

func grown(before, after map[string]int64) string {
	var text strings.Builder
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if n := after[table] - before[table]; n != 0 {
			fmt.Fprintf(&text, "%s+%d ", table, n)
		}
	}
	return text.String()
}

func TestACopiedScheduleIsLikeItsModelAndFires(t *testing.T) {
	benchtest.OnBoth(t, func(t *testing.T, s *database.Site) {
		ctx, st := t.Context(), benchtest.Open(t, s)
		if _, err := st.CreateTask(ctx, task.Task{Name: database.Noop, Kind: task.KindFunc}); err != nil {
			t.Fatal(err)
		}
		before := benchtest.Rows(t, s, st)
		at := time.Now().Add(200 * time.Millisecond).UTC()
		for _, name := range []string{"due-a", "due-b"} {
			if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: name, Task: database.Noop, Rules: []schedule.Rule{{Cron: "0 3 * * *"}, {At: []time.Time{at}}}}); err != nil {
				t.Fatal(err)
			}
		}
		made := benchtest.Rows(t, s, st)
		const copies = 3
		if err := s.CloneSchedules(ctx, st, "due-", copies); err != nil {
			t.Fatal(err)
		}
		if real, copied := grown(before, made), grown(made, benchtest.Rows(t, s, st)); real != "schedules+2 " || copied != "schedules+6 " {
			t.Errorf("rows of six copied schedules: got %[2]q, want those of schedules of the API, %[1]q", real, copied)
		}
		ids := map[int64]bool{}
		for _, model := range []string{"due-a", "due-b"} {
			want := look(t, st, model)
			ids[want.ID] = true
			for n := 1; n <= copies; n++ {
				name := fmt.Sprintf("%s-%d", model, n)
				got := look(t, st, name)
				if ids[got.ID] {
					t.Errorf("id of %s: got that of another schedule", name)
				}
				ids[got.ID] = true
				got.ID, got.Name = want.ID, want.Name
				if g, w := asJSON(t, got), asJSON(t, want); g != w {
					t.Errorf("copy %s: got\n%s\nwant the values of its model\n%s", name, g, w)
				}
			}
		}
		process.Pause(ctx, time.Until(at.Add(time.Millisecond)))
		fired, err := st.FireDue(ctx)
		if err != nil || fired.Jobs != 2+2*copies {
			t.Fatalf("%d jobs were made of %d schedules, %v", fired.Jobs, 2+2*copies, err)
		}
		if w, err := rates.Burn(ctx, s, st, fired.Jobs, node.Tuning{}); err != nil || w.Jobs != fired.Jobs {
			t.Errorf("jobs that ran: got %d, error %v", w.Jobs, err)
		}
		fresh, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "after", Task: database.Noop})
		if err != nil || ids[fresh.ID] {
			t.Errorf("id of the next schedule: got %d, the id of a copy, error %v", fresh.ID, err)
		}
	})
}

func look(t *testing.T, st *store.Store, name string) schedule.Schedule {
	t.Helper()
	sc, err := st.Schedule(t.Context(), core.DefaultNamespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestACopiedFinishedJobIsLikeARealOne(t *testing.T) {
	benchtest.OnBoth(t, func(t *testing.T, s *database.Site) {
		ctx, st := t.Context(), benchtest.Open(t, s)
		empty := benchtest.Rows(t, s, st)
		if err := rates.Samples(ctx, st); err != nil {
			t.Fatal(err)
		}
		sampled := benchtest.Rows(t, s, st)
		models := finished(t, st)
		if len(models) != 20 {
			t.Fatalf("samples: got %d", len(models))
		}
		const copies, span = 3, 48 * time.Hour
		if err := s.CloneHistory(ctx, st, copies*len(models), span); err != nil {
			t.Fatal(err)
		}
		real, copied := times(grown(empty, sampled), copies), grown(sampled, benchtest.Rows(t, s, st))
		real = strings.ReplaceAll(real, fmt.Sprintf("schedules+%d ", 4*copies), "")
		if real = ofTheClock.ReplaceAllString(real, ""); real != copied {
			t.Errorf("rows of copied jobs: got %[2]q, want those of real jobs, %[1]q", real, copied)
		}
		all := finished(t, st)
		if len(all) != (1+copies)*len(models) {
			t.Fatalf("finished jobs: got %d", len(all))
		}
		var last time.Time
		for i, got := range all[len(models):] {
			model := models[i%len(models)]
			shift := got.FinishedAt.Sub(model.FinishedAt)
			if shift >= 0 || shift < -span-time.Minute || got.FinishedAt.Before(last) {
				t.Errorf("job %d ended %s after its model, and one before it at %s", got.ID, shift, last)
			}
			last = got.FinishedAt
			if g, w := told(t, st, got, 0), told(t, st, model, shift); g != w {
				t.Errorf("job %d is\n%s\nand its model %d, moved by %s,\n%s", got.ID, g, model.ID, shift, w)
			}
		}
		if more, err := st.DB().Prune(ctx, database.KeepAll); more || err != nil {
			t.Error(more, err)
		}
		if got := finished(t, st); len(got) != len(all) {
			t.Errorf("jobs after retention: got %d of %d", len(got), len(all))
		}
		next, err := st.Enqueue(ctx, database.NewJobs(1))
		if err != nil || next[0].Job.ID <= all[len(all)-1].ID {
			t.Errorf("id of the next job: got %d, the id of a copy, error %v", next[0].Job.ID, err)
		}
	})
}

// ofTheClock are rows that a node adds as time passes, which a slow machine has more of.
var ofTheClock = regexp.MustCompile(`(queue_samples|sampled)\+[0-9]+ `)

// finished lists jobs by id.
func finished(t *testing.T, st *store.Store) []job.Job {
	t.Helper()
	p, err := st.Jobs(t.Context(), job.Filter{Paging: core.Paging{Limit: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(p.Items)
	return p.Items
}

// told returns the answers of the API about a job without its id, with every time moved.
func told(t *testing.T, st *store.Store, j job.Job, by time.Duration) string {
	t.Helper()
	attempts, err := st.Attempts(t.Context(), core.DefaultNamespace, j.ID)
	if err != nil || len(attempts) == 0 {
		t.Fatalf("attempts of job %d: %v, %v", j.ID, attempts, err)
	}
	var text strings.Builder
	for _, v := range append([]any{j}, anyOf(attempts)...) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(asJSON(t, v)), &fields); err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			if name == "id" || name == "job_id" {
				delete(fields, name)
			}
			said, _ := value.(string)
			if at, err := time.Parse(time.RFC3339Nano, said); err == nil {
				fields[name] = at.Add(by)
			}
		}
		text.WriteString(asJSON(t, fields) + "\n")
	}
	return text.String()
}

func anyOf[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// times multiplies every number in a text of grown.
func times(text string, by int64) string {
	before, after := map[string]int64{}, map[string]int64{}
	for field := range strings.FieldsSeq(text) {
		var n int64
		table, count, _ := strings.Cut(field, "+")
		_, _ = fmt.Sscan(count, &n)
		after[table] = n * by
	}
	return grown(before, after)
}
