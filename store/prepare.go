package store

import (
	"context"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Prepare creates the first queues of a new database, and cleans up after an earlier life of this process. It checks the clock
// and the time zones before anything is leased or planned. Opening a store calls it.
func (s *Store) Prepare(ctx context.Context) error {
	if err := s.FollowClock(ctx); err != nil {
		return err
	}
	if _, err := s.CompareZones(ctx, false); err != nil {
		return err
	}
	return s.Write(ctx, "prepare", func(c *base.Change) error {
		for _, q := range job.FirstQueues() {
			if _, err := s.queueStore.In(c).InsertQueue(q); err != nil {
				return err
			}
		}
		if err := s.hookStore.In(c).FreeEvents(); err != nil {
			return err
		}
		return s.alertStore.In(c).FreeAlerts()
	})
}
