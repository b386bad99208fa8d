package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a job that has waited in a queue with ageing goes before newer ones of a higher priority, and keeps its own in its record", ageingRaises)
	add("a job that was raised and is handed back keeps its place, and a retry waits anew", ageingAgain)
	add("jobs of a fair queue take turns at the priority that they have aged to", ageingFair)
	add("jobs that wait for a limit age in its line, and those of a sequence keep their order", ageingLimited)
	add("a pass of ageing looks at the jobs of its own queue alone that wait for a limit", ageingOwnLines)
	add("a pass of ageing is bounded, goes on where it ended, and leaves alone what runs and what nothing better waits with", ageingBounded)
	add("a change of the ageing of a queue holds from the next pass on, and lowers no job", ageingChanged)
	add("a job that was raised keeps its place when the clock is set back", ageingClock)
	add("ageing that cannot be is refused by its field", ageingRefused)
	addNodes("nodes that raise and claim jobs at the same moment run each once, and raise it as far as it has waited", ageingNodes)
}

const agePeriod = 10 * time.Minute

func ageing(b *bench, change ...func(*job.Queue)) {
	b.Helper()
	q := job.Queue{Name: "default", Ageing: core.Duration(agePeriod)}
	for _, fn := range change {
		fn(&q)
	}
	got := must(b.st.SaveQueue(b.ctx, q))(b)
	want(b, "ageing that was saved", got.Ageing, q.Ageing)
	want(b, "ageing that is kept", must(b.st.Queue(b.ctx, "default"))(b).Ageing, q.Ageing)
}

// age runs one pass in which the engine raises the priority of jobs that have waited.
func age(b *bench, st *store.Store) time.Duration {
	b.Helper()
	return must(st.AgeJobs(b.ctx))(b)
}

// withPriority enqueues n jobs of task work with a priority, and returns their ids.
func withPriority(b *bench, priority, n int) (ids []int64) {
	b.Helper()
	return ofCustomer(b, b.st, "a", n, func(n *job.NewJob) { n.Priority = &priority })
}

func wantOrder(b *bench, what string, got []int64, parts ...[]int64) {
	b.Helper()
	if wanted := slices.Concat(parts...); !slices.Equal(got, wanted) {
		b.Fatalf("%s: got %v, want %v", what, got, wanted)
	}
}

func standing(b *bench, id int64) string {
	b.Helper()
	j := b.job(id)
	return fmt.Sprintf("priority %d, aged by %d", j.Priority, j.Aged)
}

func whySays(b *bench, id int64, check string) string {
	b.Helper()
	for _, c := range must(b.st.Why(b.ctx, "default", id))(b).Checks {
		if c.Name == check {
			return c.Detail
		}
	}
	return ""
}

func ageingRaises(b *bench) {
	b.task("work")
	ageing(b)
	s := b.session("work")
	low, urgent := withPriority(b, -1, 2), withPriority(b, 5, 4)
	wantOrder(b, "taken first", takes(b, b.st, s, 1), urgent[:1]) // sets the mark at which claims begin
	b.clock.Move(6*agePeriod - time.Second)
	age(b, b.st)
	want(b, "a job that is not level with others yet", standing(b, low[0]), "priority -1, aged by 0")
	want(b, "job why before the pass", whySays(b, low[0], "its wait raises its priority"), "priority -1, one priority for each 10m that a job waits, up to the highest that waits")
	wantOrder(b, "taken next", takes(b, b.st, s, 1), urgent[1:2])
	b.clock.Move(time.Second)
	age(b, b.st)
	b.clock.Move(time.Second)
	later := withPriority(b, 5, 2)
	want(b, "a job that has waited", standing(b, low[0]), "priority -1, aged by 6")
	want(b, "job why after the pass", whySays(b, low[0], "its wait raises its priority"), "priority -1, treated as 5: one priority for each 10m that a job waits")
	if got := whySays(b, low[1], "no job goes first"); !strings.Contains(got, "3 ahead") {
		b.Fatalf("job why: got %q, want 3 jobs ahead", got)
	}
	c := b.claim(s, 3)
	wantOrder(b, "claimed", []int64{c.Jobs[0].Job.ID, c.Jobs[1].Job.ID, c.Jobs[2].Job.ID}, urgent[2:], low[:1])
	want(b, "the priority that a worker is told", fmt.Sprint(c.Jobs[2].Job.Priority, c.Jobs[2].Job.Aged), "-1 6")
	for _, j := range c.Jobs {
		b.finish(s, j, job.OutcomeOK)
	}
	want(b, "a job that has ended", standing(b, low[0]), "priority -1, aged by 0")
	want(b, "the priority that is kept", b.count(`select priority from belfry.jobs_done where id = $1`, low[0]), -1)
	wantOrder(b, "taken at last", takes(b, b.st, s, 10), low[1:], later)
	again := must(b.st.RunJobAgain(b.ctx, "default", low[0], job.RunAgain{}))(b)
	want(b, "run again", standing(b, again.Job.ID), "priority -1, aged by 0")
}

