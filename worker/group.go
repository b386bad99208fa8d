package worker

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/job"
)

// attemptGroup is a group of attempts of one claim. They arrive together and share their
// memory. A single attempt is searched for only on a cancellation.
type attemptGroup struct {
	lease    int64
	attempts []attempt
	held     int // attempts that are still held
}

// keptJobs is the most ended attempts whose memory a consumer keeps because another
// of their group still runs. At 1 KB each that is 64 MB, if every slot has a long
// job among many short ones. With up to 65 slots, a claim is one group.
const keptJobs = 64 << 10

// groupAttempts makes attempts of the claimed jobs.
func (c *consumer) groupAttempts(claim job.Claim, arrived time.Time) (all []*attemptGroup) {
	c.mu.Lock()
	size := max(1, keptJobs/c.slots)
	c.mu.Unlock()
	for jobs := range slices.Chunk(claim.Jobs, size) {
		if len(jobs) < len(claim.Jobs) {
			jobs = slices.Clone(jobs)
		}
		g := &attemptGroup{lease: claim.Lease, attempts: make([]attempt, len(jobs)), held: len(jobs)}
		for i := range jobs {
			g.attempts[i].begin(c, g, &jobs[i], arrived)
		}
		all = append(all, g)
	}
	return all
}

// find returns the held attempt of a job.
func (g *attemptGroup) find(job int64) *attempt {
	for i := range g.attempts {
		if a := &g.attempts[i]; a.run.Job.ID == job && !a.released {
			return a
		}
	}
	return nil
}
