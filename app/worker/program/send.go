package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/task"
)

// sending is the way of what a program left to where it is kept. The files are what the program ran for, and they go with
// its folder: so a server that is away is waited for as long as its context lasts, and a file that is refused keeps back
// no other.
type sending struct {
	outs   []task.Output
	walk   func(take func(name string, size int64, content io.Reader) error) error // over all files, in the same order each time
	upload func(ctx context.Context, o task.Output, content io.Reader) error
	waits  func(error) // is told once that the server is away
}

// errAgain ends a walk of which more must be tried later.
var errAgain = errors.New("again")

// unsent is why files are not kept that were not refused: there was no time left to send them.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// send returns what is kept, and the first reason why something is not.
func (s sending) send(ctx context.Context) (kept []task.Output, why error) {
	results := make([]error, len(s.outs))
	links := make([]int, len(s.outs))
	for i := range results {
		results[i] = errAgain
	}
	backoff := patience.Backoff{First: 250 * time.Millisecond, Most: 5 * time.Second}
	for told := false; ; {
		away, err := s.pass(ctx, results, links)
		if err != nil {
			why = err
			break
		}
		if away == nil {
			break
		}
		if !told && ctx.Err() == nil {
			s.waits(away)
			told = true
		}
		if backoff.Sleep(ctx); ctx.Err() != nil {
			why = unsent{away}
			break
		}
	}
	for i, err := range results {
		switch {
		case err == nil:
			kept = append(kept, s.outs[i])
		case why != nil:
		case errors.Is(err, errAgain):
			why = fmt.Errorf("%s: it cannot be read again", s.outs[i].Name)
		default:
			why = err
		}
	}
	return kept, why
}

// linkTries is how often the store may forbid a file before it counts as refused. Each try asks for a new link: the keys of
// the one before may have ended, or a clock was wrong.
const linkTries = 6

// pass sends what has no result yet, until the server is away. Links counts the links that were given in vain.
func (s sending) pass(ctx context.Context, results []error, links []int) (away, err error) {
	err = s.walk(func(name string, size int64, content io.Reader) error {
		i := slices.IndexFunc(s.outs, func(o task.Output) bool { return o.Name == name && o.Size == size })
		if i < 0 || !errors.Is(results[i], errAgain) {
			return nil // it was over the count, is not what was listed, or is dealt with
		}
		file := &reading{from: content}
		if results[i] = s.upload(ctx, s.outs[i], file); results[i] == nil {
			return nil
		}
		err := fmt.Errorf("%s: %w", name, results[i])
		results[i] = err
		switch {
		case file.failed.Load():
			return nil
		case ctx.Err() != nil, passes(err):
			away, results[i] = err, errAgain
			return errAgain
		case core.CodeOf(err) == core.Forbidden:
			if links[i]++; links[i] < linkTries {
				away, results[i] = err, errAgain
			}
		}
		return nil
	})
	if errors.Is(err, errAgain) {
		err = nil
	}
	return away, err
}

// passes reports that it was the server or the way to it. A fault of this machine's own disk is there the next time too.
func passes(err error) bool {
	var ours *core.Error
	return errors.As(err, &ours) && slices.Contains([]core.Code{core.Unavailable, core.Unknown, core.Internal}, ours.Code)
}

// reading knows whether it was the file that could not be read.
type reading struct {
	from   io.Reader
	failed atomic.Bool // a client may still read when it has answered
}

func (r *reading) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed.Store(true)
	}
	return n, err
}