func ageingAgain(b *bench) {
	b.task("work", func(t *task.Task) { t.Retry.MaxAttempts = 5; t.Retry.Delay = core.Duration(time.Minute) })
	ageing(b)
	s := b.session("work")
	low, urgent := withPriority(b, 0, 1), withPriority(b, 2, 1)
	b.clock.Move(2 * agePeriod)
	age(b, b.st)
	c := b.claim(s, 2)
	b.finish(s, c.Jobs[1], job.OutcomeHandedBack)
	want(b, "a job that was handed back", standing(b, low[0]), "priority 0, aged by 2")
	later := withPriority(b, 1, 1)
	b.clock.Move(time.Second)
	j := b.claim(s, 1).Jobs[0]
	want(b, "claimed before one of priority 1", j.Job.ID, low[0])
	b.finish(s, j, job.OutcomeError)
	want(b, "a job that is tried again", standing(b, low[0]), "priority 0, aged by 0")
	b.clock.Move(time.Minute)
	b.promote()
	age(b, b.st)
	wantOrder(b, "taken", takes(b, b.st, s, 10), later, low)
	b.finish(s, c.Jobs[0], job.OutcomeOK)
	want(b, "jobs left", b.count(`select count(*) from belfry.jobs`), 0)
	want(b, "urgent", b.count(`select priority from belfry.jobs_done where id = $1`, urgent[0]), 2)
}

func ageingFair(b *bench) {
	b.task("work")
	ageing(b, func(q *job.Queue) { q.Fair = &flow.Fair{Key: "input.customer"} })
	s := b.session("work")
	three := func(n *job.NewJob) { n.Priority = new(3) }
	ofCustomer(b, b.st, "noisy", 60, three)
	takes(b, b.st, s, 20)
	quiet := ofCustomer(b, b.st, "quiet", 2)
	noisy := ofCustomer(b, b.st, "noisy", 2)
	b.clock.Move(3 * agePeriod)
	age(b, b.st)
	want(b, "a job that has waited", standing(b, quiet[0]), "priority 0, aged by 3")
	got := takes(b, b.st, s, 6) // the two keys take turns
	if !slices.Contains(got, quiet[0]) || !slices.Contains(got, quiet[1]) || slices.Contains(got, noisy[0]) {
		b.Fatalf("jobs taken: got %v, want %v among them and not %v", got, quiet, noisy)
	}
	if rest := takes(b, b.st, s, 100); rest[len(rest)-1] != noisy[1] {
		b.Fatalf("jobs taken: got %v, want %d last", rest, noisy[1])
	}
	want(b, "jobs left", b.count(`select count(*) from belfry.jobs`), 0)
}

