package programs

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

const (
	// KeepOpen is the time after the longest attempt for which announced files are kept that no report named.
	KeepOpen = 24 * time.Hour
	// OutputLink is the lifetime of a link to upload or download an output.
	OutputLink = 15 * time.Minute
)

// DeclareOutput announces a file that an attempt is about to upload. It returns a link for the upload, or nil if the namespace
// has uploaded these bytes already. The attempt has to be running: a file announced under another lease is another file. Bytes
// are named by their digest, so one namespace cannot replace those of another. Files that the attempt's report does not name
// are deleted.
func (s *Store) DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	bytes, err := s.Bytes()
	if err != nil {
		return nil, err
	}
	var name string
	if err := s.write(ctx, "declare output", func(c *Change) error {
		namespace, err := c.declareOutput(session, ref, o)
		name = BytesName(namespace, o.SHA256)
		return err
	}); err != nil {
		return nil, err
	}
	// The reference is committed: a removal of these bytes has begun and is seen here, or will see the reference.
	if err := s.notBeingRemoved(ctx, name); err != nil {
		return nil, err
	}
	if there, err := bytes.Has(ctx, name, o.Size); err != nil || there {
		return nil, err
	}
	link, err := bytes.SignPut(ctx, name, o.Size, OutputLink)
	if err != nil {
		return nil, err
	}
	return &link, nil
}

func (c *Change) declareOutput(session string, ref job.Ref, o task.Output) (namespace string, err error) {
	task, err := c.attemptTask(session, ref)
	if err != nil {
		return "", err
	}
	if task.Program == nil {
		return "", core.Errorf(core.Conflict, "job %d runs no program", ref.JobID).WithHint("only programs leave files")
	}
	type sum struct{ files, size, same int64 }
	others, _, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (v sum, err error) { return v, r.Scan(&v.files, &v.size, &v.same) }, `
		select coalesce(sum(case when name <> $3 then 1 else 0 end), 0),
			cast(coalesce(sum(case when name <> $3 then size else 0 end), 0) as bigint),
			coalesce(sum(case when name = $3 and size >= $4 then 1 else 0 end), 0)
		from belfry.outputs
		where job_id = $1 and lease = $2`, ref.JobID, ref.Lease, o.Name, o.Size)
	if err != nil {
		return "", err
	}
	if err := task.Program.Limits.AddOutput(o, int(others.files), others.size); err != nil {
		return "", err
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.outputs (job_id, lease, name, size, sha256, at, namespace)
		values ($1, $2, $3, $4, $5, $6, $7)
		on conflict (job_id, lease, name) do update
		set size = excluded.size, sha256 = excluded.sha256, at = excluded.at
		where belfry.outputs.confirmed = 0`, ref.JobID, ref.Lease, o.Name, o.Size, o.SHA256, base.Micros(c.Now), task.Namespace)
	if err == nil && others.same == 0 { // a repeated announcement needs no more room
		err = c.quotas().Created("output", task.Namespace, "")
	}
	return task.Namespace, err
}

// attemptTask returns the task of a running attempt. It locks the job, so that the attempt does not end meanwhile.
func (c *Change) attemptTask(session string, ref job.Ref) (task.Task, error) {
	rows, err := c.jobs().LockJobs([]int64{ref.JobID})
	if err != nil {
		return task.Task{}, err
	}
	if len(rows) == 0 || rows[0].State != job.Running || rows[0].Lease != ref.Lease || rows[0].Session != session {
		return task.Task{}, ErrAttempt(ref)
	}
	tasks, err := c.tasks().TasksByID([]int64{rows[0].TaskID})
	return tasks[rows[0].TaskID], err
}

// ErrAttempt is the error for a lease that has ended.
func ErrAttempt(ref job.Ref) error {
	return core.Errorf(core.Unauthorized, "the attempt of job %d under lease %d has ended", ref.JobID, ref.Lease).
		WithHint("stop what it runs: another worker may have the job by now")
}

// WithOutputs removes the files from reports whose bytes are missing. It runs before the transition, because the byte store may
// be remote. If the byte store is not reachable, the report is believed.
func (s *Store) WithOutputs(ctx context.Context, fs []job.Finish) []job.Finish {
	bytes, err := s.Bytes()
	owners := map[int64]string{} // by job
	if err == nil {
		owners, err = s.ownersOfOutputs(ctx, fs)
	}
	cloned := false
	for i := range fs {
		if fs[i].Sandboxed == nil || len(fs[i].Sandboxed.Outputs) == 0 || len(fs[i].Sandboxed.Outputs) > task.MaxOutputs {
			continue
		}
		if !cloned {
			fs, cloned = slices.Clone(fs), true
		}
		said := *fs[i].Sandboxed
		said.Outputs, said.Missing = nil, slices.Clone(said.Missing)
		for _, o := range fs[i].Sandboxed.Outputs {
			there := false
			var fault error
			if owner := owners[fs[i].JobID]; err == nil && owner != "" && task.IsDigest(o.SHA256) {
				there, fault = bytes.Has(ctx, BytesName(owner, o.SHA256), o.Size)
			}
			if there || fault != nil {
				said.Outputs = append(said.Outputs, o)
				continue
			}
			said.Missing = append(said.Missing, "output "+strconv.Quote(o.Name)+": its bytes never arrived")
		}
		if n := len(said.Missing); n > shownMissing {
			said.Missing = append(said.Missing[:shownMissing], strconv.Itoa(n-shownMissing)+" more")
		}
		fs[i].Sandboxed = &said
	}
	return fs
}

const shownMissing = 32

// ownersOfOutputs returns the namespaces that own the announced files of the reports' jobs. A job that announced no file is
// left out, and keeps none.
func (s *Store) ownersOfOutputs(ctx context.Context, fs []job.Finish) (map[int64]string, error) {
	var jobs []int64
	for _, f := range fs {
		if f.Sandboxed != nil && len(f.Sandboxed.Outputs) > 0 {
			jobs = append(jobs, f.JobID)
		}
	}
	owners := map[int64]string{}
	if len(jobs) == 0 {
		return owners, nil
	}
	type owned struct {
		job       int64
		namespace string
	}
	err := s.DB().Read(ctx, func(tx base.Tx) error {
		rows, err := base.Collect(ctx, tx, func(r base.Rows) (o owned, err error) { return o, r.Scan(&o.job, &o.namespace) },
			`select distinct job_id, namespace from belfry.outputs where `+s.SQL.In("job_id", 1), s.SQL.List(base.Unique(jobs)))
		for _, o := range rows {
			owners[o.job] = o.namespace
		}
		return err
	})
	return owners, err
}

// KeepDetails stores the details that ended attempts report besides their outcome.
func (c *Change) KeepDetails(fs []job.Finish, out []job.Finished) error {
	for i, f := range fs {
		if f.Sandboxed == nil || out[i].Stale {
			continue
		}
		doc := base.Text(f.Sandboxed)
		if _, err := c.Tx.Exec(c.Ctx, `
			insert into belfry.attempt_details (job_id, lease, at, doc)
			values ($1, $2, $3, $4)
			on conflict (job_id, lease) do nothing`, f.JobID, f.Lease, base.Micros(c.Now), doc); err != nil {
			return err
		}
		if err := c.confirmOutputs(f); err != nil {
			return err
		}
	}
	return nil
}

// confirmOutputs keeps the announced files that a report names, and deletes the others.
func (c *Change) confirmOutputs(f job.Finish) error {
	for _, o := range f.Sandboxed.Outputs {
		if _, err := c.Tx.Exec(c.Ctx, `
			update belfry.outputs
			set confirmed = 1
			where job_id = $1 and lease = $2 and name = $3 and size = $4 and sha256 = $5`, f.JobID, f.Lease, o.Name, o.Size, o.SHA256); err != nil {
			return err
		}
	}
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.outputs where job_id = $1 and lease = $2 and confirmed = 0`, f.JobID, f.Lease)
	return err
}

