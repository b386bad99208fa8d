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

// meterLogs ends logs where the quotas of their namespaces have no room for more: with a line of its own, behind which
// nothing is kept, so the job goes on and a worker of any version knows how to go on.
func (c *Change) meterLogs(session string, rows []logRow, owners map[job.Ref]string) ([]logRow, error) {
	rooms := map[string]*quotas.LogRoom{}
	namespaces := base.Unique(slices.Collect(maps.Values(owners)))
	slices.Sort(namespaces) // in one order, because each has a lock
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

// freshOf are the pieces of a batch that will be written.
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

// upTo is the whole lines of a piece that have so many bytes at most.
func (r logRow) upTo(bytes int64) logRow {
	r.Body = r.Body[:strings.LastIndexByte(r.Body[:bytes], '\n')+1]
	r.Size = int64(len(r.Body))
	return r
}

// ending is the line with which a log ends for which there is no room.
func (r logRow) ending(why error, at int64) logRow {
	var e *core.Error
	if !errors.As(why, &e) {
		e = &core.Error{Message: why.Error()}
	}
	r.Body = fmt.Sprintf(job.LogEnded, e.Message, e.Hint)
	r.Seq, r.Stream, r.At, r.Size = job.LastLogSeq, string(job.Log), at, int64(len(r.Body))
	return r
}
