package hooks

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/base"
)

// positionBatch bounds the events that get their place in one transition.
const positionBatch = 1000

// pullLook is the longest wait of a pulling program between two looks: the wake-up of another node may be lost.
const pullLook = 5 * time.Second

// PullEvents returns the next events of a pulled hook after a cursor, at most [hook.MaxBatch] and [hook.MaxPayload]. Without a
// cursor they start after the acknowledged events, with cursor 0 at the oldest event kept. If there are no events, it waits for
// one.
//
// The ids of events are no reading order: a transaction that began earlier may commit later. So events get a place in the order
// of the hook when they are requested, by one program at a time. Every reader sees the same order.
func (s *Store) PullEvents(ctx context.Context, namespace, name, after string, wait time.Duration) (hook.Pulled, error) {
	until := time.Now().Add(wait)
	var woken <-chan struct{}
	for {
		id, out, unplaced, err := s.pull(ctx, namespace, name, after)
		if err == nil && unplaced {
			id, out, err = s.pullPositioned(ctx, id, namespace, name, after)
		}
		left := time.Until(until)
		if err != nil || len(out.Events) > 0 || out.Missed > 0 || left <= 0 {
			return out, err
		}
		if woken != nil {
			t := time.NewTimer(min(left, pullLook))
			select {
			case <-woken:
			case <-t.C:
			case <-ctx.Done():
			}
			t.Stop()
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		woken = s.Hub.On(pullTopic(id)) // before the next look, so that no event in between is missed
	}
}

// pullPositioned pulls after all waiting events have their place. Of the readers that an event wakes, the first assigns the
// places for the others.
func (s *Store) pullPositioned(ctx context.Context, id int64, namespace, name, after string) (int64, hook.Pulled, error) {
	done, err := s.placing.lock(ctx, id)
	if err != nil {
		return id, hook.Pulled{}, err
	}
	defer done()
	id, out, unplaced, err := s.pull(ctx, namespace, name, after)
	if err == nil && unplaced {
		if err = s.assignPositions(ctx, namespace, name); err == nil {
			id, out, _, err = s.pull(ctx, namespace, name, after)
		}
	}
	return id, out, err
}

// pullTopic is the topic of readers that wait for events of a pulled hook.
func pullTopic(id int64) string { return topic + "/" + strconv.FormatInt(id, 10) }

// pulledRow returns the row of a pulled hook.
func pulledRow(ctx context.Context, tx base.Tx, namespace, name, lock string) (hookRow, error) {
	h, err := rowOf(ctx, tx, namespace, name, lock)
	if err == nil && h.pull == 0 {
		err = core.Errorf(core.Conflict, "hook %q is not pulled: its events are posted to its URL", name).WithHint("make another: belfry hook set NAME --pull")
	}
	return h, err
}

// pull reads the events that have a place. It reports whether more events without a place would fit.
func (s *Store) pull(ctx context.Context, namespace, name, after string) (id int64, out hook.Pulled, unplaced bool, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		h, err := pulledRow(ctx, tx, namespace, name, "")
		if err != nil {
			return err
		}
		id = h.id
		at := hook.Place{Hook: h.id, Seq: h.acked}
		switch after {
		case "":
		case "0":
			first, found, ferr := base.First(ctx, tx, base.ScanInt, `select seq from belfry.hook_events where hook_id = $1 and seq > 0 order by seq limit 1`, h.id)
			if at.Seq, err = h.seq, ferr; found {
				at.Seq = first - 1
			}
		default:
			at, err = hook.ParsePlace("after", after, hook.Place{Hook: h.id, Seq: h.seq})
		}
		if err != nil {
			return err
		}
		rows, full, err := eventsAfter(ctx, tx, at)
		if err != nil {
			return err
		}
		out, unplaced = pulled(h, at, rows), !full && h.paused == 0
		if unplaced {
			_, unplaced, err = base.First(ctx, tx, base.ScanInt, `select id from belfry.hook_events where hook_id = $1 and sent_at = 0 and seq = 0 limit 1`, h.id)
		}
		return err
	})
	return id, out, unplaced, err
}