func ageingLimited(b *bench) {
	b.task("work", limited(flow.Limit{Running: 1}))
	b.task("row", inSequence(flow.SequenceGoesOn))
	ageing(b)
	s := b.session("work", "row")
	first := withPriority(b, 0, 1)
	j := b.claim(s, 1).Jobs[0]
	low, urgent := withPriority(b, 0, 1), withPriority(b, 4, 3)
	var row []int64
	for _, p := range []int{0, 9, 0} {
		row = append(row, b.enqueue(job.NewJob{Task: "row", Priority: &p}).ID)
	}
	b.clock.Move(4*agePeriod - time.Second)
	age(b, b.st)
	want(b, "a job that is not level with others yet", standing(b, low[0]), "priority 0, aged by 0")
	b.clock.Move(time.Second)
	age(b, b.st)
	want(b, "a job in the line of a limit", standing(b, low[0]), "priority 0, aged by 4")
	b.consistent()
	want(b, "place of the job in the queue", strings.Contains(fmt.Sprint(must(b.st.Why(b.ctx, "default", low[0]))(b).Checks), "0 wait before it"), true)
	b.finish(s, j, job.OutcomeOK)
	want(b, "first job of the sequence", j.Job.ID, first[0])
	// Jobs of a sequence are taken in the order of their ids.
	wantOrder(b, "taken", takes(b, b.st, s, 2), low, row[:1])
	wantOrder(b, "taken next", takes(b, b.st, s, 2), row[1:2], urgent[:1])
	wantOrder(b, "taken then", takes(b, b.st, s, 1), urgent[1:2])
	// The wait of a job that becomes ready counts from its due time.
	age(b, b.st)
	want(b, "the last of the sequence", standing(b, row[2]), "priority 0, aged by 4")
	wantOrder(b, "taken at last", takes(b, b.st, s, 2), urgent[2:], row[2:])
	b.consistent()
}

func ageingOwnLines(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "other"}))(b)
	b.task("others", func(t *task.Task) { t.Queue, t.Limits = "other", []flow.Limit{{Running: 1}} })
	for range 6 { // more than one pass looks at
		must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "others"}}, 1000)))(b)
	}
	b.task("work", limited(flow.Limit{Running: 1}))
	ageing(b)
	withPriority(b, 0, 1) // the queue has room
	low := withPriority(b, 0, 1)
	withPriority(b, 4, 1)
	b.clock.Move(4 * agePeriod)
	age(b, b.st)
	want(b, "after one pass", standing(b, low[0]), "priority 0, aged by 4")
}

func ageingBounded(b *bench) {
	b.task("work")
	ageing(b)
	s := b.session("work")
	low := withPriority(b, 0, 1201)
	c := b.claim(s, 1)
	b.clock.Move(100 * agePeriod)
	if rest := age(b, b.st); rest < agePeriod/100 {
		b.Fatalf("next pass of ageing: got %s from now, want at least %s when no better job waits", rest, agePeriod/100)
	}
	want(b, "raised where nothing better waits", b.count(`select count(*) from belfry.jobs where aged > 0`), 0)
	urgent := withPriority(b, 7, 3)
	for i, wanted := range []int64{500, 1000, 1200, 1200} {
		b.clock.Move(time.Second)
		rest := age(b, b.st)
		if i < 2 && rest >= time.Minute {
			b.Fatalf("next pass of ageing: got %s from now, want less than a minute while jobs are left to raise", rest)
		}
		want(b, "raised so far", b.count(`select count(*) from belfry.jobs where aged = 7 and priority = 7`), wanted)
	}
	want(b, "ageing of a running job", b.count(`select aged from belfry.jobs where id = $1`, low[0]), 0)
	wantOrder(b, "taken", takes(b, b.st, s, 6), urgent, low[1:4])
	b.finish(s, c.Jobs[0], job.OutcomeOK)
	for n := 1; n > 0; n = len(takes(b, b.st, s, 1000)) {
	}
	want(b, "jobs left", b.count(`select count(*) from belfry.jobs`), 0)
}

