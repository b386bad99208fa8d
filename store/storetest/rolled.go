package storetest

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

func init() {
	addNodes("history that two nodes roll up at once is counted once", caseHistoryThatTwoNodesRollUpAtOnce)
}

// racingDatabase is a database on which another node acts before each change: between a node's read and the write that depends on
// it.
type racingDatabase struct {
	base.DB
	by func()
}

func (o racingDatabase) Write(ctx context.Context, fn func(tx base.Tx, at base.Moment) error) error {
	o.by()
	return o.DB.Write(ctx, fn)
}

func caseHistoryThatTwoNodesRollUpAtOnce(b *bench, _ []*store.Store) {
	b.task("t")
	b.schedule("s", "t", cron("*/2 * * * *"))
	b.schedule("other", "t", cron("*/3 * * * *"))
	s := b.session("t")
	for range 20 {
		b.clock.Move(time.Minute)
		b.fire()
		for _, j := range b.claim(s, 5).Jobs {
			b.clock.Move(time.Second)
			b.finish(s, j, job.OutcomeOK)
			b.clock.Move(-time.Second)
		}
		b.renew(s)
	}
	live := b.became("s") + b.became("other")
	if live == "" {
		b.Fatal("days of the schedules: got none")
	}
	b.clock.Move(10 * time.Minute)
	late := store.New(racingDatabase{b.st.DB(), func() { must(b.st.RollUp(b.ctx))(b) }}, store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono})
	for n := 0; must(late.RollUp(b.ctx))(b); n++ {
		if n > 1000 {
			b.Fatal("the roll-up reports more work without end")
		}
	}
	b.rollUp()
	want(b, "days", b.became("s")+b.became("other"), live)
	want(b, "jobs by the minute", b.count(`select sum(ok) from belfry.job_minutes`), b.count(`select count(*) from belfry.jobs_done`))
}
