//go:build linux

package rates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Samples makes twenty finished jobs through the store: most were enqueued and succeeded at once, one succeeded at its
// second attempt, one failed, and some came from schedules.
func Samples(ctx context.Context, st *store.Store) error {
	const fails, again, fired = "fails", "again", 4
	var h worker.Handlers
	node.Nothing(&h)
	worker.Handle(&h, fails, func(context.Context, struct{}) (struct{}, error) {
		return struct{}{}, errors.New("the sample fails, as it should")
	})
	worker.Handle(&h, again, func(ctx context.Context, _ struct{}) (struct{}, error) {
		if j, _ := worker.JobFrom(ctx); j.Snoozes == 0 {
			return struct{}{}, worker.Snooze(time.Millisecond)
		}
		return struct{}{}, nil
	})
	if err := st.EnsureFuncs(ctx, core.DefaultNamespace, h.Names()); err != nil {
		return err
	}
	jobs := append(database.NewJobs(14), job.NewJob{Task: fails, MaxAttempts: 1}, job.NewJob{Task: again})
	if _, err := st.Enqueue(ctx, jobs); err != nil {
		return err
	}
	for i := range fired {
		soon := time.Now().Add(time.Second).UTC() // for each schedule: on a busy machine the time of the first has passed before the last is made
		if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: fmt.Sprintf("sample-%d", i), Task: database.Noop, Rules: []schedule.Rule{{At: []time.Time{soon}}}}); err != nil {
			return err
		}
	}
	counted := node.NewTally()
	node, err := node.Embed(ctx, st, node.Tuning{}, &h, counted)
	if err != nil {
		return err
	}
	err = node.Await(ctx, counted, int64(len(jobs)+1+fired)) // the snooze is a result too
	return errors.Join(err, node.Stop())
}

// Fill makes a history of n finished jobs, copies of the samples, that ended over the days before now.
func Fill(ctx context.Context, s *database.Site, n, days int) error {
	err := s.With(ctx, store.Options{Keep: database.KeepAll}, func(st *store.Store) error {
		if err := Samples(ctx, st); err != nil || n == 0 {
			return err
		}
		return s.CloneHistory(ctx, st, n, time.Duration(days)*24*time.Hour)
	})
	if err != nil {
		return err
	}
	return s.Calm(ctx)
}
