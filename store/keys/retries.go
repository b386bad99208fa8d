package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// RetryOf returns the row of the idempotency key of a retry of a job. No request for a job can have its name. Each job has its own
// row, so that a key covers every job of a bulk retry once.
func RetryOf(c *base.Change, namespace string, id int64, key, asked string) Row {
	return Row{Namespace: namespace, Name: retryName(id, key), JobID: id, ExpiresAt: base.Micros(c.Now.Add(job.DefaultKeyWindow.D())), Asked: asked}
}

func retryName(id int64, key string) string { return fmt.Sprintf("\x1fretry\x1f%d\x1f%s", id, key) }

// RetryAskedFor returns a fingerprint of a retry, like [AskedFor]. The retry of a job without settings has the empty one, like that
// of a workflow run with the defaults.
func RetryAskedFor(from string, input json.RawMessage) string {
	if from == "" && len(input) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(base.Text([]any{from, plain(input)})))
	return hex.EncodeToString(sum[:16])
}

// TakeRetries claims the keys of retries. It returns the jobs that were retried with their key already, and refuses a job that was
// retried with the key in another way. A second transaction with the same key waits here for the first.
func TakeRetries(c *base.Change, rows []Row) (existing map[int64]bool, err error) {
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	table, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	fresh, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, claimKeys(table)+`
		returning job_id`, append([]any{base.Micros(c.Now)}, args...)...)
	if err != nil || len(fresh) == len(rows) {
		return nil, err
	}
	return TakenRetries(c, slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return slices.Contains(fresh, r.JobID) }))
}

// TakenRetries returns the jobs that were retried with their key already, like [TakeRetries], and claims nothing.
func TakenRetries(c *base.Change, rows []Row) (existing map[int64]bool, err error) {
	var namespaces, names []string
	asked := make(map[int64]Row, len(rows))
	for _, r := range rows {
		if names = append(names, r.Name); !slices.Contains(namespaces, r.Namespace) {
			namespaces = append(namespaces, r.Namespace)
		}
		asked[r.JobID] = r
	}
	existing = map[int64]bool{}
	taken, err := base.Collect(c.Ctx, c.Tx, func(r base.Rows) (k Row, err error) {
		return k, r.Scan(&k.JobID, &k.Asked)
	}, `
		select job_id, asked
		from belfry.job_keys
		where expires_at > $1 and `+c.SQL.In("namespace", 2)+` and `+c.SQL.In("name", 3)+`
		order by job_id`, base.Micros(c.Now), c.SQL.List(namespaces), c.SQL.List(names))
	for _, k := range taken {
		if r := asked[k.JobID]; r.Asked != k.Asked {
			return nil, errOtherRetry(r.Name[len(retryName(r.JobID, "")):], r.JobID)
		}
		existing[k.JobID] = true
	}
	return existing, err
}

func errOtherRetry(key string, job int64) error {
	return core.Errorf(core.Conflict, "idempotency key %q belongs to another retry of job %d, which was asked for with another step or input", key, job).
		WithHint("use another key for another retry, or repeat the first request")
}

// FreeRetries deletes the keys of jobs that could not be retried.
func FreeRetries(c *base.Change, rows []Row) error {
	for _, r := range rows {
		if err := Free(c, r.Namespace, r.Name); err != nil {
			return err
		}
	}
	return nil
}
