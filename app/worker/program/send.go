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

// sending uploads the output files of a program. The files are the result of the run, and are deleted with its folder. So it
// waits for an unreachable server until its context ends, and a refused file does not stop the others.
type sending struct {
	outs   []task.Output
	walk   func(take func(name string, size int64, content io.Reader) error) error // over all files, in the same order each time
	upload func(ctx context.Context, o task.Output, content io.Reader) error
	waits  func(error) // called once if the server is unreachable
}

// errAgain ends a walk that must be repeated later.
var errAgain = errors.New("again")

// unsent is the error of files that could not be sent in time.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// send returns the stored files, and the first reason why a file is not stored.
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

// linkTries is how often the store may forbid a file before it counts as refused. Each try gets a new link: the keys of the
// previous one may have expired, or a clock was wrong.
const linkTries = 6

// pass sends the files without a result, until the server is unreachable. links counts the failed links of each file.
func (s sending) pass(ctx context.Context, results []error, links []int) (away, err error) {
	err = s.walk(func(name string, size int64, content io.Reader) error {
		i := slices.IndexFunc(s.outs, func(o task.Output) bool { return o.Name == name && o.Size == size })
		if i < 0 || !errors.Is(results[i], errAgain) {
			return nil // the file is over the limit, differs from the list, or has a result
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

// passes reports whether an error is temporary: one of the server or the network. A fault of this machine's disk is not.
func passes(err error) bool {
	var ours *core.Error
	return errors.As(err, &ours) && slices.Contains([]core.Code{core.Unavailable, core.Unknown, core.Internal}, ours.Code)
}

// reading records whether reading the file failed.
type reading struct {
	from   io.Reader
	failed atomic.Bool // atomic, because a client may still read after its answer
}

func (r *reading) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed.Store(true)
	}
	return n, err
}
