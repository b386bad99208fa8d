package hooks

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// hookRow is the state of a hook.
type hookRow struct {
	id                                                  int64
	namespace, name, reason                             string
	paused                                              int
	due, taken, tries, failing, disabled, sent, dropped int64
	pull, seq, acked                                    int64 // pull: 1 if programs pull the events; seq: the last assigned place; acked: the last acknowledged place
}

const hookColumns = `id, namespace, name, paused, due_at, taken_until, tries, failing_at, disabled_at, reason, sent_at, dropped, pull, last_seq, acked`

func scanHook(r base.Rows) (h hookRow, err error) {
	return h, r.Scan(&h.id, &h.namespace, &h.name, &h.paused, &h.due, &h.taken, &h.tries, &h.failing, &h.disabled, &h.reason, &h.sent, &h.dropped, &h.pull, &h.seq, &h.acked)
}

// waiting selects the hooks that have events to deliver: one index lookup for each of them, and none for the others.
const waiting = `
	with recursive pending (id) as (
		select min(hook_id) from belfry.hook_events where sent_at = 0 and seq = 0
		union all
		select (select min(e.hook_id) from belfry.hook_events e where e.hook_id > pending.id and e.sent_at = 0 and e.seq = 0)
		from pending
		where pending.id is not null)
	select ` + hookColumns + `
	from belfry.hooks
	where id in (select id from pending) and paused = 0 and disabled_at = 0 and pull = 0
	order by id`

// takeHooks bounds the hooks whose events one transaction takes: the events of each hook may have [hook.MaxPayload] bytes.
const takeHooks = 32

// TakeEvents takes the events that are due for delivery, of at most so many hooks. For the time [view.AlertTaken] no other node
// takes events of these hooks. Namespaces share the deliveries in progress, as for alerts: see [alert.ChooseChannels].
func (s *Store) TakeEvents(ctx context.Context, hooks int) (out view.TakenAlerts, err error) {
	err = s.write(ctx, "take events", func(c *Change) error {
		out = view.TakenAlerts{Now: c.Now}
		if all, err := c.allHooks(); err != nil || len(all.of) == 0 {
			return err
		}
		rows, err := base.Collect(ctx, c.Tx, scanHook, waiting)
		if err != nil {
			return err
		}
		byName := map[[2]string]hookRow{}
		all := make([]alert.WaitingChannel, len(rows))
		for i, h := range rows {
			byName[[2]string{h.namespace, h.name}] = h
			all[i] = alert.WaitingChannel{
				Namespace: h.namespace, Channel: h.name, Due: base.Instant(max(h.due, min(h.sent, base.Micros(c.Now)))), Taken: base.Instant(h.taken), Tries: int(h.tries),
			}
		}
		chosen := alert.ChooseChannels(all, c.Now, hooks)
		for _, w := range chosen[:min(len(chosen), takeHooks)] {
			if err := c.takeHook(byName[[2]string{w.Namespace, w.Channel}], &out); err != nil {
				return err
			}
		}
		out.NextAt = nextOf(all, c.Now)
		if len(chosen) > takeHooks {
			out.NextAt = c.Now
		}
		return nil
	})
	return out, err
}

