package worker

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/job"
)

// piece is attempts of one claim. They come together and share their memory,
// and are looked for one by one only for a cancellation.
type piece struct {
	lease    int64
	attempts []attempt
	held     int // of them
}

// keptJobs bounds what the attempts of a lane keep for as long as one of their
// piece runs: a kilobyte each, so 64 MB where every slot has a long job among
// many short ones. Up to 65 slots a claim is one piece.
const keptJobs = 64 << 10

// pieces makes attempts of what was claimed.
func (l *lane) pieces(c job.Claim, arrived time.Time) (all []*piece) {
	l.mu.Lock()
	size := max(1, keptJobs/l.slots)
	l.mu.Unlock()
	for jobs := range slices.Chunk(c.Jobs, size) {
		if len(jobs) < len(c.Jobs) {
			jobs = slices.Clone(jobs)
		}
		p := &piece{lease: c.Lease, attempts: make([]attempt, len(jobs)), held: len(jobs)}
		for i := range jobs {
			p.attempts[i].begin(l, p, &jobs[i], arrived)
		}
		all = append(all, p)
	}
	return all
}

// find is the attempt of a job that is held.
func (p *piece) find(job int64) *attempt {
	for i := range p.attempts {
		if a := &p.attempts[i]; a.run.Job.ID == job && !a.released {
			return a
		}
	}
	return nil
}
