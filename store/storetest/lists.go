package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// all reads a list page by page, and fails if an item appears twice.
func all[T any](b *bench, limit int, read func(core.Paging) (core.Page[T], error), id func(T) string) []string {
	b.Helper()
	var ids []string
	for cursor, pages := "", 0; ; pages++ {
		p := must(read(core.Paging{Limit: limit, Cursor: cursor}))(b)
		if len(p.Items) > limit || p.Items == nil || pages > 1000 {
			b.Fatalf("page %d: got %d items, want at most %d", pages, len(p.Items), limit)
		}
		for _, item := range p.Items {
			if slices.Contains(ids, id(item)) {
				b.Fatalf("item %s is listed twice", id(item))
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
	add("every list pages without losing or repeating anything", caseEveryListPagesWithoutLosingOrRepeatingAnything)
	add("a page of large items ends early, and its cursor leads to the rest", caseAPageOfLargeItemsEndsEarly)
	add("lists filter by their fields", caseListsFilterByWhatTheyName)
	add("a cursor that is none is refused in every list", caseACursorThatIsNoneIsRefusedInEvery)
	add("a log is followed by its cursor: what comes later is after it", caseALogIsFollowedByItsCursor)
	add("namespaces see nothing of each other", caseNamespacesSeeNothingOfEachOther)
	add("workers are listed with what they run, and with those that ended if asked", caseWorkersAreListedWithWhatTheyRun)
	add("workers are listed with how many jobs of each queue they run, however many", caseWorkersAreListedWithTheirJobsByQueue)
	add("the names of handlers in a list of workers are bounded", caseTheHandlersInAListOfWorkersAreBounded)
}

func caseEveryListPagesWithoutLosingOrRepeatingAnything(b *bench) {
	for _, ns := range []string{"default", "other"} {
		for i := range 7 {
			b.task(fmt.Sprint("t", i), func(t *task.Task) { t.Namespace = ns })
		}
		for i := range 7 {
			b.schedule(fmt.Sprint("s", i), fmt.Sprint("t", i), every(time.Minute), overlap(schedule.OverlapAllow), func(s *schedule.Schedule) { s.Namespace = ns })
		}
	}
	for range 7 {
		b.fire()
		b.clock.Move(time.Minute)
	}
	s := b.session("t1", "t2")
	for _, j := range b.claim(s, 9).Jobs { // some jobs have ended, among others that have not
		b.finish(s, j, job.OutcomeOK)
	}
	for _, limit := range []int{1, 3, 7, 14, 1000} {
		tasks := all(b, limit, func(p core.Paging) (core.Page[task.Task], error) {
			return b.st.Tasks(b.ctx, task.Filter{Paging: p, Namespace: core.AnyNamespace})
		}, func(t task.Task) string { return t.Namespace + "/" + t.Name })
		want(b, "tasks", len(tasks), 14)
		want(b, "tasks in order", slices.IsSorted(tasks), true)
		schedules := all(b, limit, func(p core.Paging) (core.Page[schedule.Schedule], error) {
			return b.st.Schedules(b.ctx, schedule.Filter{Paging: p, Namespace: core.AnyNamespace})
		}, func(s schedule.Schedule) string { return s.Namespace + "/" + s.Name })
		want(b, "schedules", len(schedules), 14)
		want(b, "schedules in order", slices.IsSorted(schedules), true)
		occurrences := all(b, limit, func(p core.Paging) (core.Page[schedule.Occurrence], error) {
			return b.st.Occurrences(b.ctx, schedule.OccurrenceFilter{Paging: p, Schedule: "s3"})
		}, func(o schedule.Occurrence) string { return o.Nominal.Format(time.RFC3339) })
		want(b, "occurrences", len(occurrences), 7)
		if limit == 1 {
			continue
		}
		jobs := all(b, limit, func(p core.Paging) (core.Page[job.Job], error) {
			return b.st.Jobs(b.ctx, job.Filter{Paging: p})
		}, func(j job.Job) string { return fmt.Sprintf("%08d", -j.ID+1e7) })
		want(b, "jobs", len(jobs), 49)
		want(b, "jobs in order", slices.IsSorted(jobs), true)
		audit := all(b, limit, func(p core.Paging) (core.Page[access.Audit], error) {
			return b.st.Audit(b.ctx, access.AuditFilter{Paging: p, Namespace: core.AnyNamespace})
		}, func(a access.Audit) string { return fmt.Sprint(a.Seq) })
		want(b, "audit", len(audit), 28)
	}
}

func caseAPageOfLargeItemsEndsEarly(b *bench) {
	const items = 12
	input := json.RawMessage(`"` + strings.Repeat("x", core.MaxInput-2) + `"`)
	for i := range items {
		name := fmt.Sprintf("t%02d", i)
		b.task(name, func(t *task.Task) { t.Input = input })
		b.schedule(name, name, every(time.Hour), func(s *schedule.Schedule) { s.Input = input })
		b.enqueue(job.NewJob{Task: name, Input: input})
	}
	most := base.MaxPage / core.MaxInput // each has more bytes than its input
	pages := func(list string, read func(core.Paging) (n int, next string, err error)) {
		b.Helper()
		var sizes []int
		for cursor := ""; cursor != "" || sizes == nil; {
			n, next, err := read(core.Paging{Limit: 1000, Cursor: cursor})
			if err != nil {
				b.Fatal(err)
			}
			sizes, cursor = append(sizes, n), next
		}
		want(b, list+" of each page", fmt.Sprint(sizes), fmt.Sprint([]int{most, items - most}))
	}
	pages("tasks", func(p core.Paging) (int, string, error) {
		page, err := b.st.Tasks(b.ctx, task.Filter{Paging: p})
		return len(page.Items), page.Next, err
	})
	pages("schedules", func(p core.Paging) (int, string, error) {
		page, err := b.st.Schedules(b.ctx, schedule.Filter{Paging: p})
		return len(page.Items), page.Next, err
	})
	pages("jobs", func(p core.Paging) (int, string, error) {
		page, err := b.st.Jobs(b.ctx, job.Filter{Paging: p})
		return len(page.Items), page.Next, err
	})
	pages("found jobs", func(p core.Paging) (int, string, error) {
		page, err := b.st.Jobs(b.ctx, job.Filter{Paging: p, States: []job.State{job.Ready}})
		return len(page.Items), page.Next, err
	})
	pages("changes of tasks", func(p core.Paging) (int, string, error) {
		page, err := b.st.Audit(b.ctx, access.AuditFilter{Paging: p, Noun: "task"})
		return len(page.Items), page.Next, err
	})
	jobs := all(b, 1000, func(p core.Paging) (core.Page[job.Job], error) { return b.st.Jobs(b.ctx, job.Filter{Paging: p}) },
		func(j job.Job) string { return fmt.Sprintf("%08d", -j.ID+1e7) })
	want(b, "jobs", len(jobs), items)
	want(b, "jobs in order", slices.IsSorted(jobs), true)
}

func caseListsFilterByWhatTheyName(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "q"}))(b)
	b.task("t", func(t *task.Task) { t.Tags = []string{"red", "redder"} })
	b.task("u", func(t *task.Task) {
		t.Kind = task.KindCommand
		t.Command = &task.Command{Shell: "true"}
		t.Tags = []string{"redder"}
	})
	b.schedule("s", "t", every(time.Hour))
	b.schedule("p", "u", every(time.Hour))
	must(b.st.PauseSchedule(b.ctx, "default", "p", ""))(b)
	tasks := func(f task.Filter) (names []string) {
		for _, t := range must(b.st.Tasks(b.ctx, f))(b).Items {
			names = append(names, t.Name)
		}
		return names
	}
	want(b, "by tag", fmt.Sprint(tasks(task.Filter{Tag: "red"})), "[t]")
	want(b, "by another", fmt.Sprint(tasks(task.Filter{Tag: "redder"})), "[t u]")
	want(b, "by kind", fmt.Sprint(tasks(task.Filter{Kind: task.KindCommand})), "[u]")
	want(b, "by a part of the name", fmt.Sprint(tasks(task.Filter{Part: "U"})), "[u]")
	want(b, "in no namespace", fmt.Sprint(tasks(task.Filter{Namespace: "other"})), "[]")
	schedules := func(f schedule.Filter) (names []string) {
		for _, s := range must(b.st.Schedules(b.ctx, f))(b).Items {
			names = append(names, s.Name)
		}
		return names
	}
	want(b, "by state", fmt.Sprint(schedules(schedule.Filter{State: schedule.Paused})), "[p]")
	want(b, "by task", fmt.Sprint(schedules(schedule.Filter{Task: "t"})), "[s]")
	want(b, "by the task's tag", fmt.Sprint(schedules(schedule.Filter{Tag: "red"})), "[s]")
	b.schedule("Nightly-backup", "t", every(time.Hour))
	want(b, "by a part of the name", fmt.Sprint(schedules(schedule.Filter{Part: "y-BACK"})), "[Nightly-backup]")
	want(b, "by a part and a task", fmt.Sprint(schedules(schedule.Filter{Part: "backup", Task: "u"})), "[]")
	a := b.enqueue(job.NewJob{Task: "t", Tags: []string{"x"}}).ID
	b.clock.Move(time.Minute)
	c := b.enqueue(job.NewJob{Task: "u", Queue: "q"}).ID
	jobs := func(f job.Filter) (ids []int64) {
		for _, j := range must(b.st.Jobs(b.ctx, f))(b).Items {
			if j.Trigger == job.TriggerEnqueue {
				ids = append(ids, j.ID)
			}
		}
		return ids
	}
	for what, f := range map[string]job.Filter{
		"task": {Task: "u"}, "queue": {Queue: "q"}, "since": {Since: Epoch.Add(time.Second)}, "state": {States: []job.State{job.Ready}, Task: "u"},
	} {
		want(b, what, fmt.Sprint(jobs(f)), fmt.Sprint([]int64{c}))
	}
	for what, f := range map[string]job.Filter{"tag": {Tag: "x"}, "until": {Until: Epoch.Add(time.Second)}} {
		want(b, what, fmt.Sprint(jobs(f)), fmt.Sprint([]int64{a}))
	}
	_, err := b.st.Jobs(b.ctx, job.Filter{States: []job.State{"lost"}})
	wantCode(b, err, core.Invalid, "state", "lost")
	o := must(b.st.Occurrences(b.ctx, schedule.OccurrenceFilter{Schedule: "p", Decision: schedule.DecidedSkipped}))(b)
	want(b, "occurrences by decision", len(o.Items), 0)
}

