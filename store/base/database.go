package base

import (
	"context"
)

// Unleased is the condition that a job has no lease.
func (s *Store) Unleased() string { return s.SQL.Unleased("id") }

// UnleasedOfMany is the same for a walk over many jobs, which looks at all packs
// together.
func (s *Store) UnleasedOfMany() string { return OwnLeaseless + s.SQL.UnpackedSince("id", "0") }

// ReadyIn are the ready jobs of a queue that have no lease.
func (s *Store) ReadyIn() string {
	return ` from belfry.jobs where queue = $1 and state = 'ready' and ` + s.UnleasedOfMany()
}

// OwnLeaseless is the condition that a job has no row of leases of its own. The
// look for one is written as a value, because that can only be planned as a
// look-up by key.
const OwnLeaseless = `(select number from belfry.leases where job_id = id) is null`

// FirstReady is since when the first in line of a queue is ready; 0: nothing is.
func (s *Store) FirstReady(ctx context.Context, tx Tx, queue string) (int64, error) {
	at, _, err := First(ctx, tx, ScanInt, `select ready_at`+s.ReadyIn()+` order by priority desc, turn, id limit 1`, queue)
	return at, err
}
