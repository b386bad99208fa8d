package store

import (
	"context"

	"github.com/belfry-run/belfry/job"
)

// FailRecorded makes every lookup of recorded attempts fail.
func (s *Store) FailRecorded(err error) {
	s.jobStore.Hooks.Recorded = func(context.Context, string, []job.Finish, []job.Finished) error { return err }
}
