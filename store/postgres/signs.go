package postgres

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// signs are the properties of its history that a server tells: the end of its log on disk, and its timeline. The timeline is a
// number that grows with each promotion and each restore from an archive. Managed servers and restricted roles refuse one or
// both.
type signs struct{ length, timeline bool }

// restored is the timeline that an operator writes to start a new epoch.
const restored = "restored"

func (s signs) lengthSQL() string {
	if s.length {
		return `(pg_current_wal_flush_lsn() - '0/0')::bigint`
	}
	return `0::bigint`
}

// timelineSQL is an empty text if the server does not tell its timeline.
func (s signs) timelineSQL() string {
	if s.timeline {
		return `left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`
	}
	return `''`
}

// placeSQL returns the columns of a [place]. They need no table or file except the one row of epoch.
func (s signs) placeSQL() string {
	same := `timeline <> '` + restored + `'`
	if s.timeline {
		same = `timeline = ` + s.timelineSQL()
	}
	return `(select case when ` + same + ` then number else -number end from belfry.epoch), ` + s.lengthSQL()
}

// kind returns how much of the history a node can notice with these signs.
func (s signs) kind() view.EpochSigns {
	switch {
	case s.timeline:
		return view.SignsTimeline
	case s.length:
		return view.SignsLog
	default:
		return view.SignsNone
	}
}

// askSigns asks which signs the server tells to this role. A standby tells none yet, and is not asked: it accepts no writes.
func askSigns(ctx context.Context, pool *pgxpool.Pool) (s signs, err error) {
	for _, one := range []struct {
		told *bool
		sql  string
	}{
		{&s.length, `pg_current_wal_flush_lsn()::text`},
		{&s.timeline, `pg_walfile_name(pg_current_wal_flush_lsn())`},
	} {
		var got *string
		err := pool.QueryRow(ctx, `select case when not pg_is_in_recovery() then `+one.sql+` end`).Scan(&got)
		if err != nil && !refused(err) {
			return s, err
		}
		*one.told = err == nil
	}
	return s, nil
}

// warn logs which guarantee is missing.
func (s signs) warn(log *slog.Logger) {
	switch s.kind() {
	case view.SignsLog:
		log.Warn("server does not report its timeline: a failover or restore that loses commits is detected by the length of its log alone, and may be missed",
			"hint", grantSigns)
	case view.SignsNone:
		log.Warn("server does not report its log position: a failover or restore that loses commits is not detected", "hint", grantSigns)
	}
}

const grantSigns = "grant execute on function pg_current_wal_flush_lsn(), pg_walfile_name(pg_lsn) to the role of the nodes, and restart them"

// refused reports that a server does not have a function, or not for this role.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42501" || pg.Code == "42883" || pg.Code == "0A000")
}

func (db *DB) inspectEpoch(ctx context.Context, d *view.DatabaseHealth) error {
	e := view.Epoch{Signs: db.signs.kind()}
	if err := db.pool.QueryRow(ctx, db.schema.sql(`select number from belfry.epoch`)).Scan(&e.Number); err != nil {
		return err
	}
	if e.Number > 1 { // the number of a later epoch is its instant
		e.Since = base.Instant(e.Number)
	}
	d.Epoch = &e
	return nil
}
