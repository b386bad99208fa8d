package hooks

import (
	"context"
	"strconv"

	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/base"
)

// pulledIn are events of a pulled hook in a state, the newest first: those without a place by their ids, then those
// with one by their places. Each part is read along the index that has no other, however many events are kept.
func (s *Store) pulledIn(ctx context.Context, tx base.Tx, h hookRow, f hook.Filter, before int64, limit int) (out []recorded, err error) {
	seq := int64(0) // of the event that was listed last; 0: it has none
	if before > 0 {
		var found bool
		seq, found, err = base.First(ctx, tx, base.ScanInt, `select seq from belfry.hook_events where hook_id = $1 and id = $2`, h.id, before)
		if err != nil || !found { // what is older is no longer kept either
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

// newest are the last events by a column.
func newest(ctx context.Context, tx base.Tx, w *base.Where, by string, limit int) ([]recorded, error) {
	return base.Collect(ctx, tx, scanRecorded, selectEvents+`
		where `+w.Sql()+`
		order by `+by+` desc
		limit `+strconv.Itoa(limit), w.Args...)
}
