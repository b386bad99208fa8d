// Package leftovers has jobs follow the definitions that they come from, in parts.
//
// A change of a definition may concern a million jobs: those of a deleted task end, those of a paused schedule too, those of
// an edited task may be for other workers, and first limits hold back what is ready. On SQLite nothing else is written while
// a transaction lasts, and a session that cannot renew for long loses its jobs. So the change itself brings only the first
// jobs in line, and leaves a row that says which are left; the engine goes on with that. Until then a claim looks at what
// it takes: a job that is left behind is brought in line there, and none begins as its old definition says.
//
// Where several transactions write at once, an enqueue that read the old definition may commit after the change. So the row
// stays when nothing is left, until all have ended that may have read it: one that began before a pass of the engine did
// has a lower number than that pass. Then what they made follows too.
package leftovers

import (
	"context"
	"math"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps what is left of changes.
type Store struct {
	*base.Store
	jobs  *jobs.Store
	tasks *tasks.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, jobs: jobs, tasks: tasks}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// Left is what is left of a change.
type Left struct {
	Kind  Kind
	Owner string // whose jobs follow it: see [Kind]
	After int64  // the last job that has followed
	Until int64  // the last job that has to
	// Of jobs that end with it.
	Reason core.Reason
	Note   string

	seen int64 // transactions from this number on know of the change; 0: some may not
}

// AtOnce bounds how many jobs follow in one transaction.
const AtOnce = 1000

// Follow has the first jobs follow a change, and keeps what is left. An earlier change of the same kind and owner that was
// not yet followed is part of it.
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

// Forget drops what is left of a change that another has undone.
func (c *Change) Forget(kind Kind, owner string) error {
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.leftovers where kind = $1 and owner = $2`, string(kind), owner)
	return err
}

// part has the next jobs follow, and answers whether there may be more.
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

// FollowLeft has the next jobs follow the changes that are left, and says whether there are more.
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
		case !left: // from the first again, once all that began before this transaction have ended
			l.After, l.seen = 0, c.Number
		}
		_, err = c.Tx.Exec(c.Ctx, `update belfry.leftovers set after_job = $3, seen = $4 where kind = $1 and owner = $2`, string(l.Kind), l.Owner, l.After, l.seen)
		return err
	})
	return more, err
}