// nextOf returns the time of the next look. Due events that were not chosen wait for the end of a delivery, which triggers a
// look.
func nextOf(all []alert.WaitingChannel, now time.Time) (next time.Time) {
	for _, w := range all {
		at := core.Later(w.Due, w.Taken)
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// takeHook takes the oldest events of a hook, unless another node has taken them meanwhile.
func (c *Change) takeHook(h hookRow, out *view.TakenAlerts) error {
	h, found, err := base.First(c.Ctx, c.Tx, scanHook, `
		select `+hookColumns+`
		from belfry.hooks
		where id = $1 and due_at <= $2 and taken_until <= $2 and paused = 0 and disabled_at = 0`+c.SQL.SkipLocked("hooks"), h.id, base.Micros(c.Now))
	if err != nil || !found {
		return err
	}
	d, found, err := base.First(c.Ctx, c.Tx, Docs.Scan, `select `+documents.Columns+` from belfry.documents where noun = 'hook' and id = $1`, h.id)
	if err != nil || !found { // the hook is being deleted
		return err
	}
	d = Docs.Open(c.s.Store, d)
	rows, err := base.Collect(c.Ctx, c.Tx, scanRecorded, selectEvents+`
		where hook_id = $1 and sent_at = 0 and seq = 0
		order by id
		limit `+strconv.Itoa(hook.MaxBatch), h.id)
	if err != nil || len(rows) == 0 {
		return err
	}
	until := c.Now.Add(view.AlertTaken)
	t := view.TakenAlert{Channel: d.Channel(), Tries: int(h.tries), Until: until, Hook: h.id}
	var events []hook.Event
	size := 0
	for _, r := range rows {
		if size += r.size; size > hook.MaxPayload && len(events) > 0 {
			break
		}
		events = append(events, r.Event)
		t.Alerts = append(t.Alerts, r.ID)
	}
	t.Message = hook.Message(d, events)
	out.Messages = append(out.Messages, t)
	_, err = c.Tx.Exec(c.Ctx, `update belfry.hooks set taken_until = $2 where id = $1`, h.id, base.Micros(until))
	return err
}

// SettleEvents records the outcome of a delivery. One that a stop cut off frees the hook for other nodes.
func (s *Store) SettleEvents(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error {
	return s.write(ctx, "settle events", func(c *Change) error {
		if r.Cut {
			c.Wake(topic)
			_, err := c.Tx.Exec(ctx, `update belfry.hooks set taken_until = 0 where id = $1 and taken_until = $2`, t.Hook, base.Micros(t.Until))
			return err
		}
		h, found, err := base.First(ctx, c.Tx, scanHook, `
			select `+hookColumns+`
			from belfry.hooks
			where id = $1`+c.SQL.ForUpdate("hooks"), t.Hook)
		if err != nil || !found { // the hook was deleted meanwhile
			return err
		}
		r.Error, _ = core.CleanText(r.Error, task.MaxCheckMessage)
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.hook_tries (hook_id, delivery, at, took, events, first_id, last_id, error)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`, h.id, t.Message.Key, base.Micros(c.Now), r.Took.D().Microseconds(),
			len(t.Alerts), t.Alerts[0], t.Alerts[len(t.Alerts)-1], r.Error); err != nil {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `
			delete from belfry.hook_tries
			where hook_id = $1 and id <= (select id from belfry.hook_tries where hook_id = $1 order by id desc limit 1 offset `+strconv.Itoa(keepTries)+`)`, h.id); err != nil {
			return err
		}
		c.Wake(topic)
		if r.Error == "" {
			c.Observe(func(o base.Observer) { o.Delivered("sent", len(t.Alerts)) })
			return c.recordSent(h, t)
		}
		if h.taken != base.Micros(t.Until) { // the delivery took so long that another node delivers
			return nil
		}
		d, _, err := base.First(ctx, c.Tx, Docs.Scan, `select `+documents.Columns+` from belfry.documents where noun = 'hook' and id = $1`, h.id)
		if err != nil {
			return err
		}
		// The receiver was changed during the delivery: a failure of the old one says nothing about the new one.
		if !reflect.DeepEqual(Docs.Open(s.Store, d).Channel(), t.Channel) {
			_, err := c.Tx.Exec(ctx, `update belfry.hooks set taken_until = 0 where id = $1`, h.id)
			return err
		}
		wait, giveUp := hook.Backoff(int(h.tries) + 1)
		disabled := int64(0)
		if giveUp || r.Gone {
			disabled = base.Micros(c.Now)
		}
		if _, err := c.Tx.Exec(ctx, `
			update belfry.hooks
			set tries = tries + 1, due_at = $2, taken_until = 0, reason = $3, disabled_at = $4, failing_at = case when tries = 0 then $5 else failing_at end
			where id = $1`, h.id, base.Micros(c.Now.Add(max(wait, r.RetryAfter.D()))), r.Error, disabled, base.Micros(c.Now)); err != nil {
			return err
		}
		if disabled == 0 {
			c.Observe(func(o base.Observer) { o.Delivered("failed", len(t.Alerts)) })
			return nil
		}
		c.Observe(func(o base.Observer) { o.Delivered("disabled", len(t.Alerts)) })
		return s.alerts.In(c.Change).TellHook(alert.Notification{
			Type: alert.NotificationHookDisabled, At: c.Now, Namespace: h.namespace, DisplayTitle: d.Title,
			Title: fmt.Sprintf("Hook %s is disabled after %s", title.Named(d.Title, h.name), tried(int(h.tries)+1)),
			Text:  "Its events wait, for 3 days, until the hook is resumed: belfry hook resume " + h.name + "\n" + r.Error,
		})
	})
}

func tried(n int) string {
	if n == 1 {
		return "1 failed delivery"
	}
	return strconv.Itoa(n) + " failed deliveries"
}

// recordSent records events that their receiver accepted, whichever claim delivered them.
func (c *Change) recordSent(h hookRow, t view.TakenAlert) error {
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.hook_events
		set sent_at = $3
		where hook_id = $2 and sent_at = 0 and `+c.SQL.In("id", 1), c.SQL.List(t.Alerts), h.id, base.Micros(c.Now)); err != nil {
		return err
	}
	taken := h.taken
	if taken == base.Micros(t.Until) {
		taken = 0
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.hooks
		set tries = 0, due_at = 0, taken_until = $2, reason = '', disabled_at = 0, sent_at = $3
		where id = $1`, h.id, taken, base.Micros(c.Now))
	return err
}

// FreeEvents frees the hooks that this process took in an earlier life. It applies to a database with one process, where no
// other can be delivering.
func (c *Change) FreeEvents() error {
	if c.SQL.ForUpdate("hooks") != "" {
		return nil
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.hooks set taken_until = 0 where taken_until > 0`)
	return err
}

// keepTries bounds the stored tries of a hook, of which people see the last [hook.MaxTries].
const keepTries = 100

// Beyond returns, by hook, the last event beyond the number of events kept. The search walks along an index for that number, so
// it runs outside of any write transaction. It reads only hooks that may have so many events.
func (s *Store) Beyond(ctx context.Context) (out map[int64]int64, err error) {
	out = map[int64]int64{}
	most := s.Opt.Keep.Events
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		ids, err := base.Collect(ctx, tx, base.ScanInt, `
			select id
			from belfry.hooks h
			where coalesce((select max(e.id) from belfry.hook_events e where e.hook_id = h.id), 0) - coalesce((select min(e.id) from belfry.hook_events e where e.hook_id = h.id), 0) >= $1`, most)
		if err != nil {
			return err
		}
		for _, id := range ids {
			last, beyond, err := base.First(ctx, tx, base.ScanInt, `
				select id
				from belfry.hook_events
				where hook_id = $1
				order by id desc
				limit 1 offset `+strconv.Itoa(most), id)
			if err != nil {
				return err
			}
			if beyond {
				out[id] = last
			}
		}
		return nil
	})
	return out, err
}

// Prune deletes events and tries that are past retention, and the events beyond the number kept of a hook.
func (c *Change) Prune(beyond map[int64]int64) (more bool, err error) {
	before := base.Micros(c.Now.Add(-hook.Keep))
	if more, err = c.drop(`at < $1 order by at`, before); err != nil {
		return more, err
	}
	n, err := c.Tx.Exec(c.Ctx, `delete from belfry.hook_tries where id in (select id from belfry.hook_tries where at < $1 order by at limit $2)`, before, base.TidyStep)
	if err != nil {
		return more, err
	}
	more = more || n == base.TidyStep
	for _, id := range slices.Sorted(maps.Keys(beyond)) {
		if more {
			break // the next pass continues
		}
		if more, err = c.drop(`hook_id = $1 and id <= $2 order by id`, id, beyond[id]); err != nil {
			return more, err
		}
	}
	return more, nil
}

// drop deletes events and counts those that were never delivered. Hooks are locked before their events, in the order of their
// ids, as when a delivery is settled. Events of a hook with a delivery in progress stay: their receiver may have accepted them.
//
// Deleted events of a pulled hook that have no place yet use one up, so that readers see the gap. The remaining events get the
// places after it.
func (c *Change) drop(where string, args ...any) (more bool, err error) {
	type old struct{ id, hook int64 }
	rows, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (o old, err error) { return o, r.Scan(&o.id, &o.hook) },
		`select id, hook_id from belfry.hook_events where `+where+` limit `+strconv.Itoa(base.TidyStep), args...)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var ids, hooks []int64
	for _, o := range rows {
		ids, hooks = append(ids, o.id), append(hooks, o.hook)
	}
	of, err := base.Collect(c.Ctx, c.Tx, scanHook, `
		select `+hookColumns+`
		from belfry.hooks
		where `+c.SQL.In("id", 1)+`
		order by id`+c.SQL.ForUpdate("hooks"), c.SQL.List(base.Unique(hooks)))
	if err != nil {
		return false, err
	}
	byID := map[int64]hookRow{}
	for _, h := range of {
		byID[h.id] = h
	}
	busy := slices.DeleteFunc(of, func(h hookRow) bool { return h.taken <= base.Micros(c.Now) })
	ids = ids[:0]
	for _, o := range rows {
		if !slices.ContainsFunc(busy, func(h hookRow) bool { return h.id == o.hook }) {
			ids = append(ids, o.id)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	type gone struct{ hook, sent, seq int64 }
	deleted, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (g gone, err error) { return g, r.Scan(&g.hook, &g.sent, &g.seq) },
		`delete from belfry.hook_events where `+c.SQL.In("id", 1)+` returning hook_id, sent_at, seq`, c.SQL.List(ids))
	if err != nil {
		return false, err
	}
	type loss struct{ events, places int64 }
	lost := map[int64]loss{}
	for _, g := range deleted {
		h := byID[g.hook]
		if g.sent > 0 || g.seq > 0 && g.seq <= h.acked {
			continue
		}
		l := lost[g.hook]
		if l.events++; g.seq == 0 {
			l.places += h.pull
		}
		lost[g.hook] = l
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.hooks set dropped = dropped + $2, last_seq = last_seq + $3 where id = $1`, id, lost[id].events, lost[id].places); err != nil {
			return false, err
		}
	}
	return len(ids) == base.TidyStep, nil
}
