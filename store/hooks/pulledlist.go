package hooks

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/base"
)

// pulledIn returns the events of a pulled hook in a state, newest first: first events without a place, by id, then events with
// one, by place. Each part is read along an index with no other rows, however many events are kept.
func (s *Store) pulledIn(ctx context.Context, tx base.Tx, h hookRow, f hook.Filter, before int64, limit int) (out []recorded, err error) {
	seq := int64(0) // place of the last event listed; 0: it has none
	if before > 0 {
		var found bool
		seq, found, err = base.First(ctx, tx, base.ScanInt, `select seq from belfry.hook_events where hook_id = $1 and id = $2`, h.id, before)
		if err != nil || !found { // older events are no longer kept either
			return nil, err
		}
	}
	if f.State == hook.Pending && seq == 0 {
		w := s.selected(h.id, f.Type)
		w.Conds = append(w.Conds, "sent_at = 0", "seq = 0")
		if before > 0 {
			w.And("id < ?", before)
		}
		if out, err = newest(ctx, tx, w, "id", limit); err != nil || len(out) == limit {
			return out, err
		}
	}
	w := s.selected(h.id, f.Type)
	w.Conds = append(w.Conds, "seq > 0")
	if f.State == hook.Pending {
		w.And("seq > ?", h.acked)
	} else {
		w.And("seq <= ?", h.acked)
	}
	if seq > 0 {
		w.And("seq < ?", seq)
	}
	placed, err := newest(ctx, tx, w, "seq", limit-len(out))
	return append(out, placed...), err
}

// newest returns the last events in the order of a column.
func newest(ctx context.Context, tx base.Tx, w *base.Where, by string, limit int) ([]recorded, error) {
	return base.Collect(ctx, tx, scanRecorded, selectEvents+`
		where `+w.Sql()+`
		order by `+by+` desc
		limit `+strconv.Itoa(limit), w.Args...)
}
