package base

import (
	"context"
)

// Unleased is the condition that a job has no lease.
func (s *Store) Unleased() string { return s.SQL.Unleased("id") }

// UnleasedOfMany is the same condition for a walk over many jobs: it reads all packs at once.
func (s *Store) UnleasedOfMany() string { return OwnLeaseless + s.SQL.UnpackedSince("id", "0") }

// ReadyIn are the ready jobs of a queue that have no lease.
func (s *Store) ReadyIn() string {
	return ` from belfry.jobs where queue = $1 and state = 'ready' and ` + s.UnleasedOfMany()
}

// OwnLeaseless is the condition that a job has no row of its own in leases. It is written as a scalar subquery, which can only
// be planned as a look-up by key.
const OwnLeaseless = `(select number from belfry.leases where job_id = id) is null`

// FirstReady returns since when the first job of a queue is ready; 0: no job is ready.
func (s *Store) FirstReady(ctx context.Context, tx Tx, queue string) (int64, error) {
	at, _, err := First(ctx, tx, ScanInt, `select ready_at`+s.ReadyIn()+` order by priority desc, turn, id limit 1`, queue)
	return at, err
}