// Outputs lists the files of the attempts of a job, oldest first.
func (s *Store) Outputs(ctx context.Context, namespace string, job int64) (all []task.JobOutput, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		if _, err := s.jobs.ReadJob(ctx, tx, namespace, job); err != nil {
			return err
		}
		all, err = base.Collect(ctx, tx, func(r base.Rows) (o task.JobOutput, err error) {
			return o, r.Scan(&o.JobID, &o.Lease, &o.Name, &o.Size, &o.SHA256, base.ScanTime(&o.At))
		}, `
			select job_id, lease, name, size, sha256, at
			from belfry.outputs
			where job_id = $1 and confirmed = 1
			order by lease, name`, job)
		return err
	})
	if all == nil {
		all = []task.JobOutput{}
	}
	return all, err
}

// OutputLink returns a link to download a file of a job. Without a lease it is the file of the newest attempt.
func (s *Store) OutputLink(ctx context.Context, namespace string, j int64, name string, lease int64) (link task.SignedRequest, err error) {
	all, err := s.Outputs(ctx, namespace, j)
	if err != nil {
		return link, err
	}
	bytes, err := s.Bytes()
	if err != nil {
		return link, err
	}
	for _, o := range slices.Backward(all) {
		if o.Name == name && (lease == 0 || o.Lease == lease) {
			owners, err := s.ownersOfOutputs(ctx, []job.Finish{{Ref: job.Ref{JobID: j}, Sandboxed: &task.Sandboxed{Outputs: []task.Output{o.Output}}}})
			if err != nil {
				return link, err
			}
			return bytes.SignGet(ctx, BytesName(owners[j], o.SHA256), OutputLink)
		}
	}
	return link, core.Errorf(core.NotFound, "job %d left no file %q", j, name).WithHint("see: belfry job outputs %d", j)
}
