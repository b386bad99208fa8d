// Package windows keeps the windows of throttles and debounces, in which requests with one key share a job. Package jobs calls
// [Take] in the transaction of an enqueue. The row of a key is locked until its commit, so two requests at the same moment
// share one job.
package windows

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
)

// Request is a new job with the window in which it is requested.
type Request struct {
	*job.Job
	Window job.Window
}

// Taken is the result of a batch of requests.
type Taken struct {
	// Instead maps the index of each request without its own job to the job that replaces it.
	Instead map[int]int64
	// InsteadOf is the same, by the id of the job that is not created.
	InsteadOf map[int64]int64

	c        *base.Change
	requests []Request // by index, of requests with a window
	shares   []*sharedJob
	of       map[int]*sharedJob // by index, of debounced requests
}

// Take takes the windows of n requests, in order. Requests that are debounced together become one job. The first request
// creates a new job, with the values of the last one. An existing job is updated by [Taken.Finish], after the new jobs have
// been admitted.
func Take(c *base.Change, n int, at func(i int) (Request, bool)) (*Taken, error) {
	t := &Taken{c: c}
	for i := range n {
		if r, asks := at(i); asks && r.Window.Name != "" {
			if t.requests == nil {
				t.requests = make([]Request, n)
			}
			t.requests[i] = r
		}
	}
	if t.requests == nil {
		return t, nil
	}
	requests := t.requests
	t.of, t.InsteadOf = map[int]*sharedJob{}, map[int64]int64{}
	var err error
	t.Instead, err = keys.Claim(c, n, func(i int) (keys.Asked, bool) {
		r := requests[i]
		if r.Window.Name == "" {
			return keys.Asked{}, false
		}
		return keys.Asked{Namespace: r.Namespace, Name: r.Window.Name, Job: r.ID, Until: base.Micros(c.Now.Add(r.Window.Length))}, true
	})
	if err != nil {
		return nil, err
	}
	if err := t.shareJobs(requests); err != nil {
		return nil, err
	}
	for i, id := range t.Instead {
		t.InsteadOf[requests[i].ID] = id
		if err := keys.Pass(c, requests[i].Namespace, requests[i].Key, id); err != nil { // so that a repeated request gets the same answer
			return nil, err
		}
		c.Observe(func(o base.Observer) { o.KeptOut(requests[i].Queue, t.Reason(i), 1) })
	}
	return t, nil
}

// Reason returns the reason for which the request at an index creates no job, or "" if it is not a window.
func (t *Taken) Reason(i int) core.Reason {
	if _, is := t.Instead[i]; !is {
		return ""
	}
	switch s := t.of[i]; {
	case s == nil:
		return flow.ReasonThrottled
	case s.blocked:
		return ""
	}
	return flow.ReasonDebounced
}

// Joined returns how many further requests the job at an index stands for.
func (t *Taken) Joined(i int) int64 {
	if s := t.of[i]; s != nil {
		return s.joined
	}
	return 0
}

// Finish updates the windows after n requests for new jobs. holder is the job with the active key, if a job was not created for
// that reason.
func (t *Taken) Finish(n int, at func(i int) (r Request, holder int64)) error {
	if t.requests == nil {
		return nil
	}
	for i := range n {
		if r, holder := at(i); holder != 0 && r.Window.Name != "" {
			if err := t.passToHolder(r, holder); err != nil {
				return err
			}
		}
	}
	return t.finish()
}

// passToHolder puts the holder of an active key into the window of a throttle, in place of a job that was not created. The
// holder is never debounced, because it may be of another task. The keys of requests for which the job would have stood refer
// to the holder too.
func (t *Taken) passToHolder(r Request, holder int64) error {
	for i, id := range t.Instead {
		if id != r.ID {
			continue
		}
		if err := keys.Pass(t.c, t.requests[i].Namespace, t.requests[i].Key, holder); err != nil {
			return err
		}
	}
	if r.Window.Debounce == nil {
		return keys.Pass(t.c, r.Namespace, r.Window.Name, holder)
	}
	for _, s := range t.shares {
		if s.id == r.ID {
			s.blocked = true
		}
	}
	return keys.Free(t.c, r.Namespace, r.Window.Name)
}

// AddTo adds to a debounced job how many requests joined.
func AddTo(ctx context.Context, tx base.Tx, j *job.Job) error {
	d, found, err := base.First(ctx, tx, func(rows base.Rows) (d job.Debounced, err error) {
		var at int64
		err = rows.Scan(&d.Joined, &at)
		d.LastAt = base.Instant(at)
		return d, err
	}, `select joined, last_at from belfry.debounced where job_id = $1`, j.ID)
	if found {
		j.Debounced = &d
	}
	return err
}
