package worker

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestConcludedOutcomes(t *testing.T) {
	t.Parallel()
	const (
		ok, failed, snoozed   = job.OutcomeOK, job.OutcomeError, job.OutcomeSnoozed
		timeout, canceled     = job.OutcomeTimeout, job.OutcomeCanceled
		back, nothing         = job.OutcomeHandedBack, job.Outcome("")
		ranLonger, disturbed  = "ran longer than its timeout of 1m", "worker is shutting down: boom"
		canceledText, boomOut = "canceled: boom", "ran longer than its timeout of 1m: boom"
	)
	for _, c := range []struct {
		said    job.Outcome
		err     string
		noRetry bool
		cause   error
		want    job.Outcome
		wantErr string
	}{
		{ok, "", false, nil, ok, ""},
		{failed, "boom", false, nil, failed, "boom"},
		{ok, "", false, ErrTimeout, ok, ""},
		{ok, "", false, ErrCanceled, ok, ""},
		{ok, "", false, ErrShutdown, ok, ""},
		{ok, "", false, ErrLost, nothing, ""},
		{snoozed, "later", false, ErrTimeout, snoozed, "later"},
		{failed, "boom", false, ErrTimeout, timeout, boomOut},
		{failed, "context deadline exceeded", false, ErrTimeout, timeout, ranLonger},
		{failed, "timeout", false, ErrTimeout, timeout, "ran longer than its timeout of 1m: timeout"},
		{failed, "boom", true, ErrTimeout, timeout, boomOut},
		{failed, "boom", false, ErrCanceled, canceled, canceledText},
		{failed, "canceled", false, ErrCanceled, canceled, "canceled"},
		{failed, "boom", false, ErrShutdown, back, disturbed},
		{failed, "boom", true, ErrShutdown, failed, "boom"},
		{failed, "boom", false, ErrLost, nothing, ""},
	} {
		f, report := conclude(job.Finish{Outcome: c.said, Error: c.err, NoRetry: c.noRetry}, c.cause, time.Minute)
		if !report {
			f.Outcome, f.Error = nothing, ""
		}
		if f.Outcome != c.want || f.Error != c.wantErr || report && f.NoRetry != c.noRetry {
			t.Errorf("%s %q after %v: got %s %q, want %s %q", c.said, c.err, c.cause, f.Outcome, f.Error, c.want, c.wantErr)
		}
	}
}

func TestResultsAreMadeFit(t *testing.T) {
	t.Parallel()
	big := fit(job.Finish{Outcome: job.OutcomeOK, Output: []byte(`"` + strings.Repeat("x", core.MaxOutput) + `"`)})
	if big.Outcome != job.OutcomeError || !big.NoRetry || big.Output != nil {
		t.Errorf("%+v", big)
	}
	if f := fit(job.Finish{Outcome: job.OutcomeOK, Output: []byte(`{`)}); f.Outcome != job.OutcomeError {
		t.Errorf("%+v", f)
	}
	if f := fit(job.Finish{Outcome: job.OutcomeOK, Output: []byte("\"\xff\"")}); f.Outcome != job.OutcomeOK || !utf8.Valid(f.Output) {
		t.Errorf("%+v", f)
	}
	if f := fit(job.Finish{}); f.Outcome != job.OutcomeError {
		t.Errorf("%+v", f)
	}
	if f := fit(job.Finish{Outcome: job.OutcomeError, Error: strings.Repeat("é\x00", core.MaxError)}); len(f.Error) > core.MaxError || !utf8.ValidString(f.Error) {
		t.Errorf("%d bytes", len(f.Error))
	}
}
