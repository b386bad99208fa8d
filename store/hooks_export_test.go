package store

import (
	"context"

	"github.com/belfry-run/belfry/job"
)

// FailRecorded lets every look for what is recorded of repeated finishes fail.
func (s *Store) FailRecorded(err error) {
	s.jobStore.Hooks.Recorded = func(context.Context, string, []job.Finish, []job.Finished) error { return err }
}
