package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/keys"
	"github.com/belfry-run/belfry/view"
)

// bulk is an action on many jobs.
type bulk struct {
	name      string
	namespace string
	sel       view.Selection
	unfit     func(job.State) bool // states of jobs that are left alone
	why       string
	never     func(jobs.JobRow) string                                      // why a job is left alone in any state, or ""; may be missing
	do        func(c *Change, rows []jobs.JobRow, out *view.Selected) error // applied to locked jobs
}

// bulkAtOnce bounds the jobs of a bulk action in one transaction. With 10,000 jobs SQLite took four seconds, in which no other
// transition could write.
const bulkAtOnce = 500

// bulk runs a bulk action in parts. A dry run is a read: it waits for no writer and holds up none. If a part fails, the parts
// before it stay done, and a repeated call continues from there.
func (s *Store) bulk(ctx context.Context, b bulk) (out view.Selected, err error) {
	if b.sel.DryRun {
		err = s.read(ctx, func(c *Change) error {
			_, out, err = c.selectJobs(b)
			return err
		})
		return out, err
	}
	if b.sel.Filter != nil {
		err = s.read(ctx, func(c *Change) error {
			b.sel.IDs, err = c.filterJobs(b.namespace, b.sel, b.unfit, &out)
			return err
		})
		if err != nil {
			return out, err
		}
		b.sel.Filter = nil
	}
	out.IDs, out.Left = []int64{}, map[int64]string{}
	for ids := range slices.Chunk(base.Unique(b.sel.IDs), bulkAtOnce) {
		part := b
		part.sel.IDs = ids
		var done view.Selected
		err = s.write(ctx, b.name, func(c *Change) error {
			rows, selected, err := c.selectJobs(part)
			if done = selected; err != nil || len(rows) == 0 {
				return err
			}
			return b.do(c, rows, &done)
		})
		if err != nil {
			return out, afterParts(err, len(out.IDs))
		}
		out.IDs, out.Existing = append(out.IDs, done.IDs...), append(out.Existing, done.Existing...)
		maps.Copy(out.Left, done.Left)
	}
	return out, nil
}

// readSelection evaluates the search of a selection with the clock of the database.
func (s *Store) readSelection(ctx context.Context, sel view.Selection) (view.Selection, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return sel, err
	}
	if sel, err = sel.Read(now); err != nil {
		return sel, err
	}
	return sel, sel.Validate()
}

// selectJobs finds and locks the jobs of a bulk action. It leaves out the jobs for which unfit is true.
func (c *Change) selectJobs(b bulk) ([]jobs.JobRow, view.Selected, error) {
	sel, unfit := b.sel, b.unfit
	out := view.Selected{IDs: []int64{}, Left: map[int64]string{}}
	ids := sel.IDs
	if sel.Filter != nil {
		found, err := c.filterJobs(b.namespace, sel, unfit, &out)
		if err != nil {
			return nil, out, err
		}
		ids = found
	}
	rows, err := c.heldJobs(ids, sel.DryRun)
	if err != nil {
		return nil, out, err
	}
	byID := make(map[int64]jobs.JobRow, len(rows))
	for _, r := range rows {
		if b.namespace == core.AnyNamespace || r.Namespace == b.namespace {
			byID[r.ID] = r
		}
	}
	existing := map[int64]bool{} // also of jobs that are under way again
	if sel.Key != "" && len(byID) > 0 {
		if existing, err = keys.TakenRetries(c.Change, c.keyRows(sel.Key, slices.Collect(maps.Values(byID)))); err != nil {
			return nil, out, err
		}
	}
	var fit []jobs.JobRow
	for _, id := range base.Unique(ids) {
		j, there := byID[id]
		switch {
		case existing[id]:
			out.Existing = append(out.Existing, id)
		case !there:
			out.Left[id] = view.NoSuchJob
		case unfit(j.State):
			out.Left[id] = fmt.Sprintf("%s: %s", b.why, j.State)
		case b.never != nil && b.never(j) != "":
			out.Left[id] = b.never(j)
		default:
			out.IDs = append(out.IDs, id)
			fit = append(fit, j)
		}
	}
	return fit, out, nil
}

