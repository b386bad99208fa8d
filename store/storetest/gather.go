package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
)

func init() {
	addNodes("calls that come together each get their own answer, and a refused one fails alone", caseCallsThatComeTogetherEachGetTheirOwnAnswer)
	addNodes("a call whose context ends makes its jobs or does not, and delays no other", caseACallWhoseContextEndsMakesItsJobsOr)
}

func caseCallsThatComeTogetherEachGetTheirOwnAnswer(b *bench, nodes []*store.Store) {
	const callers, each = 24, 10
	b.task("t")
	var mu sync.Mutex
	seen := map[int64]string{}
	b.crowd(nodes, callers/len(nodes), func(ctx context.Context, st *store.Store, i int) error {
		for k := range each {
			if i%4 == 0 {
				_, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}, {Task: "no-such"}})
				if core.CodeOf(err) != core.NotFound {
					return fmt.Errorf("caller %d: %w", i, err)
				}
				continue
			}
			tag := fmt.Sprintf("c%d-%d", i, k)
			out, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Tags: []string{tag}}, {Task: "t", Tags: []string{tag}}})
			if err != nil || len(out) != 2 {
				return fmt.Errorf("caller %d: %d answers, %w", i, len(out), err)
			}
			mu.Lock()
			for _, e := range out {
				if e.Job.Tags[0] != tag || seen[e.Job.ID] != "" {
					err = fmt.Errorf("caller %d got job %d of %v", i, e.Job.ID, e.Job.Tags)
				}
				seen[e.Job.ID] = tag
			}
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	})
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), int64(len(seen)))
	for id, tag := range seen {
		want(b, "tag", b.job(id).Tags[0], tag)
	}
}

func caseACallWhoseContextEndsMakesItsJobsOr(b *bench, nodes []*store.Store) {
	b.task("t")
	b.crowd(nodes, 8, func(ctx context.Context, st *store.Store, i int) error {
		for k := range 20 {
			short, cancel := context.WithCancel(ctx)
			if (i+k)%2 == 0 {
				cancel()
			}
			_, err := st.Enqueue(short, []job.NewJob{{Task: "t"}})
			cancel()
			if (i+k)%2 == 1 && err != nil {
				return err
			}
		}
		return nil
	})
	must(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}}))(b)
}
