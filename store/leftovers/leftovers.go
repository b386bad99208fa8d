// Package leftovers applies changes of definitions to existing jobs, in parts. A leftover is a change that some jobs do not follow
// yet.
//
// A change of a definition may concern a million jobs: jobs of a deleted task or a paused schedule end, jobs of an edited task
// may need other workers, and first limits hold back ready jobs. On SQLite, a transaction blocks all other writes, and a session
// that cannot renew for long loses its jobs. So the change itself applies only to the first jobs, and leaves a row in leftovers
// for the others; the engine goes on with them. Until then, a claim checks the jobs that it leases and applies pending changes,
// so no job begins by its old definition.
//
// On PostgreSQL, an enqueue that read the old definition may commit after the change. So the row is kept when no job is left,
// until every transaction that may have read the old definition has ended: such a transaction has a lower number than the pass
// of the engine. Then the change is applied to the jobs of these transactions too.
package leftovers

import (
	"context"
	"math"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps the leftovers.
type Store struct {
	*base.Store
	jobs  *jobs.Store
	tasks *tasks.Store
}

// New returns the part of a store that keeps leftovers.
func New(b *base.Store, jobs *jobs.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, jobs: jobs, tasks: tasks}
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// Left is a leftover: a change that not all jobs follow yet.
type Left struct {
	Kind  Kind
	Owner string // the owner of the jobs: see [Kind]
	After int64  // the last job that follows the change
	Until int64  // the last job that has to follow it
	// Of jobs that end by the change.
	Reason core.Reason
	Note   string

	seen int64 // transactions from this number on have read the change; 0: some may not have
}

// AtOnce bounds the jobs to which one transaction applies a change.
const AtOnce = 1000

// Follow applies a change to the first jobs, and keeps the leftover. It includes an earlier leftover of the same kind and owner.
func (c *Change) Follow(l Left) error {
	late := rules[l.Kind].late && c.Number > 0
	switch {
	case late:
		l.Until = math.MaxInt64
	case l.Until == 0:
		last, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select coalesce(max(id), 0) from belfry.jobs`)
		if err != nil {
			return err
		}
		l.Until = last
	}
	left, err := c.part(&l)
	if err != nil {
		return err
	}
	if !left && !late {
		return c.Forget(l.Kind, l.Owner)
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.leftovers (kind, owner, after_job, until_job, reason, note)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (kind, owner) do update
		set after_job = excluded.after_job, until_job = excluded.until_job, reason = excluded.reason, note = excluded.note, seen = 0`,
		string(l.Kind), l.Owner, l.After, l.Until, string(l.Reason), l.Note)
	return err
}

// Forget deletes the leftover of a change that another change has undone.
func (c *Change) Forget(kind Kind, owner string) error {
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.leftovers where kind = $1 and owner = $2`, string(kind), owner)
	return err
}

// part applies a change to the next jobs. more reports whether more jobs may be left.
func (c *Change) part(l *Left) (more bool, err error) {
	rule, arg := rules[l.Kind], ownerKey(l.Owner)
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where `+rule.theirs(l.Owner)+` and id > $2 and id <= $3 and `+rule.behind+` and `+c.s.Unleased()+`
		order by id
		limit $4 + 0`, arg, l.After, l.Until, AtOnce)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	l.After = ids[len(ids)-1]
	return len(ids) == AtOnce, rule.follow(c, *l, ids)
}

const columns = `kind, owner, after_job, until_job, reason, note, seen`

func scan(rows base.Rows) (l Left, err error) {
	return l, rows.Scan((*string)(&l.Kind), &l.Owner, &l.After, &l.Until, (*string)(&l.Reason), &l.Note, &l.seen)
}

// FollowLeft applies leftovers to the next jobs. more reports whether leftovers remain.
func (s *Store) FollowLeft(ctx context.Context) (more bool, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		_, more, err = base.First(ctx, tx, scan, `select `+columns+` from belfry.leftovers limit 1`)
		return err
	})
	if err != nil || !more {
		return false, err
	}
	err = s.Write(ctx, "follow changes of definitions", func(b *base.Change) error {
		c := s.In(b)
		l, found, err := base.First(c.Ctx, c.Tx, scan, `
			select `+columns+`
			from belfry.leftovers
			where seen <= $1
			order by kind, owner
			limit 1`+c.SQL.ForUpdate("leftovers"), c.Oldest)
		if more = found; err != nil || !found {
			return err
		}
		left, err := c.part(&l)
		switch {
		case err != nil:
			return err
		case !left && (l.seen > 0 || !rules[l.Kind].late || c.Number == 0):
			return c.Forget(l.Kind, l.Owner)
		case !left: // begin again at the first job, when all transactions before this one have ended
			l.After, l.seen = 0, c.Number
		}
		_, err = c.Tx.Exec(c.Ctx, `update belfry.leftovers set after_job = $3, seen = $4 where kind = $1 and owner = $2`, string(l.Kind), l.Owner, l.After, l.seen)
		return err
	})
	return more, err
}