func ageingChanged(b *bench) {
	b.task("work")
	s := b.session("work")
	low, urgent := withPriority(b, 0, 2), withPriority(b, 3, 4)
	b.clock.Move(3 * agePeriod)
	age(b, b.st)
	want(b, "in a queue without ageing", standing(b, low[0]), "priority 0, aged by 0")
	wantOrder(b, "taken", takes(b, b.st, s, 1), urgent[:1])
	must(b.st.PauseQueue(b.ctx, "default", ""))(b)
	ageing(b)
	want(b, "the queue lost its pause", must(b.st.Queue(b.ctx, "default"))(b).PausedAt.IsZero(), false)
	age(b, b.st)
	want(b, "older job of a paused queue", standing(b, low[1]), "priority 0, aged by 3")
	must(b.st.ResumeQueue(b.ctx, "default"))(b)
	more, most := withPriority(b, 0, 1), withPriority(b, 50, 1)
	ageing(b, func(q *job.Queue) { q.Ageing = core.Duration(24 * time.Hour) })
	b.clock.Move(9 * agePeriod)
	age(b, b.st)
	want(b, "with a longer period", standing(b, low[1])+"; "+standing(b, more[0]), "priority 0, aged by 3; priority 0, aged by 0")
	ageing(b, func(q *job.Queue) { q.Ageing = 0 })
	b.clock.Move(1000 * agePeriod)
	age(b, b.st)
	want(b, "jobs of a queue without ageing", standing(b, low[1])+"; "+standing(b, more[0]), "priority 0, aged by 3; priority 0, aged by 0")
	wantOrder(b, "taken at last", takes(b, b.st, s, 10), most, urgent[1:], low, more)
}

func ageingClock(b *bench) {
	b.task("work")
	ageing(b)
	s := b.session("work")
	low, urgent := withPriority(b, 0, 2), withPriority(b, 2, 2)
	wantOrder(b, "taken", takes(b, b.st, s, 1), urgent[:1])
	b.clock.Move(2 * agePeriod)
	age(b, b.st)
	b.clock.Move(-5 * time.Hour)
	ok(b, b.st.ShiftClock(b.ctx, -5*time.Hour))
	b.clock.Move(time.Second)
	age(b, b.st)
	later := withPriority(b, 2, 2)
	wantOrder(b, "taken after the clock was set back", takes(b, b.st, s, 10), urgent[1:], low, later)
}

func ageingRefused(b *bench) {
	for _, period := range []time.Duration{-time.Second, time.Nanosecond * 2000, 9 * time.Second, 32 * 24 * time.Hour} {
		_, err := b.st.SaveQueue(b.ctx, job.Queue{Name: "default", Ageing: core.Duration(period)})
		wantCode(b, err, core.Invalid, "ageing", "is outside 10s to 31d", "0 is no ageing")
	}
	_, err := b.st.SaveQueue(b.ctx, job.Queue{Name: task.ChecksQueue, Ageing: core.Duration(time.Hour)})
	wantCode(b, err, core.Invalid, "ageing", "cannot stand in a queue of Belfry's own work")
}

func ageingNodes(b *bench, nodes []*store.Store) {
	b.task("work")
	ageing(b)
	s := b.session("work")
	for p := range 4 {
		withPriority(b, p, 300)
	}
	const total = 1200
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), total)
	b.clock.Move(2 * agePeriod)
	taken := make([][]int64, 40)
	b.crowd(nodes, len(taken)/len(nodes), func(ctx context.Context, st *store.Store, i int) error {
		if i/len(nodes)%2 == 0 {
			_, err := st.AgeJobs(ctx)
			return err
		}
		taken[i] = takes(b, st, s, 10)
		return nil
	})
	for range 5 {
		age(b, nodes[0])
	}
	want(b, "jobs that are not as high as they are to be", b.count(`select count(*) from belfry.jobs where aged <> case priority - aged when 3 then 0 when 2 then 1 else 2 end`), 0)
	all := slices.Concat(taken...)
	for n := 1; n > 0; {
		ids := takes(b, nodes[1%len(nodes)], s, 1000)
		all, n = append(all, ids...), len(ids)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != total || len(all) != total {
		b.Fatalf("jobs taken: got %d claims of %d jobs, want each of %d jobs claimed once", n, len(all), total)
	}
	want(b, "jobs that have not kept their priority", b.count(`select count(*) from belfry.jobs_done where priority not in (0, 1, 2, 3)`), 0)
	want(b, "jobs of the highest", b.count(`select count(*) from belfry.jobs_done where priority = 3`), 300)
}