func caseACursorThatIsNoneIsRefusedInEvery(b *bench) {
	b.task("t")
	b.schedule("s", "t", every(time.Hour))
	j := b.enqueue(job.NewJob{Task: "t"})
	for _, cursor := range []string{"?", "bm9uZQ", "WyJhIl0", "WyJhIiwiYiIsImMiXQ", strings.Repeat("A", 5000)} {
		p := core.Paging{Cursor: cursor}
		_, errTasks := b.st.Tasks(b.ctx, task.Filter{Paging: p})
		_, errSchedules := b.st.Schedules(b.ctx, schedule.Filter{Paging: p})
		_, errOccurrences := b.st.Occurrences(b.ctx, schedule.OccurrenceFilter{Paging: p, Schedule: "s"})
		_, errJobs := b.st.Jobs(b.ctx, job.Filter{Paging: p})
		_, errAudit := b.st.Audit(b.ctx, access.AuditFilter{Paging: p})
		_, errLogs := b.st.Logs(b.ctx, "default", j.ID, job.LogFilter{Paging: p})
		for _, err := range []error{errTasks, errSchedules, errOccurrences, errJobs, errAudit, errLogs} {
			wantCode(b, err, core.Invalid, "cursor")
		}
	}
}

func caseALogIsFollowedByItsCursor(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.Delay = core.Duration(time.Second) })
	j := b.enqueue(job.NewJob{Task: "t"})
	cursor, got := "", []string{}
	follow := func() {
		b.Helper()
		for {
			p := must(b.st.Logs(b.ctx, "default", j.ID, job.LogFilter{Paging: core.Paging{Limit: 2, Cursor: cursor}}))(b)
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
			ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{{Ref: refOf(c.Jobs[0]), Seq: seq, Stream: job.Stdout, At: b.clock.Now(), Text: fmt.Sprint("line ", seq)}}))
			if seq%2 == 0 {
				follow()
			}
		}
		b.finish(s, c.Jobs[0], job.OutcomeError)
		b.clock.Move(time.Minute)
		b.promote()
	}
	follow()
	want(b, "log", strings.Join(got, ","), "1:line 0,1:line 1,1:line 2,1:line 3,1:line 4,2:line 0,2:line 1,2:line 2,2:line 3,2:line 4")
	_, err := b.st.Logs(b.ctx, "other", j.ID, job.LogFilter{})
	wantCode(b, err, core.NotFound)
}