// heldJobs reads jobs, live and finished, without inputs and outputs. It locks the live ones, except for a dry run.
func (c *Change) heldJobs(ids []int64, dry bool) ([]jobs.JobRow, error) {
	if dry {
		live, err := base.Collect(c.Ctx, c.Tx, jobs.ScanJob, jobs.HeadsOf(jobs.SelectLive)+` where `+c.SQL.In("id", 1), c.SQL.List(ids))
		if err != nil {
			return nil, err
		}
		return c.withDone(ids, live)
	}
	// A job that a retry or a cancel moves between the two reads is in neither result: it is looked up again.
	var rows []jobs.JobRow
	for range maxLooks {
		live, err := c.jobs().LockJobs(ids)
		if err != nil {
			return nil, err
		}
		held, err := c.withDone(ids, live)
		if err != nil {
			return nil, err
		}
		rows = append(rows, held...)
		found := make(map[int64]bool, len(held))
		for _, r := range held {
			found[r.ID] = true
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return found[id] })
		if len(ids) == 0 || c.SQL.ForUpdate("jobs") == "" {
			return rows, nil
		}
		// One statement sees each job in one of the two tables, so jobs that it does not see do not exist.
		if ids, err = base.Collect(c.Ctx, c.Tx, base.ScanInt, `
			select id from belfry.jobs where `+c.SQL.In("id", 1)+`
			union all
			select id from belfry.jobs_done where `+c.SQL.In("id", 1), c.SQL.List(ids)); err != nil || len(ids) == 0 {
			return rows, err
		}
	}
	return nil, core.Errorf(core.Conflict, "job %d is canceled and retried by others all the time", ids[0]).WithHint("try again")
}

// maxLooks bounds the looks for a job that moves between the live and the finished jobs. Five people who canceled and retried
// one job as fast as they could made more than four looks miss.
const maxLooks = 100

// afterParts adds to the error of a bulk action that parts of it are done.
func afterParts(err error, done int) error {
	if done == 0 {
		return err
	}
	return core.Errorf(core.CodeOf(err), "it was done to %s, and then: %w", core.Plural(done, "job"), err).
		WithHint("ask again: what is done is left, and it goes on with the others")
}

func (s *Store) read(ctx context.Context, fn func(c *Change) error) error {
	return s.DB().Read(ctx, func(tx base.Tx) error {
		c := s.begin(ctx)
		c.Tx, c.SQL = tx, s.SQL
		return fn(c)
	})
}

// filterJobs returns the oldest jobs after the cursor that match a filter and fit an action, and the next cursor. Ids only
// grow, so actions on some jobs, done or refused, do not change which jobs follow.
func (c *Change) filterJobs(namespace string, sel view.Selection, unfit func(job.State) bool, out *view.Selected) (ids []int64, err error) {
	f := *sel.Filter
	f.Namespace = namespace
	fit := slices.DeleteFunc(slices.Clone(job.States), unfit)
	if len(f.States) == 0 {
		f.States = fit
	}
	after, err := base.DecodeIDCursor(sel.Cursor)
	if err != nil {
		return nil, err
	}
	limit := core.MaxBatch
	if sel.Sample > 0 {
		limit = min(limit, sel.Sample)
		f.States = slices.DeleteFunc(slices.Clone(f.States), unfit)
		count := core.Counted{}
		if len(f.States) == 0 {
			out.Count = &count
			return nil, nil
		}
		if count, err = c.s.CountIn(c.Ctx, c.Tx, f, view.CountOptions{}.Bound(), LookCount); err != nil {
			return nil, err
		}
		out.Count = &count
	}
	rows, l, err := c.s.searchJobs(c.Ctx, c.Tx, f, after, limit, maxBulkRows, "asc")
	if err != nil {
		return nil, err
	}
	if l.until > 0 {
		out.More, out.Next = true, base.EncodeCursor(strconv.FormatInt(l.until, 10))
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// withDone adds the finished jobs among ids to the locked live ones.
func (c *Change) withDone(ids []int64, live []jobs.JobRow) ([]jobs.JobRow, error) {
	if len(live) == len(ids) || len(ids) == 0 {
		return live, nil
	}
	done, err := base.Collect(c.Ctx, c.Tx, jobs.ScanJob, jobs.HeadsOf(jobs.SelectDone)+` where `+c.SQL.In("id", 1), c.SQL.List(ids))
	return append(live, done...), err
}

// auditJobs writes one audit row for one job, or one for a whole batch.
func (c *Change) auditJobs(action string, rows []jobs.JobRow, note string) error {
	perNamespace := map[string][]int64{}
	for _, r := range rows {
		perNamespace[r.Namespace] = append(perNamespace[r.Namespace], r.ID)
	}
	for namespace, ids := range perNamespace {
		name := fmt.Sprint(ids[0])
		if len(ids) > 1 {
			name = fmt.Sprintf("%d jobs", len(ids))
		}
		if err := c.Audit(action, "job", namespace, name, note, nil, ids); err != nil {
			return err
		}
	}
	return nil
}
