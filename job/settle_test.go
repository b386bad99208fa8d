package job

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// plainRetry waits 10 s, 20 s, 40 s and so on, without jitter.
var plainRetry = task.Retry{Jitter: -1}.WithDefaults()

func TestSettle(t *testing.T) {
	t.Parallel()
	asked := func(j *Job, _ *task.Retry, _ *Finish) { j.CancelAt, j.Note = at("09:59"), "by ann: wrong input" }
	noRetry := func(_ *Job, _ *task.Retry, f *Finish) { f.NoRetry = true }
	onLostFail := func(_ *Job, r *task.Retry, _ *Finish) { r.OnLost = task.OnLostFail }
	failures := func(n int) func(*Job, *task.Retry, *Finish) {
		return func(j *Job, _ *task.Retry, _ *Finish) { j.Failures = n }
	}
	snooze := func(d time.Duration) func(*Job, *task.Retry, *Finish) {
		return func(_ *Job, _ *task.Retry, f *Finish) { f.Snooze = core.Duration(d) }
	}
	snoozes := func(n int) func(*Job, *task.Retry, *Finish) {
		return func(j *Job, _ *task.Retry, f *Finish) { j.Snoozes, f.Snooze = n, core.Duration(time.Minute) }
	}
	spoiled := func(budget, infra int) func(*Job, *task.Retry, *Finish) {
		return func(j *Job, r *task.Retry, f *Finish) { r.Infra, j.Infra, f.Infra = budget, infra, true }
	}
	all := func(fs ...func(*Job, *task.Retry, *Finish)) func(*Job, *task.Retry, *Finish) {
		return func(j *Job, r *task.Retry, f *Finish) {
			for _, change := range fs {
				change(j, r, f)
			}
		}
	}
	for _, row := range []struct {
		name    string
		outcome Outcome
		given   func(*Job, *task.Retry, *Finish)
		want    string
	}{
		{"success", OutcomeOK, nil, "succeeded; failures 0"},
		{"success after failures keeps their count", OutcomeOK, failures(2), "succeeded; failures 2"},
		{"success although it was asked to end", OutcomeOK, asked, "succeeded; failures 0"},
		{"success needs no retry", OutcomeOK, noRetry, "succeeded; failures 0"},
		{"first error", OutcomeError, nil, "scheduled 10:00:10; failures 1; said why"},
		{"second error", OutcomeError, failures(1), "scheduled 10:00:20; failures 2; said why"},
		{"third error", OutcomeError, failures(2), "failed exhausted; failures 3; said why"},
		{"more errors than attempts", OutcomeError, failures(9), "failed exhausted; failures 10; said why"},
		{"first timeout", OutcomeTimeout, nil, "scheduled 10:00:10; failures 1; said why"},
		{"third timeout", OutcomeTimeout, failures(2), "failed exhausted; failures 3; said why"},
		{"no retry wanted", OutcomeError, noRetry, "failed no_retry; failures 1; said why"},
		{"no retry wanted after a timeout", OutcomeTimeout, noRetry, "failed no_retry; failures 1; said why"},
		{"worker lost", OutcomeLost, nil, "scheduled 10:00:10; failures 1; said why"},
		{"worker lost for the third time", OutcomeLost, failures(2), "failed exhausted; failures 3; said why"},
		{"worker lost and it must not start twice", OutcomeLost, onLostFail, "failed lost; failures 1; said why"},
		{"an error of a job that must not start twice", OutcomeError, onLostFail, "scheduled 10:00:10; failures 1; said why"},
		{"worker lost, asked to end", OutcomeLost, asked, "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"worker lost, asked to end, and it must not start twice", OutcomeLost, all(asked, onLostFail), "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"error, asked to end", OutcomeError, asked, "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"last error, asked to end", OutcomeError, all(asked, failures(2)), "canceled canceled; by ann: wrong input; failures 2; said why"},
		{"timeout, asked to end", OutcomeTimeout, asked, "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"handed back, asked to end", OutcomeHandedBack, asked, "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"snoozed, asked to end", OutcomeSnoozed, all(asked, snooze(time.Minute)), "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"spoiled by the machine, without retries for that", OutcomeError, spoiled(0, 0), "scheduled 10:00:10; failures 1; said why"},
		{"spoiled by the machine, and none are wanted", OutcomeError, spoiled(-1, 0), "scheduled 10:00:10; failures 1; said why"},
		{"spoiled by the machine", OutcomeError, spoiled(3, 0), "scheduled 10:00:10; failures 0; infra 1; said why"},
		{"spoiled for the second time", OutcomeError, spoiled(3, 1), "scheduled 10:01; failures 0; infra 2; said why"},
		{"spoiled for the last time that counts apart", OutcomeError, spoiled(3, 2), "scheduled 10:03; failures 0; infra 3; said why"},
		{"spoiled once more counts like a failure", OutcomeError, spoiled(3, 3), "scheduled 10:05; failures 1; infra 3; said why"},
		{"spoiled once more, and all attempts are exhausted", OutcomeError, all(spoiled(3, 3), failures(2)), "failed exhausted; failures 3; infra 3; said why"},
		{"spoiled although all other attempts but the last are used", OutcomeError, all(spoiled(3, 0), failures(2)), "scheduled 10:00:10; failures 2; infra 1; said why"},
		{"a failure after it was spoiled", OutcomeError, all(spoiled(3, 3), func(_ *Job, _ *task.Retry, f *Finish) { f.Infra = false }), "scheduled 10:00:10; failures 1; infra 3; said why"},
		{"a download took too long", OutcomeTimeout, spoiled(1, 0), "scheduled 10:00:10; failures 0; infra 1; said why"},
		{"worker lost, first and waited for", OutcomeLost, spoiled(3, 0), "ready 10:00; failures 0; infra 1; said why"},
		{"worker lost again", OutcomeLost, spoiled(3, 1), "scheduled 10:00:20; failures 0; infra 2; said why"},
		{"worker lost too often", OutcomeLost, all(spoiled(3, 3), failures(2)), "failed exhausted; failures 3; infra 3; said why"},
		{"worker lost and it must not start twice, whatever the machine did", OutcomeLost, all(spoiled(3, 0), onLostFail), "failed lost; failures 1; said why"},
		{"spoiled, of a job that must not start twice", OutcomeError, all(spoiled(3, 0), onLostFail), "scheduled 10:00:10; failures 0; infra 1; said why"},
		{"spoiled, and no retry wanted", OutcomeError, all(spoiled(3, 0), noRetry), "failed no_retry; failures 1; said why"},
		{"spoiled, asked to end", OutcomeError, all(spoiled(3, 0), asked), "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"canceled as asked", OutcomeCanceled, asked, "canceled canceled; by ann: wrong input; failures 0; said why"},
		{"canceled by the handler", OutcomeCanceled, nil, "canceled canceled; failures 0; said why"},
		{"handed back", OutcomeHandedBack, nil, "ready 10:00; failures 0; said why"},
		{"handed back does not count", OutcomeHandedBack, failures(2), "ready 10:00; failures 2; said why"},
		{"snoozed", OutcomeSnoozed, snooze(90 * time.Second), "scheduled 10:01:30 snoozed; failures 0; snoozes 1; said why"},
		{"snoozed does not count", OutcomeSnoozed, all(failures(2), snooze(time.Minute)), "scheduled 10:01 snoozed; failures 2; snoozes 1; said why"},
		{"snoozed for too long", OutcomeSnoozed, snooze(90 * 24 * time.Hour), "scheduled 2026-04-01T10:00 snoozed; failures 0; snoozes 1; said why"},
		{"snoozed for the last time", OutcomeSnoozed, snoozes(MaxSnoozes - 1), "scheduled 10:01 snoozed; failures 0; snoozes 1000; said why"},
		{"snoozed once too often", OutcomeSnoozed, snoozes(MaxSnoozes), "failed snoozes; failures 0; snoozes 1001; said put off 1000 times, which is as often as may be"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			j := Job{ID: 5, State: Running, Attempt: 1, MaxAttempts: 3, DueAt: at("09:50")}
			r := plainRetry
			f := Finish{Ref: Ref{JobID: 5, Lease: 9}, Outcome: row.outcome, Error: "why"}
			if row.given != nil {
				row.given(&j, &r, &f)
			}
			got := Settle(j, r, f, at("10:00"))
			if text := settlementText(got); text != row.want {
				t.Errorf("got  %s\nwant %s", text, row.want)
			}
			if got.Outcome != row.outcome {
				t.Errorf("%s was recorded as %s", row.outcome, got.Outcome)
			}
			if got.State.Final() && !got.DueAt.Equal(j.DueAt) {
				t.Error("a job that has ended is due at another time")
			}
		})
	}
}

func settlementText(s Settlement) string {
	parts := []string{string(s.State)}
	if !s.State.Final() {
		parts[0] += " " + in(s.DueAt)
	}
	if s.Reason != "" {
		parts[0] += " " + string(s.Reason)
	}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	parts = append(parts, fmt.Sprint("failures ", s.Failures))
	if s.Infra > 0 {
		parts = append(parts, fmt.Sprint("infra ", s.Infra))
	}
	if s.Snoozes > 0 {
		parts = append(parts, fmt.Sprint("snoozes ", s.Snoozes))
	}
	if s.Error != "" {
		parts = append(parts, "said "+s.Error)
	}
	return strings.Join(parts, "; ")
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		attempt int
		reason  core.Reason
		want    State
	}{
		{"paused before it started", 0, schedule.ReasonPaused, Skipped},
		{"edited before it started", 0, schedule.ReasonEdited, Skipped},
		{"deleted before it started", 0, schedule.ReasonDeleted, Skipped},
		{"replaced before it started", 0, schedule.ReasonReplaced, Skipped},
		{"canceled before it started", 0, schedule.ReasonCanceled, Canceled},
		{"paused between two attempts", 1, schedule.ReasonPaused, Canceled},
		{"canceled between two attempts", 1, schedule.ReasonCanceled, Canceled},
	} {
		j := Job{Attempt: row.attempt, Failures: row.attempt, Snoozes: 2, Error: "before", DueAt: at("09:50")}
		want := Settlement{State: row.want, Reason: row.reason, Note: "why", Failures: row.attempt, Snoozes: 2, Error: "before", DueAt: at("09:50")}
		if got := Withdraw(j, row.reason, "why"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", row.name, got, want)
		}
	}
}

func drawRetry(t *rapid.T) task.Retry {
	return task.Retry{
		MaxAttempts: rapid.IntRange(1, 100).Draw(t, "max attempts"),
		Backoff:     rapid.SampledFrom([]task.Backoff{task.BackoffExponential, task.BackoffLinear, task.BackoffFixed}).Draw(t, "backoff"),
		Delay:       core.Duration(rapid.Int64Range(0, int64(task.MaxRetryDelay)).Draw(t, "delay")),
		MaxDelay:    core.Duration(rapid.Int64Range(0, int64(task.MaxRetryDelay)).Draw(t, "max delay")),
		Jitter:      rapid.SampledFrom([]float64{-1, 0.2, 0.5, 1}).Draw(t, "jitter"),
		Infra:       rapid.IntRange(-1, 20).Draw(t, "infra"),
		OnLost:      rapid.SampledFrom([]task.OnLost{task.OnLostRetry, task.OnLostFail}).Draw(t, "on lost"),
	}.WithDefaults()
}

func TestEveryJobEndsAndCanSayWhy(t *testing.T) {
	t.Parallel()
	costly := []Outcome{OutcomeError, OutcomeTimeout, OutcomeLost}
	free := []Outcome{OutcomeSnoozed, OutcomeHandedBack}
	rapid.Check(t, func(t *rapid.T) {
		r := drawRetry(t)
		j, now := Job{ID: 1, MaxAttempts: r.MaxAttempts}, at("10:00")
		paid, spoiled := 0, 0
		step := func(f Finish) bool {
			j.Attempt++
			s := Settle(j, r, f, now)
			if again := Settle(j, r, f, now); !reflect.DeepEqual(s, again) {
				t.Fatalf("%+v and then %+v", s, again)
			}
			if s.Failures > j.MaxAttempts {
				t.Fatalf("%d failures of %d", s.Failures, j.MaxAttempts)
			}
			if s.Failures != paid {
				t.Fatalf("%d failures are counted, there were %d", s.Failures, paid)
			}
			if s.Infra != spoiled || s.Infra > max(r.Infra, 0) {
				t.Fatalf("%d spoiled attempts are counted, there were %d, of %d", s.Infra, spoiled, r.Infra)
			}
			if s.State == Failed && s.Reason == "" || s.State == Canceled && s.Reason == "" {
				t.Fatalf("%s and cannot say why", s.State)
			}
			if !s.State.Final() && s.DueAt.Before(now) {
				t.Fatalf("%s and due at %s, before %s", s.State, in(s.DueAt), in(now))
			}
			if !j.CancelAt.IsZero() && !s.State.Final() {
				t.Fatalf("asked to end and %s", s.State)
			}
			if !j.CancelAt.IsZero() && (s.State == Succeeded) != (f.Outcome == OutcomeOK) {
				t.Fatalf("asked to end, %s, and %s", f.Outcome, s.State)
			}
			j.State, j.Failures, j.Infra, j.Snoozes, j.DueAt = s.State, s.Failures, s.Infra, s.Snoozes, s.DueAt
			now = core.Later(now, s.DueAt)
			return s.State.Final()
		}
		for range rapid.IntRange(0, 30).Draw(t, "free attempts") {
			f := Finish{Outcome: rapid.SampledFrom(free).Draw(t, "free"), Snooze: core.Duration(time.Second)}
			if step(f) {
				t.Fatalf("ended by %s", f.Outcome)
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "asked to end") == 0 {
			j.CancelAt = now
		}
		for range j.MaxAttempts + max(r.Infra, 0) {
			f := Finish{Outcome: rapid.SampledFrom(append(costly, OutcomeOK, OutcomeCanceled)).Draw(t, "outcome")}
			f.NoRetry = rapid.IntRange(0, 20).Draw(t, "no retry") == 0
			f.Infra = rapid.Bool().Draw(t, "infra")
			lost := f.Outcome == OutcomeLost
			if j.CancelAt.IsZero() && f.Outcome != OutcomeOK && f.Outcome != OutcomeCanceled {
				if (f.Infra || lost) && !f.NoRetry && !(lost && r.OnLost == task.OnLostFail) && spoiled < r.Infra {
					spoiled++
				} else {
					paid++
				}
			}
			if step(f) {
				return
			}
		}
		t.Fatalf("%d attempts and %d that may be spoiled, and it is %s", j.MaxAttempts, r.Infra, j.State)
	})
}

func TestFinalStates(t *testing.T) {
	t.Parallel()
	final := map[State]bool{Succeeded: true, Failed: true, Canceled: true, Skipped: true}
	for _, s := range States {
		if s.Final() != final[s] {
			t.Errorf("%s: final %t", s, s.Final())
		}
	}
	if len(States) != 8 {
		t.Errorf("%d states", len(States))
	}
}

func TestALossOfAJobClaimedAheadIsForgivenOnce(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change  func(*Job, *task.Retry)
		state   State
		outcome Outcome
	}{
		"claimed ahead":                     {func(*Job, *task.Retry) {}, Ready, OutcomeHandedBack},
		"its worker says that it had begun": {func(j *Job, _ *task.Retry) { j.Note = "begun" }, Scheduled, OutcomeLost},
		"in a slot, or known to have begun": {func(j *Job, _ *task.Retry) { j.Ahead = false }, Scheduled, OutcomeLost},
		"a second time":                     {func(j *Job, _ *task.Retry) { j.Attempt = 2 }, Scheduled, OutcomeLost},
		"a single try":                      {func(j *Job, _ *task.Retry) { j.MaxAttempts = 1 }, Failed, OutcomeLost},
		"its loss is final":                 {func(_ *Job, r *task.Retry) { r.OnLost = task.OnLostFail }, Failed, OutcomeLost},
		"it was asked to end":               {func(j *Job, _ *task.Retry) { j.CancelAt = now }, Canceled, OutcomeLost},
	} {
		j := Job{ID: 1, State: Running, Attempt: 1, MaxAttempts: 3, Ahead: true}
		r := task.Retry{}.WithDefaults()
		c.change(&j, &r)
		f := Finish{Outcome: OutcomeLost, Error: "lost"}
		if j.Note == "begun" {
			f.StartedIn = 1
		}
		s := Settle(j, r, f, now)
		if s.State != c.state || s.Outcome != c.outcome || (s.Failures == 0) != (c.state == Ready || c.state == Canceled) {
			t.Errorf("%s: the job is %s with %d failures after %s", name, s.State, s.Failures, s.Outcome)
		}
	}
}
