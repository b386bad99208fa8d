package search

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/quotas"
)

// meterLogs ends logs for which the quota of their namespace has no room. Such a log gets a last line, and later pieces are
// dropped without an error, so the job continues with workers of any version.
func (c *Change) meterLogs(session string, rows []logRow, owners map[job.Ref]string) ([]logRow, error) {
	rooms := map[string]*quotas.LogRoom{}
	namespaces := base.Unique(slices.Collect(maps.Values(owners)))
	slices.Sort(namespaces) // in a fixed order, because each namespace has a lock
	for _, namespace := range namespaces {
		room, err := c.quotas().LogRoom(namespace)
		if err != nil {
			return nil, err
		}
		if room != nil {
			rooms[namespace] = room
		}
	}
	if len(rooms) == 0 {
		return rows, nil
	}
	fresh, err := c.freshOf(session, rows)
	if err != nil {
		return nil, err
	}
	let, ended := make([]logRow, 0, len(rows)), map[job.Ref]bool{}
	for _, r := range rows {
		ref := job.Ref{JobID: r.JobID, Lease: r.Lease}
		room := rooms[owners[ref]]
		switch {
		case room == nil:
			let = append(let, r)
			continue
		case !fresh[piece{ref, r.Seq}] || ended[ref]:
			continue
		case r.Size > room.Left():
			ended[ref] = true
			last := r.ending(c.quotas().Refuse(room, r.Size), base.Micros(c.Now))
			if r = r.upTo(room.Left()); r.Size > 0 {
				room.Take(r.Size, r.At)
				let = append(let, r)
			}
			r = last
		}
		room.Take(r.Size, r.At)
		let = append(let, r)
	}
	for _, namespace := range namespaces {
		if rooms[namespace] == nil {
			continue
		}
		if err := c.quotas().Save(rooms[namespace]); err != nil {
			return nil, err
		}
	}
	return let, nil
}

// freshOf returns the pieces of a batch that will be written.
func (c *Change) freshOf(session string, rows []logRow) (map[piece]bool, error) {
	type id struct {
		JobID int64 `json:"job_id"`
		Lease int64 `json:"lease"`
		Seq   int   `json:"seq"`
	}
	ids := make([]id, len(rows))
	for i, r := range rows {
		ids[i] = id{r.JobID, r.Lease, r.Seq}
	}
	from, args := c.SQL.Table(2, "t", base.BatchOf(ids))
	all, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (p piece, err error) {
		return p, r.Scan(&p.JobID, &p.Lease, &p.seq)
	}, `select t.job_id, t.lease, t.seq from `+from+` where `+freshPieces, append([]any{session}, args...)...)
	fresh := make(map[piece]bool, len(all))
	for _, p := range all {
		fresh[p] = true
	}
	return fresh, err
}

// upTo cuts a piece after the last whole line within so many bytes.
func (r logRow) upTo(bytes int64) logRow {
	r.Body = r.Body[:strings.LastIndexByte(r.Body[:bytes], '\n')+1]
	r.Size = int64(len(r.Body))
	return r
}

// ending returns the last line of a log that exceeds the quota.
func (r logRow) ending(why error, at int64) logRow {
	var e *core.Error
	if !errors.As(why, &e) {
		e = &core.Error{Message: why.Error()}
	}
	r.Body = fmt.Sprintf(job.LogEnded, e.Message, e.Hint)
	r.Seq, r.Stream, r.At, r.Size = job.LastLogSeq, string(job.Log), at, int64(len(r.Body))
	return r
}
