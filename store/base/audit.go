package base

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

// Audit records a change in the transaction of the change, so that every change has a row and every row has a change.
func (c *Change) Audit(action, noun, namespace, name, note string, before, after any) error {
	doc := docOrNull(after)
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.audit (at, namespace, actor, action, noun, name, note, before, after)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		Micros(c.Now), namespace, access.ActorOf(c.Ctx), action, noun, name, note, docOrNull(before), doc)
	c.Wake(TopicJobs)
	if err == nil && action == "create" && c.s.created != nil {
		err = c.s.created(c, noun, namespace, name)
	}
	if err != nil || doc == nil {
		return err
	}
	return c.s.audited(c, *doc)
}

// RecordAudit records events outside of a transition, such as refusals.
func (s *Store) RecordAudit(ctx context.Context, rows []access.Audit) error {
	return s.Write(ctx, "record audit", func(c *Change) error {
		for _, a := range rows {
			was := c.Ctx
			c.Ctx = access.WithActor(was, a.Actor)
			err := c.Audit(a.Action, a.Noun, a.Namespace, a.Name, a.Note, nil, nil)
			if c.Ctx = was; err != nil {
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
	s := Text(v)
	return &s
}

// AuditColumns are the columns that [ScanAudit] reads, in its order.
const AuditColumns = `seq, at, namespace, actor, action, noun, name, note, before, after`

// ScanAudit reads one row of [AuditColumns].
func ScanAudit(rows Rows) (a access.Audit, err error) {
	return a, rows.Scan(&a.Seq, ScanTime(&a.At), &a.Namespace, &a.Actor, &a.Action, &a.Noun, &a.Name, &a.Note, scanJSON(&a.Before), scanJSON(&a.After))
}

// Audit lists the changes, newest first.
func (s *Store) Audit(ctx context.Context, f access.AuditFilter) (p core.Page[access.Audit], err error) {
	before, err := DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	w := &Where{}
	if f.Namespace == "" {
		f.Namespace = core.DefaultNamespace
	}
	w.Namespace("namespace", f.Namespace)
	w.Equals("noun", f.Noun)
	w.Equals("name", f.Name)
	w.Equals("actor", f.Actor)
	if !f.Since.IsZero() {
		w.And("at >= ?", Micros(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("at < ?", Micros(f.Until))
	}
	if before > 0 {
		w.And("seq < ?", before)
	}
	limit := f.Bound()
	err = s.db.Read(ctx, func(tx Tx) error {
		p, err = CollectPage(ctx, tx, limit, ScanAudit, func(a access.Audit) string { return EncodeCursor(strconv.FormatInt(a.Seq, 10)) }, `
			select `+AuditColumns+`
			from belfry.audit
			where `+w.Sql()+`
			order by seq desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		return err
	})
	return p, err
}
