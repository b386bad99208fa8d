package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/workers"
	"github.com/belfry-run/belfry/task"
)

// Calls of an attempt on its own behalf, without any other right. Each call checks that the attempt is running, under exactly
// this lease and session.

// CheckAttempt returns an error unless the attempt is running.
func (s *Store) CheckAttempt(ctx context.Context, session string, ref job.Ref) error {
	return s.DB().Read(ctx, func(tx base.Tx) error {
		_, err := ownLease(ctx, tx, session, ref)
		return err
	})
}

// RunningPrograms returns, with their namespaces, those of the attempts that run programs under the session and were not asked
// to end.
func (s *Store) RunningPrograms(ctx context.Context, session string, refs []job.Ref) (map[job.Ref]string, error) {
	ids := make([]int64, len(refs))
	for i, ref := range refs {
		ids[i] = ref.JobID
	}
	type row struct {
		ref       job.Ref
		namespace string
	}
	var rows []row
	err := s.DB().Read(ctx, func(tx base.Tx) (err error) {
		rows, err = base.Collect(ctx, tx, func(r base.Rows) (v row, err error) { return v, r.Scan(&v.ref.JobID, &v.ref.Lease, &v.namespace) }, `
			select l.job_id, l.number, j.namespace
			from belfry.leases l
			join belfry.jobs j on j.id = l.job_id
			where `+s.SQL.In("l.job_id", 1)+` and `+s.SQL.Among("j.id", 1)+` and l.session = $2 and l.cancel_at = 0 and j.kind = $3`,
			s.SQL.List(ids), session, string(task.KindProgram))
		return err
	})
	running := make(map[job.Ref]string, len(rows))
	for _, r := range rows {
		if slices.Contains(refs, r.ref) {
			running[r.ref] = r.namespace
		}
	}
	return running, err
}

// ownHeld is a lease from the view of its own attempt.
type ownHeld struct {
	jobs.Held
	beat int64 // number of the last heartbeat; -1: none
}

func ownLease(ctx context.Context, tx base.Tx, session string, ref job.Ref) (ownHeld, error) {
	h, found, err := base.First(ctx, tx, func(r base.Rows) (h ownHeld, err error) {
		return h, r.Scan(&h.Ref.JobID, &h.Ref.Lease, base.ScanTime(&h.ClaimedAt), base.ScanTime(&h.DeadlineAt), base.ScanTime(&h.CancelAt), &h.beat)
	}, `
		select job_id, number, claimed_at, deadline_at, cancel_at, coalesce(beat, -1)
		from belfry.leases
		where job_id = $1 and number = $2 and session = $3`, ref.JobID, ref.Lease, session)
	if err == nil && !found {
		err = programs.ErrAttempt(ref)
	}
	return h, err
}

// BeatAttempt renews the session of an attempt that reports by itself, and returns what the attempt has to do. Heartbeat
// numbers grow: a number that is not larger than the last one is a [core.Conflict] and renews nothing.
//
// The heartbeat carries no information about other jobs of the session, so it hands none of them back.
func (s *Store) BeatAttempt(ctx context.Context, session string, ref job.Ref, seq int64) (out job.AttemptBeat, err error) {
	if seq < 0 {
		return out, core.InvalidField("seq", fmt.Sprint(seq), "is negative", "count heartbeats from 0")
	}
	err = s.write(ctx, "beat", func(c *Change) error {
		out = job.AttemptBeat{Action: job.BeatContinue}
		// The session is locked first: everywhere sessions are locked before leases.
		w, found, err := c.workers().RenewSession(session)
		if err == nil && !found {
			err = programs.ErrAttempt(ref)
		}
		if err != nil {
			return err
		}
		h, err := ownLease(ctx, c.Tx, session, ref)
		if err != nil {
			return err
		}
		if seq <= h.beat {
			return core.Errorf(core.Conflict, "heartbeat %d of job %d came after heartbeat %d", seq, ref.JobID, h.beat).WithHint("number them upwards")
		}
		out.TTL = core.Duration(w.ExpiresAt.Sub(w.RenewedAt))
		switch {
		case !h.CancelAt.IsZero():
			out.Action = job.BeatCancel
		case w.Drain:
			out.Action = job.BeatDrain
		}
		if !c.Now.Before(h.DeadlineAt) {
			late, err := c.endLate(h.Held)
			if err != nil || late {
				out.Action = job.BeatCancel
				return err
			}
		}
		_, err = c.Tx.Exec(ctx, `update belfry.leases set beat = $3 where job_id = $1 and number = $2`, ref.JobID, ref.Lease, seq)
		return err
	})
	return out, err
}

// endLate ends an attempt past its deadline, if the clock can be trusted.
func (c *Change) endLate(h jobs.Held) (bool, error) {
	sure, err := c.Trusted()
	if err != nil || !sure || c.Now.Before(h.Moved(c.Clock).DeadlineAt) {
		return false, err
	}
	_, err = c.jobs().SettleOther(base.AnySession, []job.Finish{workers.LateFinish(h.Ref)})
	return true, err
}

