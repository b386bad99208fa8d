//go:build linux

package rates

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

// bareFile is [Bare] with whole jobs and Belfry's history on SQLite. One connection runs all statements in turn, since only
// one can write.
type bareFile struct{ batch int }

const (
	bareFileSchema = `create table bare_leases (number integer primary key, session text not null, jobs text not null, deadline_at integer not null)`
	bareFilePick   = `
		select id, turn, ` + bareWhole + `
		from belfry.jobs
		where state = 'ready' and queue = 'default' and priority = 0 and (turn, id) > ($1, $2)
		order by priority desc, turn, id
		limit $3`
	bareFileMove = `insert into belfry.jobs_done (` + jobs.DoneColumns + `)` + bareEnded + ` from belfry.jobs where `
)

func (b bareFile) run(ctx context.Context, d *database.Database, n int) (w Work, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fill := func(st *store.Store) error {
		if _, err := EnqueueBulk(ctx, s, st, n); err != nil {
			return err
		}
		return st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error { _, err := tx.Exec(ctx, bareFileSchema); return err })
	}
	if err := s.With(ctx, store.Options{}, fill); err != nil {
		return w, err
	}
	return w, s.With(ctx, store.Options{}, func(st *store.Store) error {
		m, err := s.Meter(ctx)
		if err != nil {
			return err
		}
		var turn, id int64 // of the last job before
		for number := int64(1); w.Jobs < n; number++ {
			var ids []int64
			var now int64
			err := st.DB().Write(ctx, func(tx base.Tx, at base.Moment) (err error) {
				now = at.Now.UnixMicro()
				ids, turn, id, err = b.claim(ctx, tx, st.DB().Dialect(), number, turn, id)
				return err
			})
			if err == nil && len(ids) == 0 {
				err = fmt.Errorf("%d jobs are missing", n-w.Jobs)
			}
			if err == nil {
				err = st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error { return b.end(ctx, tx, st.DB().Dialect(), number, ids, now) })
			}
			if err != nil {
				return err
			}
			w.Jobs += len(ids)
		}
		w.Usage, err = m.Read(ctx)
		return err
	})
}

func (b bareFile) claim(ctx context.Context, tx base.Tx, sql base.Dialect, number, turn, id int64) (ids []int64, _, _ int64, err error) {
	rows, err := tx.Query(ctx, bareFilePick, turn, id, b.batch)
	if err != nil {
		return nil, 0, 0, err
	}
	defer rows.Close()
	rest := make([]any, 28)
	places := []any{&id, &turn}
	for i := range rest {
		places = append(places, &rest[i])
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return nil, 0, 0, err
		}
		ids = append(ids, id)
	}
	rows.Close()
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return nil, 0, 0, err
	}
	_, err = tx.Exec(ctx, `insert into bare_leases (number, session, jobs, deadline_at) values ($1, $2, $3, $1)`, number, bareSession, sql.List(ids))
	return ids, turn, id, err
}

func (b bareFile) end(ctx context.Context, tx base.Tx, sql base.Dialect, number int64, ids []int64, now int64) error {
	moved, err := tx.Exec(ctx, bareFileMove+sql.In("id", 2), number, sql.List(ids), bareSession, now)
	if err == nil && int(moved) != len(ids) {
		err = errors.New(strconv.FormatInt(moved, 10) + " jobs ended")
	}
	if err == nil {
		_, err = tx.Exec(ctx, `delete from belfry.jobs where `+sql.In("id", 1), sql.List(ids))
	}
	if err == nil {
		_, err = tx.Exec(ctx, `delete from bare_leases where number = $1`, number)
	}
	return err
}