func caseNamespacesSeeNothingOfEachOther(b *bench) {
	b.task("t")
	b.task("t2", func(t *task.Task) { t.Namespace = "other"; t.Name = "t" })
	b.schedule("s", "t", every(time.Hour))
	j := b.enqueue(job.NewJob{Task: "t"})
	for _, err := range []error{
		second(b.st.Job(b.ctx, "other", j.ID)), second(b.st.Attempts(b.ctx, "other", j.ID)), second(b.st.Schedule(b.ctx, "other", "s")),
		second(b.st.PauseSchedule(b.ctx, "other", "s", "")), second(b.st.TriggerSchedule(b.ctx, "other", "s", job.RunNow{})), b.st.DeleteSchedule(b.ctx, "other", "s"),
	} {
		wantCode(b, err, core.NotFound)
	}
	sel := must(b.st.CancelJobs(b.ctx, "other", view.Selection{IDs: []int64{j.ID}}))(b)
	want(b, "left", sel.Left[j.ID], "no such job")
	b.wantState(j.ID, job.Ready)
	sel = must(b.st.CancelJobs(b.ctx, "other", view.Selection{Filter: &job.Filter{Namespace: "default"}}))(b)
	want(b, "by a filter", len(sel.IDs), 0)
	ok(b, b.st.DeleteTask(b.ctx, "other", "t"))
	must(b.st.Task(b.ctx, "default", "t"))(b)
	_, err := b.st.CreateSchedule(b.ctx, schedule.Schedule{Namespace: "other", Name: "s", Task: "t"})
	wantCode(b, err, core.Invalid, "task")
}

