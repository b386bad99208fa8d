package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// all reads a list page by page, and fails if an item comes twice.
func all[T any](b *bench, limit int, read func(belfry.Paging) (belfry.Page[T], error), id func(T) string) []string {
	b.Helper()
	var ids []string
	for cursor, pages := "", 0; ; pages++ {
		p := must(read(belfry.Paging{Limit: limit, Cursor: cursor}))(b)
		if len(p.Items) > limit || p.Items == nil || pages > 1000 {
			b.Fatalf("page %d has %d items of at most %d", pages, len(p.Items), limit)
		}
		for _, item := range p.Items {
			if slices.Contains(ids, id(item)) {
				b.Fatalf("%s came twice", id(item))
			}
			ids = append(ids, id(item))
		}
		if p.Next == "" {
			return ids
		}
		cursor = p.Next
	}
}

func init() {
	add("every list pages without losing or repeating anything", func(b *bench) {
		for _, ns := range []string{"default", "other"} {
			for i := range 7 {
				b.task(fmt.Sprint("t", i), func(t *belfry.Task) { t.Namespace = ns })
			}
			for i := range 7 {
				b.schedule(fmt.Sprint("s", i), fmt.Sprint("t", i), every(time.Minute), overlap(belfry.OverlapAllow), func(s *belfry.Schedule) { s.Namespace = ns })
			}
		}
		for range 7 {
			b.fire()
			b.clock.Move(time.Minute)
		}
		s := b.session("t1", "t2")
		for _, j := range b.claim(s, 9).Jobs { // some of the jobs have ended, among those that have not
			b.finish(s, j, belfry.OutcomeOK)
		}
		for _, limit := range []int{1, 3, 7, 14, 1000} {
			tasks := all(b, limit, func(p belfry.Paging) (belfry.Page[belfry.Task], error) {
				return b.st.Tasks(b.ctx, belfry.TaskFilter{Paging: p, Namespace: belfry.AnyNamespace})
			}, func(t belfry.Task) string { return t.Namespace + "/" + t.Name })
			want(b, "tasks", len(tasks), 14)
			want(b, "tasks in order", slices.IsSorted(tasks), true)
			schedules := all(b, limit, func(p belfry.Paging) (belfry.Page[belfry.Schedule], error) {
				return b.st.Schedules(b.ctx, belfry.ScheduleFilter{Paging: p, Namespace: belfry.AnyNamespace})
			}, func(s belfry.Schedule) string { return s.Namespace + "/" + s.Name })
			want(b, "schedules", len(schedules), 14)
			want(b, "schedules in order", slices.IsSorted(schedules), true)
			occurrences := all(b, limit, func(p belfry.Paging) (belfry.Page[belfry.Occurrence], error) {
				return b.st.Occurrences(b.ctx, belfry.OccurrenceFilter{Paging: p, Schedule: "s3"})
			}, func(o belfry.Occurrence) string { return o.Nominal.Format(time.RFC3339) })
			want(b, "occurrences", len(occurrences), 7)
			if limit == 1 {
				continue
			}
			jobs := all(b, limit, func(p belfry.Paging) (belfry.Page[belfry.Job], error) {
				return b.st.Jobs(b.ctx, belfry.JobFilter{Paging: p})
			}, func(j belfry.Job) string { return fmt.Sprintf("%08d", -j.ID+1e7) })
			want(b, "jobs", len(jobs), 49)
			want(b, "jobs in order", slices.IsSorted(jobs), true)
			audit := all(b, limit, func(p belfry.Paging) (belfry.Page[belfry.Audit], error) {
				return b.st.Audit(b.ctx, belfry.AuditFilter{Paging: p, Namespace: belfry.AnyNamespace})
			}, func(a belfry.Audit) string { return fmt.Sprint(a.Seq) })
			want(b, "audit", len(audit), 28)
		}
	})

	add("lists filter by what they name", func(b *bench) {
		must(b.st.SaveQueue(b.ctx, belfry.Queue{Name: "q"}))(b)
		b.task("t", func(t *belfry.Task) { t.Tags = []string{"red", "redder"} })
		b.task("u", func(t *belfry.Task) {
			t.Kind = belfry.KindCommand
			t.Command = &belfry.Command{Shell: "true"}
			t.Tags = []string{"redder"}
		})
		b.schedule("s", "t", every(time.Hour))
		b.schedule("p", "u", every(time.Hour))
		must(b.st.PauseSchedule(b.ctx, "default", "p", ""))(b)
		tasks := func(f belfry.TaskFilter) (names []string) {
			for _, t := range must(b.st.Tasks(b.ctx, f))(b).Items {
				names = append(names, t.Name)
			}
			return names
		}
		want(b, "by tag", fmt.Sprint(tasks(belfry.TaskFilter{Tag: "red"})), "[t]")
		want(b, "by another", fmt.Sprint(tasks(belfry.TaskFilter{Tag: "redder"})), "[t u]")
		want(b, "by kind", fmt.Sprint(tasks(belfry.TaskFilter{Kind: belfry.KindCommand})), "[u]")
		want(b, "by a part of the name", fmt.Sprint(tasks(belfry.TaskFilter{Part: "U"})), "[u]")
		want(b, "in no namespace", fmt.Sprint(tasks(belfry.TaskFilter{Namespace: "other"})), "[]")
		schedules := func(f belfry.ScheduleFilter) (names []string) {
			for _, s := range must(b.st.Schedules(b.ctx, f))(b).Items {
				names = append(names, s.Name)
			}
			return names
		}
		want(b, "by state", fmt.Sprint(schedules(belfry.ScheduleFilter{State: belfry.SchedulePaused})), "[p]")
		want(b, "by task", fmt.Sprint(schedules(belfry.ScheduleFilter{Task: "t"})), "[s]")
		want(b, "by the task's tag", fmt.Sprint(schedules(belfry.ScheduleFilter{Tag: "red"})), "[s]")
		b.schedule("Nightly-backup", "t", every(time.Hour))
		want(b, "by a part of the name", fmt.Sprint(schedules(belfry.ScheduleFilter{Part: "y-BACK"})), "[Nightly-backup]")
		want(b, "by a part and a task", fmt.Sprint(schedules(belfry.ScheduleFilter{Part: "backup", Task: "u"})), "[]")
		a := b.enqueue(belfry.NewJob{Task: "t", Tags: []string{"x"}}).ID
		b.clock.Move(time.Minute)
		c := b.enqueue(belfry.NewJob{Task: "u", Queue: "q"}).ID
		jobs := func(f belfry.JobFilter) (ids []int64) {
			for _, j := range must(b.st.Jobs(b.ctx, f))(b).Items {
				if j.Trigger == belfry.TriggerEnqueue {
					ids = append(ids, j.ID)
				}
			}
			return ids
		}
		for what, f := range map[string]belfry.JobFilter{
			"task": {Task: "u"}, "queue": {Queue: "q"}, "since": {Since: Epoch.Add(time.Second)}, "state": {States: []belfry.JobState{belfry.JobReady}, Task: "u"},
		} {
			want(b, what, fmt.Sprint(jobs(f)), fmt.Sprint([]int64{c}))
		}
		for what, f := range map[string]belfry.JobFilter{"tag": {Tag: "x"}, "until": {Until: Epoch.Add(time.Second)}} {
			want(b, what, fmt.Sprint(jobs(f)), fmt.Sprint([]int64{a}))
		}
		_, err := b.st.Jobs(b.ctx, belfry.JobFilter{States: []belfry.JobState{"lost"}})
		wantCode(b, err, belfry.Invalid, "state", "lost")
		o := must(b.st.Occurrences(b.ctx, belfry.OccurrenceFilter{Schedule: "p", Decision: belfry.DecidedSkipped}))(b)
		want(b, "occurrences by decision", len(o.Items), 0)
	})

	add("a cursor that is none is refused in every list", func(b *bench) {
		b.task("t")
		b.schedule("s", "t", every(time.Hour))
		j := b.enqueue(belfry.NewJob{Task: "t"})
		for _, cursor := range []string{"?", "bm9uZQ", "WyJhIl0", "WyJhIiwiYiIsImMiXQ", strings.Repeat("A", 5000)} {
			p := belfry.Paging{Cursor: cursor}
			_, errTasks := b.st.Tasks(b.ctx, belfry.TaskFilter{Paging: p})
			_, errSchedules := b.st.Schedules(b.ctx, belfry.ScheduleFilter{Paging: p})
			_, errOccurrences := b.st.Occurrences(b.ctx, belfry.OccurrenceFilter{Paging: p, Schedule: "s"})
			_, errJobs := b.st.Jobs(b.ctx, belfry.JobFilter{Paging: p})
			_, errAudit := b.st.Audit(b.ctx, belfry.AuditFilter{Paging: p})
			_, errLogs := b.st.Logs(b.ctx, "default", j.ID, belfry.LogFilter{Paging: p})
			for _, err := range []error{errTasks, errSchedules, errOccurrences, errJobs, errAudit, errLogs} {
				wantCode(b, err, belfry.Invalid, "cursor")
			}
		}
	})

	add("a log is followed by its cursor: what comes later is after it", func(b *bench) {
		b.task("t", func(t *belfry.Task) { t.Retry.Delay = belfry.Duration(time.Second) })
		j := b.enqueue(belfry.NewJob{Task: "t"})
		cursor, got := "", []string{}
		follow := func() {
			b.Helper()
			for {
				p := must(b.st.Logs(b.ctx, "default", j.ID, belfry.LogFilter{Paging: belfry.Paging{Limit: 2, Cursor: cursor}}))(b)
				if len(p.Items) == 0 {
					want(b, "the cursor stays", p.Next, cursor)
					return
				}
				for _, l := range p.Items {
					got = append(got, fmt.Sprintf("%d:%s", l.Attempt, l.Text))
				}
				cursor = p.Next
			}
		}
		follow()
		for attempt := 1; attempt <= 2; attempt++ {
			s := b.session("t")
			c := b.claim(s, 1)
			for seq := range 5 {
				ok(b, b.st.Append(b.ctx, s.ID, []belfry.LogPiece{{Ref: refOf(c.Jobs[0]), Seq: seq, Stream: belfry.Stdout, At: b.clock.Now(), Text: fmt.Sprint("line ", seq)}}))
				if seq%2 == 0 {
					follow()
				}
			}
			b.finish(s, c.Jobs[0], belfry.OutcomeError)
			b.clock.Move(time.Minute)
			b.promote()
		}
		follow()
		want(b, "log", strings.Join(got, ","), "1:line 0,1:line 1,1:line 2,1:line 3,1:line 4,2:line 0,2:line 1,2:line 2,2:line 3,2:line 4")
		_, err := b.st.Logs(b.ctx, "other", j.ID, belfry.LogFilter{})
		wantCode(b, err, belfry.NotFound)
	})

	add("namespaces see nothing of each other", func(b *bench) {
		b.task("t")
		b.task("t2", func(t *belfry.Task) { t.Namespace = "other"; t.Name = "t" })
		b.schedule("s", "t", every(time.Hour))
		j := b.enqueue(belfry.NewJob{Task: "t"})
		for _, err := range []error{
			second(b.st.Job(b.ctx, "other", j.ID)), second(b.st.Attempts(b.ctx, "other", j.ID)), second(b.st.Schedule(b.ctx, "other", "s")),
			second(b.st.PauseSchedule(b.ctx, "other", "s", "")), second(b.st.TriggerSchedule(b.ctx, "other", "s", nil)), b.st.DeleteSchedule(b.ctx, "other", "s"),
		} {
			wantCode(b, err, belfry.NotFound)
		}
		sel := must(b.st.CancelJobs(b.ctx, "other", belfry.Selection{IDs: []int64{j.ID}}))(b)
		want(b, "left", sel.Left[j.ID], "no such job")
		b.wantState(j.ID, belfry.JobReady)
		sel = must(b.st.CancelJobs(b.ctx, "other", belfry.Selection{Filter: &belfry.JobFilter{Namespace: "default"}}))(b)
		want(b, "by a filter", len(sel.IDs), 0)
		ok(b, b.st.DeleteTask(b.ctx, "other", "t"))
		must(b.st.Task(b.ctx, "default", "t"))(b)
		_, err := b.st.CreateSchedule(b.ctx, belfry.Schedule{Namespace: "other", Name: "s", Task: "t"})
		wantCode(b, err, belfry.Invalid, "task")
	})

	add("workers are listed with what they run, and with those that ended if asked", func(b *bench) {
		b.task("t")
		b.enqueue(belfry.NewJob{Task: "t"})
		gone := b.session("t")
		ok(b, b.st.CloseSession(b.ctx, gone.ID))
		b.clock.Move(time.Second)
		s := b.session("t")
		b.claim(s, 1)
		ws := must(b.st.Workers(b.ctx, false))(b)
		if len(ws) != 1 || ws[0].Session != s.ID || ws[0].Running != 1 || ws[0].Name != "tester" || !ws[0].ExpiresAt.Equal(b.clock.Now().Add(30*time.Second)) {
			b.Fatalf("%+v", ws)
		}
		ws = must(b.st.Workers(b.ctx, true))(b)
		if len(ws) != 2 || ws[1].EndedAt.IsZero() || ws[1].Lost {
			b.Fatalf("%+v", ws)
		}
		b.clock.Move(lost)
		b.release()
		want(b, "lost", must(b.st.Workers(b.ctx, true))(b)[0].Lost, true)
	})
}

func second[T any](_ T, err error) error { return err }
