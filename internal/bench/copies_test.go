//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

var shared struct {
	once sync.Once
	db   *Database
	err  error
}

func TestMain(m *testing.M) {
	Child()
	code := m.Run()
	if shared.db != nil {
		if err := shared.db.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// onBoth runs a test on a fresh database of each kind. They share one connection, so they take turns.
func onBoth(t *testing.T, fn func(t *testing.T, s *Site)) {
	t.Helper()
	shared.once.Do(func() { shared.db, shared.err = StartPostgres(context.Background(), "PostgreSQL", false) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	for _, d := range []*Database{SQLite("SQLite", t.TempDir(), "NORMAL"), shared.db} {
		t.Run(d.Name, func(t *testing.T) {
			s, err := d.NewSite(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			fn(t, s)
		})
	}
}

func open(t *testing.T, s *Site) *store.Store {
	t.Helper()
	st, err := s.Open(t.Context(), store.Options{Keep: keepAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// rows counts the rows of every table but those that tell of something else than a schedule or a finished job.
func rows(t *testing.T, s *Site, st *store.Store) map[string]int64 {
	t.Helper()
	query := "select name from sqlite_master where type = 'table' and name like 'belfry\\_%' escape '\\'"
	if s.Postgres() {
		query = "select relname::text from pg_class where relnamespace = 'belfry'::regnamespace and relkind in ('r', 'p') and not relispartition"
	}
	counts := map[string]int64{}
	err := st.DB().Read(t.Context(), func(tx base.Tx) error {
		names, err := tx.Query(t.Context(), query)
		if err != nil {
			return err
		}
		defer names.Close()
		var tables []string
		for names.Next() {
			var name string
			if err := names.Scan(&name); err != nil {
				return err
			}
			tables = append(tables, strings.TrimPrefix(name, "belfry_"))
		}
		for _, table := range tables {
			if slices.Contains([]string{"audit", "sessions", "tasks", "queues", "sequences", "migrations"}, table) {
				continue
			}
			n, err := number(t.Context(), tx, "select count(*) from belfry."+table)
			if err != nil {
				return err
			}
			counts[table] = n
		}
		return names.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

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
	onBoth(t, func(t *testing.T, s *Site) {
		ctx, st := t.Context(), open(t, s)
		if _, err := st.CreateTask(ctx, task.Task{Name: noop, Kind: task.KindFunc}); err != nil {
			t.Fatal(err)
		}
		before := rows(t, s, st)
		at := time.Now().Add(200 * time.Millisecond).UTC()
		for _, name := range []string{"due-a", "due-b"} {
			if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: name, Task: noop, Rules: []schedule.Rule{{Cron: "0 3 * * *"}, {At: []time.Time{at}}}}); err != nil {
				t.Fatal(err)
			}
		}
		made := rows(t, s, st)
		const copies = 3
		if err := s.CloneSchedules(ctx, st, "due-", copies); err != nil {
			t.Fatal(err)
		}
		if real, copied := grown(before, made), grown(made, rows(t, s, st)); real != "schedules+2 " || copied != "schedules+6 " {
			t.Errorf("two schedules of the API leave %q, six copies %q", real, copied)
		}
		ids := map[int64]bool{}
		for _, model := range []string{"due-a", "due-b"} {
			want := look(t, st, model)
			ids[want.ID] = true
			for n := 1; n <= copies; n++ {
				name := fmt.Sprintf("%s-%d", model, n)
				got := look(t, st, name)
				if ids[got.ID] {
					t.Errorf("%s has the id of another", name)
				}
				ids[got.ID] = true
				got.ID, got.Name = want.ID, want.Name
				if g, w := asJSON(t, got), asJSON(t, want); g != w {
					t.Errorf("%s is\n%s\nand its model\n%s", name, g, w)
				}
			}
		}
		pause(ctx, time.Until(at.Add(time.Millisecond)))
		fired, err := st.FireDue(ctx)
		if err != nil || fired.Jobs != 2+2*copies {
			t.Fatalf("%d jobs were made of %d schedules, %v", fired.Jobs, 2+2*copies, err)
		}
		if w, err := Burn(ctx, s, st, fired.Jobs, Tuning{}); err != nil || w.Jobs != fired.Jobs {
			t.Errorf("%d of them ran, %v", w.Jobs, err)
		}
		fresh, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "after", Task: noop})
		if err != nil || ids[fresh.ID] {
			t.Errorf("the next schedule has the id %d of a copy, %v", fresh.ID, err)
		}
	})
}

func TestIdleSchedulesAreAsManyAsAsked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Site) {
		st := open(t, s)
		if err := Idle(t.Context(), s, st, 3000); err != nil {
			t.Fatal(err)
		}
		if n := rows(t, s, st)["schedules"]; n != 3000 {
			t.Errorf("%d schedules", n)
		}
		fired, err := st.FireDue(t.Context())
		if err != nil || fired.Schedules != 0 || time.Until(fired.NextAt) < 24*time.Hour {
			t.Errorf("%+v, %v", fired, err)
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
	onBoth(t, func(t *testing.T, s *Site) {
		ctx, st := t.Context(), open(t, s)
		empty := rows(t, s, st)
		if err := Samples(ctx, st); err != nil {
			t.Fatal(err)
		}
		sampled := rows(t, s, st)
		models := finished(t, st)
		if len(models) != 20 {
			t.Fatalf("%d samples", len(models))
		}
		const copies, span = 3, 48 * time.Hour
		if err := s.CloneHistory(ctx, st, copies*len(models), span); err != nil {
			t.Fatal(err)
		}
		real, copied := times(grown(empty, sampled), copies), grown(sampled, rows(t, s, st))
		if real = strings.ReplaceAll(real, fmt.Sprintf("schedules+%d ", 4*copies), ""); real != copied {
			t.Errorf("as many real jobs leave %q, copies %q", real, copied)
		}
		all := finished(t, st)
		if len(all) != (1+copies)*len(models) {
			t.Fatalf("%d finished jobs", len(all))
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
		if more, err := st.DB().Prune(ctx, keepAll); more || err != nil {
			t.Error(more, err)
		}
		if got := finished(t, st); len(got) != len(all) {
			t.Errorf("retention left %d of %d", len(got), len(all))
		}
		next, err := st.Enqueue(ctx, newJobs(1))
		if err != nil || next[0].Job.ID <= all[len(all)-1].ID {
			t.Errorf("the next job has the id %d of a copy, %v", next[0].Job.ID, err)
		}
	})
}

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

// told is all that the API says about a job but its id, with every instant moved.
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

// times multiplies every number of a text that grown made.
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
