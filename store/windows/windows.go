// Package windows keeps the windows of throttles and debounces, in which requests of a key share a job.
package windows

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
)

// Request is a new job, and the window that it is asked for in.
type Request struct {
	*job.Job
	Window job.Window
}

// Taken is what became of a batch of requests.
type Taken struct {
	// Instead are, by place, the jobs that stand for requests that make none.
	Instead map[int]int64
	// InsteadOf are the same, by the jobs that are not made.
	InsteadOf map[int64]int64

	c        *base.Change
	requests []Request // by place, of those that ask for a window
	shares   []*share
	of       map[int]*share // by place, of those that are debounced
}

// Take takes the windows of n requests, in their order. Those that are debounced together become one job: where it is new,
// the first of them is made to be what the last asks for, and a job that is there already follows with [Taken.Finish],
// after the new ones have been let in.
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
	t.of, t.InsteadOf = map[int]*share{}, map[int64]int64{}
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
	if err := t.share(requests); err != nil {
		return nil, err
	}
	for i, id := range t.Instead {
		t.InsteadOf[requests[i].ID] = id
		if err := keys.Pass(c, requests[i].Namespace, requests[i].Key, id); err != nil { // so that who asks again is answered the same
			return nil, err
		}
		c.Observe(func(o base.Observer) { o.KeptOut(requests[i].Queue, t.Reason(i), 1) })
	}
	return t, nil
}

// Reason is why the request at a place makes no job; empty: not because of a window.
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

// Joined is how many requests the job of a place stands for besides the first.
func (t *Taken) Joined(i int) int64 {
	if s := t.of[i]; s != nil {
		return s.joined
	}
	return 0
}

// Finish has windows follow n requests for new jobs. Those that were not made, because another job has their active key, come
// with that one.
func (t *Taken) Finish(n int, at func(i int) (r Request, holder int64)) error {
	if t.requests == nil {
		return nil
	}
	for i := range n {
		if r, holder := at(i); holder != 0 && r.Window.Name != "" {
			if err := t.blocked(r, holder); err != nil {
				return err
			}
		}
	}
	return t.finish()
}

// blocked has the holder of an active key stand in the window of a throttle for a job that was not made. It is never
// debounced: it may be of another task. The keys of requests that the job would have stood for are the holder's too.
func (t *Taken) blocked(r Request, holder int64) error {
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

// AddTo says of a job that was debounced which requests joined.
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
