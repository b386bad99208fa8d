// Package incidents keeps the work of people on incidents: acknowledgements, assignments and updates. Package monitors opens
// and closes incidents.
package incidents

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/subscribers"
)

// Store keeps the work of people on incidents.
type Store struct {
	*base.Store
	subscribers *subscribers.Store
}

// New is the part of a store that keeps it.
func New(b *base.Store, s *subscribers.Store) *Store { return &Store{b, s} }

// Incident returns one incident with its updates.
func (s *Store) Incident(ctx context.Context, namespace string, id int64) (i monitor.Incident, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		i, err = read(ctx, tx, namespace, id, "")
		return err
	})
	return i, err
}

// AcknowledgeIncident acknowledges an incident, open or over, for the caller. The first acknowledgement counts: the same caller
// gets it again, and another caller gets a [core.Conflict].
func (s *Store) AcknowledgeIncident(ctx context.Context, namespace string, id int64, note string) (i monitor.Incident, err error) {
	err = s.Write(ctx, "acknowledge incident", func(c *base.Change) error {
		if i, err = lockIncident(c, namespace, id); err != nil {
			return err
		}
		a, err := i.Acknowledge(monitor.Acknowledgement{By: access.ActorOf(ctx), At: c.Now, Note: note})
		if err != nil || i.Acknowledged != nil {
			return err
		}
		i.Acknowledged = &a
		return setAcknowledged(c, i, "acknowledge", base.Text(a), a.Note)
	})
	return i, err
}

// UnacknowledgeIncident removes an acknowledgement. Any person may do so. Without an acknowledgement it changes nothing.
func (s *Store) UnacknowledgeIncident(ctx context.Context, namespace string, id int64) (i monitor.Incident, err error) {
	err = s.Write(ctx, "unacknowledge incident", func(c *base.Change) error {
		if i, err = lockIncident(c, namespace, id); err != nil || i.Acknowledged == nil {
			return err
		}
		by := i.Acknowledged.By
		i.Acknowledged = nil
		return setAcknowledged(c, i, "unacknowledge", "", "it was acknowledged by "+by)
	})
	return i, err
}

func setAcknowledged(c *base.Change, i monitor.Incident, action, text, note string) error {
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.incidents set acknowledged = $2 where id = $1`, i.ID, text); err != nil {
		return err
	}
	return c.Audit(action, "incident", i.Namespace, strconv.FormatInt(i.ID, 10), note, nil, nil)
}

// UpdateIncident adds an update of the caller to an incident, open or over. Updates are never changed, and a repeated update is
// stored once.
func (s *Store) UpdateIncident(ctx context.Context, namespace string, id int64, u monitor.Update) (out monitor.Update, err error) {
	err = s.Write(ctx, "update incident", func(c *base.Change) error {
		i, err := lockIncident(c, namespace, id)
		if err != nil {
			return err
		}
		u.At, u.Actor = c.Now, access.ActorOf(ctx)
		var existing bool
		if out, existing, err = i.AddUpdate(u); err != nil || existing {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.incident_updates (incident_id, seq, at, actor, state, text, public)
			values ($1, $2, $3, $4, $5, $6, $7)`, id, out.Seq, base.Micros(out.At), out.Actor, string(out.State), out.Text, base.Bit(out.Public)); err != nil {
			return err
		}
		if err := s.subscribers.In(c).Updated(i, out); err != nil {
			return err
		}
		return c.Audit("update", "incident", i.Namespace, strconv.FormatInt(id, 10), string(out.State), nil, nil)
	})
	return out, err
}

// lockIncident reads an incident with its updates, under its lock.
func lockIncident(c *base.Change, namespace string, id int64) (monitor.Incident, error) {
	return read(c.Ctx, c.Tx, namespace, id, c.SQL.ForUpdate("incidents"))
}

func read(ctx context.Context, tx base.Tx, namespace string, id int64, lock string) (monitor.Incident, error) {
	i, found, err := base.First(ctx, tx, monitors.ScanIncident, `select `+monitors.IncidentColumns+` from belfry.incidents where id = $1`+lock, id)
	if err != nil {
		return i, err
	}
	if !found || namespace != core.AnyNamespace && i.Namespace != base.NamespaceOr(namespace) {
		return monitor.Incident{}, core.Errorf(core.NotFound, "no incident %d", id).WithHint("see: belfry incident list")
	}
	i.Updates, err = base.Collect(ctx, tx, func(r base.Rows) (u monitor.Update, err error) {
		return u, r.Scan(&u.Seq, base.ScanTime(&u.At), &u.Actor, &u.State, &u.Text, &u.Public)
	}, `
		select seq, at, actor, state, text, public <> 0
		from belfry.incident_updates
		where incident_id = $1
		order by seq`, id)
	return i, err
}

// AcknowledgedBy returns who has acknowledged an incident, or "".
func AcknowledgedBy(c *base.Change, incident int64) (string, error) {
	if incident <= 0 {
		return "", nil
	}
	a, _, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (a monitor.Acknowledgement, err error) {
		return a, r.Scan(base.ScanDoc(&a))
	}, `select acknowledged from belfry.incidents where id = $1`, incident)
	return a.By, err
}