func caseWorkersAreListedWithWhatTheyRun(b *bench) {
	b.task("t")
	b.enqueue(job.NewJob{Task: "t"})
	gone := b.session("t")
	ok(b, b.st.CloseSession(b.ctx, gone.ID))
	b.clock.Move(time.Second)
	s := b.session("t")
	b.claim(s, 1)
	ws := must(b.st.Workers(b.ctx, false))(b)
	if len(ws) != 1 || ws[0].Session != s.ID || ws[0].Running != 1 || ws[0].Name != "tester" || !ws[0].ExpiresAt.Equal(b.clock.Now().Add(30*time.Second)) {
		b.Fatalf("workers: got %+v, want the living session with 1 job", ws)
	}
	ws = must(b.st.Workers(b.ctx, true))(b)
	if len(ws) != 2 || ws[1].EndedAt.IsZero() || ws[1].Lost {
		b.Fatalf("workers with ended ones: got %+v, want 2, the second ended and not lost", ws)
	}
	b.clock.Move(lost)
	b.release()
	want(b, "lost", must(b.st.Workers(b.ctx, true))(b)[0].Lost, true)
}

func caseWorkersAreListedWithTheirJobsByQueue(b *bench) {
	b.task("t")
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "limited", GlobalLimit: 400}))(b)
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "mail"}))(b)
	truth := map[string]map[string]int{}
	var ended []job.Finish
	for i, take := range []map[string]int{{"default": 700, "mail": 30}, {"default": 1, "limited": 250}, {"mail": 900, "limited": 500}, {"default": 0}} {
		s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: fmt.Sprint("w", i), Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
			Queues: map[string]int{"default": 0, "mail": 0, "limited": 0}}))(b)
		truth[s.ID] = map[string]int{}
		for _, queue := range slices.Sorted(maps.Keys(take)) {
			must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t", Queue: queue}}, take[queue]+20)))(b)
			c := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{queue: take[queue]}}))(b)
			truth[s.ID][queue] += len(c.Jobs)
			for n, j := range c.Jobs {
				if n%7 == 3 { // the others keep their lease, of whatever form
					outcome := job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}
					if queue == "mail" {
						outcome.Outcome, outcome.Error = job.OutcomeError, "it broke"
					}
					ended = append(ended, outcome)
					truth[s.ID][queue]--
				}
			}
		}
		if len(ended) > 0 {
			must(b.st.Finish(b.ctx, s.ID, ended))(b)
			ended = nil
		}
		maps.DeleteFunc(truth[s.ID], func(_ string, n int) bool { return n == 0 })
	}
	total := 0
	for _, w := range must(b.st.Workers(b.ctx, false))(b) {
		if !maps.Equal(w.RunningByQueue, truth[w.Session]) {
			b.Errorf("%s runs %v, want %v", w.Name, w.RunningByQueue, truth[w.Session])
		}
		sum := 0
		for _, n := range truth[w.Session] {
			sum += n
		}
		want(b, "running on "+w.Name, w.Running, sum)
		total += sum
	}
	if total < 1500 {
		b.Errorf("%d jobs run, too few for the test", total)
	}
}

