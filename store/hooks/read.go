package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/base"
)

// recorded is an event with the length of its text.
type recorded struct {
	hook.Recorded
	size int
	seq  int64
}

const selectEvents = `
	select id, at, sent_at, seq, event
	from belfry.hook_events`

func scanRecorded(r base.Rows) (e recorded, err error) {
	var id, at, sent int64
	var text string
	if err := r.Scan(&id, &at, &sent, &e.seq, &text); err != nil {
		return e, err
	}
	err = json.Unmarshal([]byte(text), &e.Event)
	e.ID, e.At, e.SentAt, e.size = id, base.Instant(at), base.Instant(sent), len(text)
	if e.State = hook.Pending; sent > 0 {
		e.State = hook.Sent
	}
	return e, err
}

// rowOf returns the state of a hook of a namespace.
func rowOf(ctx context.Context, tx base.Tx, namespace, name, lock string) (hookRow, error) {
	h, found, err := base.First(ctx, tx, scanHook, `
		select `+hookColumns+`
		from belfry.hooks
		where namespace = $1 and name = $2`+lock, base.NamespaceOr(namespace), name)
	if err == nil && !found {
		_, err = Docs.Read(ctx, tx, base.NamespaceOr(namespace), name, "") // returns the error
	}
	return h, err
}

// HookEvents lists the stored events of a hook, newest first.
func (s *Store) HookEvents(ctx context.Context, f hook.Filter) (p core.Page[hook.Recorded], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	var problems core.Problems
	hook.CheckType(&problems, "type", f.Type)
	if err := problems.Err("filter"); err != nil {
		return p, err
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		h, err := rowOf(ctx, tx, f.Namespace, f.Hook, "")
		if err != nil {
			return err
		}
		var rows []recorded
		if h.pull != 0 && f.State != "" {
			rows, err = s.pulledIn(ctx, tx, h, f, before, limit+1)
		} else {
			w := s.selected(h.id, f.Type)
			switch f.State {
			case hook.Pending:
				w.Conds = append(w.Conds, "sent_at = 0", "seq = 0")
			case hook.Sent:
				w.Conds = append(w.Conds, "sent_at > 0")
			}
			if before > 0 {
				w.And("id < ?", before)
			}
			rows, err = newest(ctx, tx, w, "id", limit+1)
		}
		all := make([]hook.Recorded, len(rows))
		for i, r := range rows {
			if all[i] = r.Recorded; r.seq > 0 && r.seq <= h.acked {
				all[i].State = hook.Sent
			}
		}
		p = base.Page(all, limit, func(e hook.Recorded) string { return base.EncodeCursor(strconv.FormatInt(e.ID, 10)) })
		return err
	})
	return p, err
}

// selected returns the condition for the events of a hook whose type matches a pattern.
func (s *Store) selected(id int64, pattern string) *base.Where {
	w := &base.Where{}
	w.And("hook_id = ?", id)
	if pattern != "" {
		w.Conds = append(w.Conds, s.SQL.In("type", len(w.Args)+1))
		w.Args = append(w.Args, s.SQL.List(hook.Matching(pattern)))
	}
	return w
}

// replayStep is the number of events that one step of a replay looks at.
const replayStep = 1000

// ReplayHook delivers past events of a hook again, with the same ids.
func (s *Store) ReplayHook(ctx context.Context, namespace, name string, r hook.Replay) (out hook.Replayed, err error) {
	if err := r.Validate(); err != nil {
		return out, err
	}
	hookID, last := int64(0), int64(0) // later events are not part of the replay
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		h, err := rowOf(ctx, tx, namespace, name, "")
		if err != nil {
			return err
		}
		if h.pull != 0 {
			return core.Errorf(core.Conflict, "hook %q is pulled: nothing is delivered again", h.name).WithHint("ask for its events with an earlier cursor, or with 0 for all that are kept")
		}
		hookID = h.id
		last, _, err = base.First(ctx, tx, base.ScanInt, `select id from belfry.hook_events where hook_id = $1 order by id desc limit 1`, h.id)
		return err
	}); err != nil {
		return out, err
	}
	after := int64(0)
	if r.ID > 0 {
		after, last = r.ID-1, min(r.ID, last)
	}
	for after < last {
		var ids []int64
		if ids, after, err = s.taken(ctx, hookID, after, last, r); err != nil {
			return out, err
		}
		if len(ids) == 0 {
			continue
		}
		if err := s.write(ctx, "replay hook", func(c *Change) error {
			n, err := c.replay(namespace, name, hookID, ids)
			if err == nil && out.Events == 0 && n > 0 {
				err = c.Audit("replay", "hook", base.NamespaceOr(namespace), name, selection(r), nil, nil)
			}
			if err == nil {
				c.After(func() { out.Events += n })
			}
			return err
		}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// taken returns the delivered events that a replay selects, among the next events of a hook, and the last id that it looked at.
func (s *Store) taken(ctx context.Context, hookID, after, last int64, r hook.Replay) (ids []int64, upTo int64, err error) {
	type event struct {
		id, at, sent int64
		kind         string
	}
	var part []event
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		part, err = base.Collect(ctx, tx, func(r base.Rows) (e event, err error) {
			return e, r.Scan(&e.id, &e.at, &e.sent, &e.kind)
		}, `
			select id, at, sent_at, type
			from belfry.hook_events
			where hook_id = $1 and id > $2 and id <= $3
			order by id
			limit `+strconv.Itoa(replayStep), hookID, after, last)
		return err
	})
	if len(part) < replayStep {
		upTo = last
	} else {
		upTo = part[len(part)-1].id
	}
	types, since, until := hook.Matching(r.Type), base.Micros(r.Since), base.Micros(r.Until)
	for _, e := range part {
		if e.sent > 0 && e.at >= since && (r.Until.IsZero() || e.at < until) && (r.Type == "" || slices.Contains(types, e.kind)) {
			ids = append(ids, e.id)
		}
	}
	return ids, upTo, err
}

// replay makes delivered events of a hook pending again.
func (c *Change) replay(namespace, name string, hookID int64, ids []int64) (int, error) {
	// The row of the hook is locked, so that two replays of the same events do not deadlock.
	if _, err := rowOf(c.Ctx, c.Tx, namespace, name, c.SQL.ForUpdate("hooks")); err != nil {
		return 0, err
	}
	n, err := c.Tx.Exec(c.Ctx, `update belfry.hook_events set sent_at = 0 where hook_id = $2 and sent_at > 0 and `+c.SQL.In("id", 1), c.SQL.List(ids), hookID)
	c.Wake(topic)
	return int(n), err
}

// selection describes the events that a replay selects.
func selection(r hook.Replay) string {
	var parts []string
	if r.ID > 0 {
		parts = append(parts, "event "+strconv.FormatInt(r.ID, 10))
	}
	if r.Type != "" {
		parts = append(parts, "type "+r.Type)
	}
	if !r.Since.IsZero() {
		parts = append(parts, "since "+core.Stamp(r.Since))
	}
	if !r.Until.IsZero() {
		parts = append(parts, "until "+core.Stamp(r.Until))
	}
	return cmp.Or(strings.Join(parts, ", "), "all events")
}
