package storetest

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a failure skips all that wait in its sequence, however many", sequenceSkipsMany)
	add("many sequences that fail at the same moment skip all that wait", sequencesSkipTogether)
	add("a rate that was raised does not wait for the start of the old one", limitRateRaised)
	add("a job that comes when a rate is due holds up none that waits", limitRateDueAtArrival)
	add("a limit of many keys that is raised far lets in all for whom there is room", limitRaisedFar)
	add("a limit that was lowered holds back jobs that wait for another limit", limitLowered)
	txCases["a job that is tried again after a finish in a transaction waits under its limit, and not for ever"] = limitFinishTx
	add("a request that makes no job uses no place and no rate", limitsOfWhatIsNotMade)
	add("a job that ran before its task had limits is tried again under them", limitFirstRetried)
}

func sequenceSkipsMany(b *bench) {
	b.task("work", inSequence(flow.SequenceSkips))
	s := b.session("work")
	var ns []job.NewJob
	for range 700 {
		ns = append(ns, customer("a"))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError, failForGood)
	for range 5 {
		b.promote()
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
	want(b, "stopped", b.count(`select count(*) from belfry.limit_keys where stopped_by > 0`), 0)
}

func sequencesSkipTogether(b *bench) {
	b.task("work", inSequence(flow.SequenceSkips))
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "tester", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"work"}, Queues: map[string]int{"default": 100}}))(b)
	var ns []job.NewJob
	for i := range 80 {
		ns = append(ns, customer(i%40))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	var fs []job.Finish
	for _, j := range b.claim(s, 100).Jobs {
		fs = append(fs, job.Finish{Ref: refOf(j), Outcome: job.OutcomeError, Error: "x", NoRetry: true})
	}
	want(b, "claimed", len(fs), 40)
	must(b.st.Finish(b.ctx, s.ID, fs))(b)
	for range 10 {
		b.promote()
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

// More keys than one query asks for all waiting jobs, each with more waiting jobs than one look reads.
func limitRaisedFar(b *bench) {
	t := b.task("work", limited(flow.Limit{Key: "input.customer", Running: 1}))
	var ns []job.NewJob
	for i := range 20 * 12 {
		ns = append(ns, customer(i%20))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	t.Limits = []flow.Limit{{Key: "input.customer", Running: 10}}
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	want(b, "ready", b.count(`select count(*) from belfry.jobs where state = 'ready'`), 200)
	b.consistent()
}

// Until the lowered limit has capacity again, no job waits for it: all wait under their customers.
func limitLowered(b *bench) {
	each := flow.Limit{Name: "each", Key: "input.customer", Running: 1}
	t := b.task("work", limited(each, flow.Limit{Name: "all", Running: 4}))
	s := b.session("work")
	var ns []job.NewJob
	for i := range 8 {
		ns = append(ns, customer(i%4))
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	begun := b.claim(s, 10).Jobs
	want(b, "claimed", len(begun), 4)
	t.Limits = []flow.Limit{each, {Name: "all", Running: 2}}
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	for i, next := range []int{0, 0, 1, 1} {
		b.finish(s, begun[i], job.OutcomeOK)
		want(b, fmt.Sprintf("claimed when %d have ended", i+1), len(b.claim(s, 10).Jobs), next)
	}
	b.consistent()
}

func limitRateRaised(b *bench) {
	t := b.task("work", limited(flow.Limit{Rate: "1/24h"}))
	s := b.session("work")
	for range 3 {
		b.enqueue(customer("a"))
	}
	want(b, "claimed", len(b.claim(s, 10).Jobs), 1)
	t.Limits = []flow.Limit{{Rate: "1/s"}}
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	b.clock.Move(2 * time.Second)
	b.promote()
	want(b, "claimed under the new rate", len(b.claim(s, 10).Jobs) > 0, true)
}

// limitRateDueAtArrival has a job come after the rate admits the next one, and before the engine has looked.
func limitRateDueAtArrival(b *bench) {
	b.task("work", limited(flow.Limit{Rate: "1/s"}))
	s := b.session("work")
	b.enqueue(customer("a"))
	want(b, "claimed", len(b.claim(s, 10).Jobs), 1) // it goes on running: no end of a job admits the next one
	waits := b.enqueue(customer("a"))
	b.clock.Move(2 * time.Second)
	b.enqueue(customer("a"))
	b.promote()
	claim := b.claim(s, 10)
	want(b, "jobs claimed when the rate admits one", len(claim.Jobs), 1)
	want(b, "the claimed job", claim.Jobs[0].Job.ID, waits.ID)
	b.consistent()
}

func limitFinishTx(b *bench, begin func() UserTx) {
	b.task("work", limited(flow.Limit{Running: 1}), func(t *task.Task) { t.Retry.MaxAttempts = 5; t.Retry.Delay = core.Duration(time.Second) })
	s := b.session("work")
	b.enqueue(customer("a"))
	b.enqueue(customer("b"))
	j := b.claim(s, 10).Jobs[0]
	tx := begin()
	must(b.st.FinishTx(b.ctx, tx.Tx, job.Finish{Ref: refOf(j), Outcome: job.OutcomeError, Error: "x"}))(b)
	ok(b, tx.Commit())
	b.clock.Move(2 * time.Second) // before an engine has looked
	for range 4 {
		b.promote()
	}
	b.consistent()
	for n := range 2 {
		c := b.claim(s, 10)
		want(b, "claimed", len(c.Jobs), 1)
		b.finish(s, c.Jobs[0], job.OutcomeOK)
		_ = n
	}
	want(b, "left", b.count(`select count(*) from belfry.jobs`), 0)
}

func limitFirstRetried(b *bench) {
	t := b.task("work", func(t *task.Task) { t.Retry.MaxAttempts = 5; t.Retry.Delay = core.Duration(time.Minute) })
	s := b.session("work")
	for range 2 {
		b.enqueue(customer("a"))
	}
	running := b.claim(s, 2)
	t.Limits = []flow.Limit{{Running: 1}}
	must(b.st.UpdateTask(b.ctx, t))(b)
	b.promote()
	for _, j := range running.Jobs {
		b.finish(s, j, job.OutcomeHandedBack)
	}
	b.promote()
	want(b, "claimed under the limit", len(b.claim(s, 10).Jobs), 1)
}

func limitsOfWhatIsNotMade(b *bench) {
	b.task("holder")
	b.task("work", limited(flow.Limit{Rate: "1/h"}))
	b.task("single", limited(flow.Limit{Running: 1}))
	b.task("debounced", limited(flow.Limit{Rate: "1/h"}), debounced("task", time.Minute, 0))
	b.task("throttled", limited(flow.Limit{Rate: "2/h", Burst: 2}), throttled("task", time.Minute))
	holder := b.enqueue(job.NewJob{Task: "holder", ActiveKey: "k"})
	not := func(n job.NewJob) {
		b.Helper()
		want(b, "repeated request gets the existing job", must(b.st.Enqueue(b.ctx, []job.NewJob{n}))(b)[0].Existing, true)
	}
	enters := func(n job.NewJob, state job.State) {
		b.Helper()
		want(b, n.Task, b.enqueue(n).State, state)
		b.consistent()
	}
	not(job.NewJob{Task: "work", ActiveKey: "k"})
	not(job.NewJob{Task: "single", ActiveKey: "k"})
	want(b, "places", b.count(`select count(*) from belfry.limit_jobs`), 0)
	batch := must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "work", ActiveKey: "k"}, {Task: "work", ActiveKey: "own", Key: "once"}, {Task: "work", ActiveKey: "own"}}))(b)
	want(b, "the job that has the key", batch[0].Job.ID, holder.ID)
	want(b, "made", batch[1].Job.State, job.Ready)
	want(b, "job of the second request in the batch", batch[2].Job.ID, batch[1].Job.ID)
	not(job.NewJob{Task: "work", ActiveKey: "own", Key: "once"})
	enters(job.NewJob{Task: "work", ActiveKey: "next"}, job.Waiting)
	enters(job.NewJob{Task: "single", ActiveKey: "single"}, job.Ready)
	enters(job.NewJob{Task: "single", ActiveKey: "another"}, job.Waiting)
	want(b, "places", b.count(`select count(*) from belfry.limit_jobs`), 4)

	enters(job.NewJob{Task: "debounced"}, job.Scheduled)
	not(job.NewJob{Task: "debounced"})
	enters(job.NewJob{Task: "throttled"}, job.Ready)
	not(job.NewJob{Task: "throttled"})
	b.clock.Move(2 * time.Minute)
	enters(job.NewJob{Task: "throttled"}, job.Ready)
	b.promote()
	want(b, "the debounced job", b.count(`select count(*) from belfry.jobs where task = 'debounced' and state = 'ready'`), 1)

	q := job.Queue{Name: "default", Limits: []flow.Limit{{Rate: "1/h"}}, MaxWaiting: 1}
	must(b.st.SaveQueue(b.ctx, q))(b)
	wantCode(b, second(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "holder"}})), core.QueueFull)
	q.MaxWaiting = 0
	must(b.st.SaveQueue(b.ctx, q))(b)
	enters(job.NewJob{Task: "holder"}, job.Ready)
	enters(job.NewJob{Task: "holder"}, job.Waiting)
}