func caseTheHandlersInAListOfWorkersAreBounded(b *bench) {
	j := b.enqueue(job.NewJob{Task: "z", Kind: task.KindFunc})
	s := b.session("z")
	names := make([]string, job.MaxFuncs-1)
	for i := range names {
		names[i] = fmt.Sprintf("f%099d", i)
	}
	funcs := jsonOf(append(names, "z"))
	b.sql(`update belfry.sessions set doc = replace(doc, $1, $2)`, `["z"]`, funcs)
	workers := 8<<20/len(funcs) + 20
	b.sql(`
		insert into belfry.sessions (id, name, namespace, token, doc, ttl, started_at, renewed_at, expires_at)
		select 'copy-' || cast(n.v as text), name, namespace, token, doc, ttl, started_at, renewed_at, expires_at
		from belfry.sessions, (`+numbers(workers-1)+`) as n
		where id = $1`, s.ID)
	bytes, counted := 0, 0
	all := must(b.st.Workers(b.ctx, false))(b)
	for _, w := range all {
		bytes += len(strings.Join(w.Funcs, ""))
		counted += len(w.Funcs) + w.MoreFuncs
	}
	want(b, "workers", len(all), workers)
	want(b, "handlers, named or counted", counted, workers*job.MaxFuncs)
	if last := all[len(all)-1]; bytes > 8<<20 || len(all[0].Funcs) != job.MaxFuncs || last.MoreFuncs != job.MaxFuncs || last.Funcs != nil {
		b.Fatalf("names of handlers: got %d bytes, the last worker with %d and %d more, want at most 8 MiB", bytes, len(last.Funcs), last.MoreFuncs)
	}
	fits := func(id int64) string {
		checks := must(b.st.Why(b.ctx, "default", id))(b).Checks
		return checks[slices.IndexFunc(checks, func(c core.Check) bool { return c.Name == "a worker has the handler" })].Detail
	}
	want(b, "workers with the handler", fits(j.ID), fmt.Sprintf("%d of %d", workers, workers))
	want(b, "workers with another", fits(b.enqueue(job.NewJob{Task: "y", Kind: task.KindFunc}).ID), fmt.Sprintf("0 of %d", workers))
}

func second[T any](_ T, err error) error { return err }