// FinishAttempt settles an attempt that reports by itself. The same report again gets the same answer, and a different one is a
// [core.Conflict]. A report under a lost lease is stale: it changes nothing, and is recorded in the audit log.
func (s *Store) FinishAttempt(ctx context.Context, session string, f job.Finish) (out job.Finished, err error) {
	if err := f.Validate(); err != nil {
		return out, err
	}
	sum := sha256.Sum256([]byte(base.Text(f)))
	digest := hex.EncodeToString(sum[:])
	fs := s.programs.WithOutputs(ctx, []job.Finish{f})
	once := false
	err = s.write(ctx, "finish attempt", func(c *Change) error {
		out, once = job.Finished{Ref: f.Ref}, false
		_, err := ownLease(ctx, c.Tx, session, f.Ref)
		if err == nil {
			var all []job.Finished
			if all, err = c.jobs().Finish(session, fs); err != nil {
				return err
			}
			out = all[0]
		} else if core.CodeOf(err) != core.Unauthorized {
			return err
		} else {
			out.Stale = true
		}
		if !out.Stale {
			once, err = c.reported(session, f.Ref, digest, out.State)
			return err
		}
		// This look comes after the attempt: the same report may have been in progress at the same time, and the attempt waited
		// for it.
		return c.reportedBefore(session, f, digest, &out)
	})
	if err == nil && out.Stale {
		s.jobs.TellStale(session, []job.Finish{f}, []job.Finished{out})
	}
	if err == nil && once {
		// In a transaction of its own, because sessions are locked before jobs. If it fails, the session expires.
		if err := s.workers.CloseSession(ctx, session); err != nil {
			s.Opt.Logger.Debug("session of a finished job could not be closed and stays until it expires", "session", session, "error", err)
		}
	}
	return out, err
}

// reported stores the report that settled an attempt, and reports whether its session existed for this attempt alone.
func (c *Change) reported(session string, ref job.Ref, digest string, state job.State) (once bool, err error) {
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.attempt_details (job_id, lease, at, finish, state)
		values ($1, $2, $3, $4, $5)
		on conflict (job_id, lease) do update
		set finish = excluded.finish, state = excluded.state`, ref.JobID, ref.Lease, base.Micros(c.Now), session+" "+digest, string(state)); err != nil {
		return false, err
	}
	w, _, err := base.First(c.Ctx, c.Tx, c.s.jobs.ScanSession, `select `+jobs.SessionColumns+` from belfry.sessions where id = $1`, session)
	return w.Once, err
}

func (c *Change) reportedBefore(session string, f job.Finish, digest string, out *job.Finished) error {
	type report struct{ finish, state string }
	was, found, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (v report, err error) { return v, r.Scan(&v.finish, &v.state) }, `
		select finish, state
		from belfry.attempt_details
		where job_id = $1 and lease = $2 and finish <> ''`, f.JobID, f.Lease)
	if err != nil {
		return err
	}
	if found && was.finish == session+" "+digest {
		out.Stale, out.State = false, job.State(was.state)
		return nil
	}
	if found {
		return core.Errorf(core.Conflict, "the attempt of job %d under lease %d was reported already, and otherwise", f.JobID, f.Lease)
	}
	return c.noteLate(session, f)
}

// noteLate records a late report in the audit log, once, however often the report comes.
func (c *Change) noteLate(session string, f job.Finish) error {
	const action = "late finish"
	name, note := fmt.Sprint(f.JobID), fmt.Sprintf("%s under lease %d, which was lost, by session %s", f.Outcome, f.Lease, session)
	_, noted, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		select seq
		from belfry.audit
		where noun = 'job' and name = $1 and action = $2 and note = $3
		limit 1`, name, action, note)
	if err != nil || noted {
		return err
	}
	rows, err := c.s.jobs.JobsByID(c.Ctx, c.Tx, []int64{f.JobID})
	if err != nil || len(rows) == 0 {
		return err
	}
	return c.Audit(action, "job", rows[0].Namespace, name, note, nil, nil)
}

// ArtifactLink returns a new link to the artifact of an attempt.
func (s *Store) ArtifactLink(ctx context.Context, session string, ref job.Ref) (link task.SignedRequest, err error) {
	var task task.Task
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		if _, err := ownLease(ctx, tx, session, ref); err != nil {
			return err
		}
		row, err := s.jobs.ReadJob(ctx, tx, core.AnyNamespace, ref.JobID)
		if err != nil {
			return err
		}
		tasks, err := s.tasks.TasksByID(ctx, tx, []int64{row.TaskID})
		task = tasks[row.TaskID]
		return err
	}); err != nil {
		return link, err
	}
	if task.Program == nil {
		return link, core.Errorf(core.Conflict, "job %d runs no program", ref.JobID)
	}
	bytes, err := s.programs.Bytes()
	if err != nil {
		return link, err
	}
	return bytes.SignGet(ctx, programs.BytesName(task.Namespace, task.Program.SHA256), programs.OutputLink)
}
