package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// For every filter and every limit of rows per page, all pages together have each matching schedule once, in order.
func TestPagesOfSchedulesAreAllThatFit(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		tags := map[string][]string{}
		for _, ns := range []string{"a", "b"} {
			m := view.Manifest{}
			for i := range 24 {
				task := task.Task{Namespace: ns, Name: fmt.Sprintf("t%02d", i), Kind: task.KindFunc, Tags: []string{"all"}}
				if i < 3 {
					task.Tags = append(task.Tags, "few")
				}
				tags[task.Name] = task.Tags
				m.Tasks = append(m.Tasks, task)
				for n := range 1 + i%3 {
					m.Schedules = append(m.Schedules, schedule.Schedule{Namespace: ns, Name: fmt.Sprintf("%c-%02d-%d", 'x'-rune(i%5), i, n), Task: task.Name, Rules: []schedule.Rule{{Cron: "0 3 * * *"}}})
				}
			}
			if _, err := st.Apply(ctx, m, view.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			for i, s := range m.Schedules {
				if i%4 == 1 {
					if _, err := st.PauseSchedule(ctx, ns, s.Name, ""); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		everything, err := st.Schedules(ctx, schedule.Filter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1000}})
		if err != nil || len(everything.Items) != 96 {
			t.Fatal(len(everything.Items), err)
		}
		for _, ns := range []string{"a", "b", "none", core.AnyNamespace} {
			for _, f := range []schedule.Filter{
				{}, {State: schedule.Active}, {State: schedule.Paused}, {State: schedule.Completed}, {Task: "t02"}, {Task: "no"}, {Tag: "few"}, {Tag: "all"}, {Tag: "no"}, {Part: "X-"}, {Part: "-1"},
				{Task: "t05", State: schedule.Paused}, {Task: "t05", State: schedule.Active}, {Task: "t05", Part: "-2"}, {Tag: "few", State: schedule.Active}, {Tag: "few", State: schedule.Paused},
				{Tag: "all", Part: "v-", State: schedule.Paused}, {Tag: "few", Task: "t01"}, {Tag: "few", Task: "t09"},
			} {
				f.Namespace = ns
				var want []string
				for _, s := range everything.Items {
					if (ns == core.AnyNamespace || s.Namespace == ns) && (f.State == "" || s.State == f.State) && (f.Task == "" || s.Task == f.Task) &&
						(f.Tag == "" || slices.Contains(tags[s.Task], f.Tag)) && strings.Contains(s.Name, strings.ToLower(f.Part)) {
						want = append(want, s.Namespace+"/"+s.Name)
					}
				}
				for _, look := range []int{1, 7, 1000} {
					if got := allPages(t, st, f, look); !slices.Equal(got, want) {
						t.Errorf("%+v, looking at %d: got %v\nwant %v", f, look, got, want)
					}
				}
			}
		}
	})
}

func allPages(t *testing.T, st *store.Store, f schedule.Filter, look int) (names []string) {
	t.Helper()
	f.Limit = 5
	for range 200 {
		p, err := st.SchedulesLooking(t.Context(), f, look)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if p.Looked > look || p.Looked > 0 && (p.Next == "" || len(p.Items) == f.Limit) || len(p.Items) > f.Limit {
			t.Fatalf("%+v: %d items, looked at %d of %d, next %q", f, len(p.Items), p.Looked, look, p.Next)
		}
		for _, s := range p.Items {
			names = append(names, s.Namespace+"/"+s.Name)
		}
		if f.Cursor = p.Next; p.Next == "" {
			return names
		}
	}
	t.Fatalf("%+v: no end of pages", f)
	return nil
}
