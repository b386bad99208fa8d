package hooks

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// selectStandings selects hooks with the number of their pending events, up to [hook.MaxPending], and the time of the oldest
// one. It walks along indexes of pending events and reads no delivered ones.
var selectStandings = `
	select ` + hookColumns + `,
		(select count(*) from (select 1 from belfry.hook_events e where e.hook_id = h.id and e.sent_at = 0 and e.seq = 0 limit ` + strconv.Itoa(hook.MaxPending) + `) as few),
		(select count(*) from (select 1 from belfry.hook_events e where h.pull = 1 and e.hook_id = h.id and e.seq > 0 and e.seq > h.acked limit ` + strconv.Itoa(hook.MaxPending) + `) as given),
		coalesce((select e.at from belfry.hook_events e where h.pull = 1 and e.hook_id = h.id and e.seq > 0 and e.seq > h.acked order by e.seq limit 1),
			(select e.at from belfry.hook_events e where e.hook_id = h.id and e.sent_at = 0 and e.seq = 0 order by e.id limit 1), 0)
	from belfry.hooks h`

// standing is the row of a hook with its delivery status.
type standing struct {
	hookRow
	hook.Standing
}

func scanStanding(r base.Rows) (s standing, err error) {
	h := &s.hookRow
	var pending, given, oldest int64
	if err := r.Scan(&h.id, &h.namespace, &h.name, &h.paused, &h.due, &h.taken, &h.tries, &h.failing, &h.disabled, &h.reason, &h.sent, &h.dropped, &h.pull, &h.seq, &h.acked, &pending, &given, &oldest); err != nil {
		return s, err
	}
	s.Standing = hook.Standing{Namespace: h.namespace, Hook: h.name, State: hook.Active, Reason: h.reason, Pending: int(min(pending+given, hook.MaxPending)), OldestAt: base.Instant(oldest),
		Tries: int(h.tries), SentAt: base.Instant(h.sent), DisabledAt: base.Instant(h.disabled), Dropped: h.dropped}
	if h.tries > 0 {
		s.FailingAt = base.Instant(h.failing)
	}
	switch {
	case h.paused != 0:
		s.State = hook.Paused
	case h.disabled > 0:
		s.State = hook.Disabled
	case h.tries > 0:
		s.State, s.NextTryAt = hook.Failing, base.Instant(max(h.due, h.taken))
	}
	return s, nil
}

// HookStatuses lists the delivery status of hooks by name. Its pages are those of [Store.ListHooks].
func (s *Store) HookStatuses(ctx context.Context, f view.DocumentFilter) (p core.Page[hook.Standing], err error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		rows, err := base.Collect(ctx, tx, scanStanding, selectStandings+`
			where `+w.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.Args...)
		all := make([]hook.Standing, len(rows))
		for i, r := range rows {
			all[i] = r.Standing
		}
		p = base.Page(all, limit, func(st hook.Standing) string { return base.EncodeCursor(st.Namespace, st.Hook) })
		return err
	})
	return p, err
}

func standingOf(ctx context.Context, tx base.Tx, namespace, name string) (standing, error) {
	st, found, err := base.First(ctx, tx, scanStanding, selectStandings+`
		where namespace = $1 and name = $2`, base.NamespaceOr(namespace), name)
	if err == nil && !found {
		_, err = Docs.Read(ctx, tx, base.NamespaceOr(namespace), name, "") // returns the error
	}
	return st, err
}

// HookStatus returns the delivery status of a hook, with its last tries.
func (s *Store) HookStatus(ctx context.Context, namespace, name string) (out hook.Status, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		st, err := standingOf(ctx, tx, namespace, name)
		if err != nil {
			return err
		}
		out.Standing = st.Standing
		out.Deliveries, err = base.Collect(ctx, tx, func(r base.Rows) (t hook.Try, err error) {
			var took int64
			err = r.Scan(&t.Delivery, base.ScanTime(&t.At), &took, &t.Events, &t.First, &t.Last, &t.Error)
			t.Took = core.Duration(time.Duration(took) * time.Microsecond)
			return t, err
		}, `
			select delivery, at, took, events, first_id, last_id, error
			from belfry.hook_tries
			where hook_id = $1
			order by id desc
			limit `+strconv.Itoa(hook.MaxTries), st.id)
		if out.Deliveries == nil {
			out.Deliveries = []hook.Try{}
		}
		return err
	})
	return out, err
}
