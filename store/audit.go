package store

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// audit records a change in its own transaction, so that there is no change
// without a row and no row without a change.
func (c *change) audit(action, noun, namespace, name, note string, before, after any) error {
	doc := docOrNull(after)
	_, err := c.tx.Exec(c.ctx, `
		insert into belfry.audit (at, namespace, actor, action, noun, name, note, before, after)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		micros(c.now), namespace, access.ActorOf(c.ctx), action, noun, name, note, docOrNull(before), doc)
	c.wake(topicJobs)
	if err != nil || doc == nil {
		return err
	}
	return c.s.audited(c, *doc)
}

// RecordAudit keeps what happened outside of a transition, such as refusals.
func (s *Store) RecordAudit(ctx context.Context, rows []access.Audit) error {
	return s.write(ctx, "record audit", func(c *change) error {
		for _, a := range rows {
			was := c.ctx
			c.ctx = access.WithActor(was, a.Actor)
			err := c.audit(a.Action, a.Noun, a.Namespace, a.Name, a.Note, nil, nil)
			if c.ctx = was; err != nil {
				return err
			}
		}
		return nil
	})
}

func docOrNull(v any) *string {
	if v == nil {
		return nil
	}
	s := text(v)
	return &s
}

const auditColumns = `seq, at, namespace, actor, action, noun, name, note, before, after`

func scanAudit(rows Rows) (a access.Audit, err error) {
	return a, rows.Scan(&a.Seq, scanTime(&a.At), &a.Namespace, &a.Actor, &a.Action, &a.Noun, &a.Name, &a.Note, scanJSON(&a.Before), scanJSON(&a.After))
}

// Audit lists who changed what, newest first.
func (s *Store) Audit(ctx context.Context, f access.AuditFilter) (p core.Page[access.Audit], err error) {
	before, err := decodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &where{}
	if f.Namespace == "" {
		f.Namespace = core.DefaultNamespace
	}
	w.namespace("namespace", f.Namespace)
	w.equals("noun", f.Noun)
	w.equals("name", f.Name)
	w.equals("actor", f.Actor)
	if !f.Since.IsZero() {
		w.and("at >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		w.and("at < ?", micros(f.Until))
	}
	if before > 0 {
		w.and("seq < ?", before)
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		rows, err := collect(ctx, tx, scanAudit, `
			select `+auditColumns+`
			from belfry.audit
			where `+w.sql()+`
			order by seq desc
			limit `+strconv.Itoa(limit+1), w.args...)
		p = page(rows, limit, func(a access.Audit) string { return encodeCursor(strconv.FormatInt(a.Seq, 10)) })
		return err
	})
	return p, err
}
