package worker

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func TestWhatAnEndMeans(t *testing.T) {
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

// However output is written and taken, its pieces together are the text, each
// is fit, and their numbers grow by one.
func TestPiecesTogetherAreTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ship := newShipper(nil, nil)
		var l attemptLog
		l.open(ship, "s", job.Ref{}, 1<<20)
		written := ""
		var pieces []job.LogPiece
		take := func() {
			p, size := l.take()
			pieces = append(pieces, p...)
			l.sent(size, true)
		}
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			part := rapid.SampledFrom([]string{"", "a", "line\n", "\x00", "\xff", "é", "\xe2\x82", "\xac", "€", strings.Repeat("ab€\n", 20_000), strings.Repeat("\xff-", 9_000)}).Draw(t, "part")
			l.write(job.Stdout, []byte(part))
			written += part
			if l.unsent > 100_000 || rapid.Bool().Draw(t, "take") {
				take()
			}
		}
		l.close()
		take()
		got := ""
		for i, p := range pieces {
			if p.Seq != i || p.Text == "" || len(p.Text) > job.MaxLogPiece {
				t.Fatalf("piece %d has number %d and %d bytes", i, p.Seq, len(p.Text))
			}
			got += p.Text
		}
		// Cleaning in parts makes more replacement characters of a run of
		// invalid bytes than cleaning at once; otherwise it is the same.
		once, _ := core.CleanText(written, 4*len(written)+4)
		if squeeze(got) != squeeze(once) {
			t.Fatalf("got %d bytes, want %d", len(got), len(once))
		}
		if l.unsent != 0 {
			t.Fatalf("%d bytes are unsent", l.unsent)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
