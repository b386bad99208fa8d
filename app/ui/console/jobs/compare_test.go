package jobs

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
)

func TestComparedRows(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 1, 12, 0, s, 0, time.UTC) }
	good := job.Job{Attempt: 1, Input: json.RawMessage(`{"db":"shop"}`)}
	bad := job.Job{Attempt: 2, Input: json.RawMessage(`{"db":"crm"}`)}
	was := []job.Attempt{{StartedAt: at(0), EndedAt: at(4), ExitCode: new(0), Worker: "a"}}
	is := []job.Attempt{{StartedAt: at(0), EndedAt: at(1)}, {StartedAt: at(10), EndedAt: at(30), Signal: "SIGKILL", Worker: "a"}}
	got := fmt.Sprint(comparedRows(good, bad, was, is))
	if want := `[{Duration 4 s 20 s true} {Process exit code 0 SIGKILL true} {Attempts 1 2 true} {Input {"db":"shop"} {"db":"crm"} true} {Worker a a false}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = fmt.Sprint(comparedRows(good, good, nil, nil))
	if want := `[{Duration 0 s 0 s false} {Attempts 1 1 false} {Input {"db":"shop"} the same false}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAttemptBars(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 1, 12, 0, s, 0, time.UTC) }
	first := job.Attempt{Number: 1, ClaimedAt: at(1), EndedAt: at(5), Outcome: job.OutcomeLost}
	j := job.Job{State: job.Running, Attempt: 2, CreatedAt: at(0), ClaimedAt: at(6)}
	var said string
	for _, b := range attemptBars(j, []job.Attempt{first}, at(9)) {
		said += fmt.Sprintf("%s, %s, %v; ", b.Leg.Said(), b.Leg.Tone, b.Runs)
	}
	if want := "Attempt 1: lost: 4 s, bad, false; Attempt 2 runs: 3 s, busy, true; "; said != want {
		t.Errorf("%s, want %s", said, want)
	}
	if got := attemptBars(job.Job{State: job.Running, Attempt: 1}, nil, at(9)); got != nil {
		t.Errorf("a first attempt needs no bar of its own: %v", got)
	}
}

// A page is read again where its job has gone on between its parts.
func TestAJobGoesOnWhileItIsRead(t *testing.T) {
	snoozed := job.Attempt{Number: 1, Lease: 4, Outcome: job.OutcomeSnoozed}
	for _, tt := range []struct {
		job      job.Job
		attempts []job.Attempt
		want     bool
	}{
		{job.Job{State: job.Running, Attempt: 1, Lease: 5}, []job.Attempt{snoozed}, false},
		{job.Job{State: job.Running, Attempt: 1, Lease: 5}, []job.Attempt{snoozed, {Number: 1, Lease: 5, Outcome: job.OutcomeOK}}, true},
		{job.Job{State: job.Succeeded, Attempt: 1, Lease: 5}, []job.Attempt{{Number: 1, Lease: 5, Outcome: job.OutcomeOK}}, false},
	} {
		if got := hasGoneOn(tt.job, tt.attempts); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}
