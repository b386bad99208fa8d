package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/stack"
)

// runGuarded always calls answer, even if the executor panics or ends its
// goroutine with runtime.Goexit, which runs only deferred functions.
func runGuarded(ctx context.Context, ex Executor, r *Run, answer func(job.Finish)) {
	var f job.Finish
	returned := false
	defer func() {
		if v := recover(); v != nil {
			f = r.Failed("panic: %v\n\n%s", v, stack.OfPanic(debug.Stack()))
			_, _ = fmt.Fprintln(r.Log, f.Error)
		} else if !returned {
			f = r.Failed("handler ended its goroutine (runtime.Goexit, or FailNow of a test)")
		}
		f.Ref = r.Ref() // an executor need not fill it in
		answer(fit(f))
	}()
	f = ex.Execute(ctx, r)
	returned = true
}

// fit makes a result acceptable to any server: it cleans texts and cuts them to
// their limits. The output must be one JSON value within its limit.
func fit(f job.Finish) job.Finish {
	if f.Outcome == "" {
		f.Outcome, f.Error = job.OutcomeError, explain("executor gave no outcome", f.Error)
	}
	if len(f.Output) > 0 && !utf8.Valid(f.Output) {
		f.Output = []byte(strings.ToValidUTF8(string(f.Output), "\uFFFD"))
	}
	switch {
	case len(f.Output) > core.MaxOutput:
		f = refuseOutput(f, fmt.Sprintf("its output of %d bytes is over the limit of %d: put large results elsewhere and return where", len(f.Output), core.MaxOutput))
	case len(f.Output) > 0:
		if fault := core.JSONFault(f.Output); fault != "" {
			f = refuseOutput(f, "its output "+fault)
		}
	}
	f.Error, _ = core.CleanText(f.Error, core.MaxError)
	return f
}

func refuseOutput(f job.Finish, why string) job.Finish {
	f.Output = nil
	if f.Outcome == job.OutcomeOK {
		f.Outcome, f.NoRetry = job.OutcomeError, true
	}
	f.Error = explain(why, f.Error)
	return f
}
