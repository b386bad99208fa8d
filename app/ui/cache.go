package ui

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Limits of reads for visitors, who have no token.
const (
	loadTimeout = 10 * time.Second // of one read
	loadsAtOnce = 4                // reads at the same time, of all pages together: visitors may not use up the database
	maxShown    = 256              // pages that are kept
	maxRefused  = 4096             // names that are remembered not to be there
	retryAfter  = 5 * time.Second  // time until a failed or missing page is read again; at most the age of a page
)

// cache keeps pages as they are served. Of the visitors that find none that is
// young enough the first reads it, in its own goroutine, and the others wait.
type cache struct {
	load   func(context.Context, key) (view.Board, error)
	render func(k key, b view.Board, stale bool) (rendered, error)
	keep   time.Duration
	retry  time.Duration
	slots  chan struct{}

	mu      sync.Mutex
	shown   map[key]shown
	refused map[key]refusal
	flights map[key]*flight
}

// rendered is a page in all its forms.
type rendered [forms]asset.Document

// shown is a page that is kept.
type shown struct {
	forms rendered
	board view.Board
	stale bool // it could not be read anew
	until time.Time
}

// refusal is remembered of a page that is not there, or of which nothing is known.
type refusal struct {
	err   error
	until time.Time
}

// flight is a read that is under way. Its result is set before done is closed.
type flight struct {
	done  chan struct{}
	shown shown
	err   error
}

func newCache(keep time.Duration) *cache {
	return &cache{
		keep: keep, retry: min(retryAfter, keep), slots: make(chan struct{}, loadsAtOnce),
		shown: map[key]shown{}, refused: map[key]refusal{}, flights: map[key]*flight{},
	}
}

// get returns a page that is young enough, or the last one if it cannot be read.
func (c *cache) get(ctx context.Context, k key) (shown, error) {
	c.mu.Lock()
	now := time.Now()
	if s, ok := c.shown[k]; ok && now.Before(s.until) {
		c.mu.Unlock()
		return s, nil
	}
	if r, ok := c.refused[k]; ok && now.Before(r.until) {
		c.mu.Unlock()
		return shown{}, r.err
	}
	f, flying := c.flights[k]
	if !flying {
		f = &flight{done: make(chan struct{}), err: core.Errorf(core.Internal, "the read did not return")}
		c.flights[k] = f
	}
	c.mu.Unlock()
	if !flying {
		c.fly(ctx, k, f)
		return f.shown, f.err
	}
	select {
	case <-f.done:
		return f.shown, f.err
	case <-ctx.Done():
		return shown{}, ctx.Err()
	}
}

// fly reads a page for all waiting visitors. It goes on after the first of them
// has left, and ends for the others in any case, also after a panic.
func (c *cache) fly(ctx context.Context, k key, f *flight) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, k)
		c.mu.Unlock()
		close(f.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	b, err := c.read(ctx, k)
	var forms rendered
	if err == nil {
		forms, err = c.render(k, b, false)
	}
	if err != nil {
		f.shown, f.err = c.failed(k, err)
		return
	}
	f.shown, f.err = shown{forms: forms, board: b, until: time.Now().Add(c.keep)}, nil
	c.put(k, f.shown)
}

func (c *cache) read(ctx context.Context, k key) (view.Board, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
		return c.load(ctx, k)
	case <-ctx.Done():
		return view.Board{}, ctx.Err()
	}
}

// failed is the answer for a page that could not be read.
func (c *cache) failed(k key, err error) (shown, error) {
	until := time.Now().Add(c.retry)
	c.mu.Lock()
	last, known := c.shown[k]
	c.mu.Unlock()
	if !known || core.CodeOf(err) == core.NotFound {
		c.refuse(k, refusal{err, until})
		return shown{}, err
	}
	if !last.stale { // its forms say so from now on
		forms, cannot := c.render(k, last.board, true)
		if cannot != nil {
			return shown{}, cannot
		}
		last.forms, last.stale = forms, true
	}
	last.until = until
	c.put(k, last)
	return last, nil
}

func (c *cache) put(k key, s shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.refused, k)
	if _, known := c.shown[k]; !known && len(c.shown) >= maxShown {
		c.dropOldest()
	}
	c.shown[k] = s
}

// dropOldest wants c.mu.
func (c *cache) dropOldest() {
	var oldest key
	var until time.Time
	for k, s := range c.shown {
		if until.IsZero() || s.until.Before(until) {
			oldest, until = k, s.until
		}
	}
	delete(c.shown, oldest)
}

func (c *cache) refuse(k key, r refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shown, k)
	if len(c.refused) >= maxRefused { // names are made up; none is worth keeping
		clear(c.refused)
	}
	c.refused[k] = r
}