// eventsAfter returns the events after a place, as many as fit into one answer, and whether there may be more. Events beyond
// [hook.MaxPayload] are not read.
func eventsAfter(ctx context.Context, tx base.Tx, at hook.Place) (out []recorded, full bool, err error) {
	rows, err := tx.Query(ctx, selectEvents+`
		where hook_id = $1 and seq > 0 and seq > $2
		order by seq
		limit `+strconv.Itoa(hook.MaxBatch), at.Hook, at.Seq)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for size := 0; rows.Next(); {
		r, err := scanRecorded(rows)
		if err != nil {
			return nil, false, err
		}
		if size += r.size; size > hook.MaxPayload && len(out) > 0 {
			return out, true, nil
		}
		out = append(out, r)
	}
	return out, len(out) == hook.MaxBatch, rows.Err()
}

// pulled returns the answer with the events after a place. Places have no gaps, so missing events are no longer kept.
func pulled(h hookRow, at hook.Place, rows []recorded) hook.Pulled {
	out := hook.Pulled{Events: []hook.Numbered{}}
	last := at.Seq
	for _, r := range rows {
		last = r.seq
		out.Events = append(out.Events, hook.Numbered{Event: r.Event, Cursor: hook.Place{Hook: h.id, Seq: r.seq}.String()})
	}
	if len(rows) == 0 {
		last = max(last, h.seq)
	}
	out.Next, out.Missed = hook.Place{Hook: h.id, Seq: last}.String(), last-at.Seq-int64(len(out.Events))
	return out
}

// assignPositions assigns places to events. The row of the hook is locked, so that no reader sees a place before all earlier
// places.
func (s *Store) assignPositions(ctx context.Context, namespace, name string) error {
	type placed struct {
		ID  int64 `json:"id"`
		Seq int64 `json:"seq"`
	}
	return s.write(ctx, "place events", func(c *Change) error {
		h, err := pulledRow(ctx, c.Tx, namespace, name, c.SQL.ForUpdate("hooks"))
		if err != nil || h.paused != 0 {
			return err
		}
		ids, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.hook_events
			where hook_id = $1 and sent_at = 0 and seq = 0
			order by id
			limit `+strconv.Itoa(positionBatch), h.id)
		if err != nil || len(ids) == 0 {
			return err
		}
		rows := make([]placed, len(ids))
		for i, id := range ids {
			rows[i] = placed{id, h.seq + int64(i) + 1}
		}
		from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
		if _, err := c.Tx.Exec(ctx, `
			update belfry.hook_events
			set seq = t.seq
			from `+from+`
			where belfry.hook_events.id = t.id and `+c.SQL.Among("belfry.hook_events.id", 1), append([]any{c.SQL.List(ids)}, args...)...); err != nil {
			return err
		}
		_, err = c.Tx.Exec(ctx, `update belfry.hooks set last_seq = $2 where id = $1`, h.id, rows[len(rows)-1].Seq)
		return err
	})
}

// AckEvents acknowledges the events of a pulled hook up to a cursor. A cursor before the last acknowledged one changes nothing.
func (s *Store) AckEvents(ctx context.Context, namespace, name, cursor string) (out hook.Standing, err error) {
	err = s.write(ctx, "acknowledge events", func(c *Change) error {
		h, err := pulledRow(ctx, c.Tx, namespace, name, c.SQL.ForUpdate("hooks"))
		if err != nil {
			return err
		}
		at, err := hook.ParsePlace("cursor", cursor, hook.Place{Hook: h.id, Seq: h.seq})
		if err != nil {
			return err
		}
		if at.Seq > h.acked {
			c.Observe(func(o base.Observer) { o.Delivered("sent", int(at.Seq-h.acked)) })
			if _, err := c.Tx.Exec(ctx, `update belfry.hooks set acked = $2, sent_at = $3 where id = $1`, h.id, at.Seq, base.Micros(c.Now)); err != nil {
				return err
			}
		}
		st, err := standingOf(ctx, c.Tx, namespace, name)
		out = st.Standing
		return err
	})
	return out, err
}
