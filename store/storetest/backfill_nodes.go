package storetest

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
)

func init() {
	addNodes("nodes that refill at the same moment make each nominal time once", caseNodesThatRefillAtTheSameMomentMakeEach)
}

func caseNodesThatRefillAtTheSameMomentMakeEach(b *bench, nodes []*store.Store) {
	b.task("t")
	b.schedule("wide", "t", cron("* * * * *"))
	b.schedule("narrow", "t", cron("* * * * *"))
	wide := backfills{b}.backfill("wide", -600*time.Minute, 0, sideBySide)
	narrow := backfills{b}.backfill("narrow", -9*time.Minute, 0)
	s := b.session("t")
	var jobs atomic.Int64
	for range 60 {
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, _ int) error {
			_, err := st.Refill(ctx)
			return err
		})
		seen := map[string]int{}
		c := b.claim(s, 200)
		for _, j := range c.Jobs {
			seen[j.Job.Schedule]++
		}
		if seen["narrow"] > 1 {
			b.Fatalf("jobs of buffer_all at once: got %d, want at most 1", seen["narrow"])
		}
		b.crowd(nodes, 1, func(ctx context.Context, st *store.Store, i int) error {
			var fs []job.Finish
			for k, j := range c.Jobs {
				if k%len(nodes) == i {
					fs = append(fs, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK})
				}
			}
			for part := range slices.Chunk(fs, core.MaxBatch) {
				if _, err := st.Finish(ctx, s.ID, part); err != nil {
					return err
				}
			}
			return nil
		})
		jobs.Add(int64(len(c.Jobs)))
		if len(c.Jobs) == 0 && jobs.Load() >= 611 {
			break
		}
	}
	want(b, "jobs", jobs.Load(), 611)
	want(b, "different nominal times", b.count(`select count(*) from (select distinct schedule_id, nominal from belfry.jobs_done) as d`), 611)
	want(b, "occurrences", b.count(`select count(*) from belfry.occurrences where decision = 'job'`), 611)
	want(b, "backfill of the wide schedule", backfills{b}.row(wide), "completed, done 0s, made 601, left out 0")
	want(b, "narrow", backfills{b}.row(narrow), "completed, done 0s, made 10, left out 0")
}
