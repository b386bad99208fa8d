package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// fake answers each call with err, or with success if err is nil.
type fake struct{ err error }

func (f fake) Enqueue(_ context.Context, ns []job.NewJob) (made []job.Enqueued, err error) {
	for i := range ns {
		made = append(made, job.Enqueued{Job: job.Job{ID: int64(i + 1)}, Existing: i > 0})
	}
	return made, f.err
}

func (f fake) CancelJobs(context.Context, string, view.Selection) (view.Selected, error) {
	return view.Selected{IDs: []int64{1}}, f.err
}

func (f fake) RetryJobs(context.Context, string, view.Selection) (view.Selected, error) {
	return view.Selected{Left: map[int64]string{1: "it runs"}}, f.err
}

func (f fake) RunJobAgain(context.Context, string, int64, job.RunAgain) (job.Enqueued, error) {
	return job.Enqueued{Job: job.Job{ID: 9}}, f.err
}

func (f fake) Job(context.Context, string, int64) (job.Job, error) {
	return job.Job{ID: 1, State: job.Ready}, f.err
}

func (f fake) PauseQueue(context.Context, string, string) (job.Queue, error) {
	return job.Queue{}, f.err
}

func (f fake) ResumeQueue(context.Context, string) (job.Queue, error) { return job.Queue{}, f.err }

func (f fake) PauseSchedule(context.Context, string, string, string) (schedule.Schedule, error) {
	return schedule.Schedule{}, f.err
}

func (f fake) ResumeSchedule(context.Context, string, string, bool) (schedule.Schedule, error) {
	return schedule.Schedule{}, f.err
}

func (f fake) OpenSession(context.Context, job.WorkerInfo) (job.Session, error) {
	return job.Session{ID: "s"}, f.err
}

func (f fake) Claim(context.Context, job.ClaimRequest) (job.Claim, error) {
	return job.Claim{Lease: 7, Jobs: []job.LeasedJob{{Job: job.Job{ID: 1, Attempt: 2}}}}, f.err
}

func (f fake) Renew(context.Context, string, job.Holdings) (job.Renewal, error) {
	return job.Renewal{Lost: true, Cancel: []job.Ref{{JobID: 1, Lease: 7}}}, f.err
}

func (f fake) Finish(_ context.Context, _ string, fs []job.Finish) ([]job.Finished, error) {
	return []job.Finished{{Ref: fs[0].Ref, Stale: true}}, f.err
}

func (f fake) Append(context.Context, string, []job.LogPiece) error { return f.err }
func (f fake) CloseSession(context.Context, string) error           { return f.err }

// recorded returns the history of all calls if each is answered with err.
func recorded(t *testing.T, err error) *history.History {
	t.Helper()
	ctx := t.Context()
	var out bytes.Buffer
	w := history.NewWriter(&out, history.Header{Source: "a fake"}, nil)
	c := Client{To: fake{err}, Writer: w, Process: "c"}
	l := Leaser{Leaser: fake{err}, Writer: w, Process: "w"}
	one := view.Selection{IDs: []int64{1}}
	_, _ = c.Enqueue(ctx, []job.NewJob{{Task: "t", Key: "k", KeyWindow: core.Duration(time.Second)}, {Task: "t", ActiveKey: "a"}})
	_, _ = c.CancelJobs(ctx, "default", one)
	_, _ = c.RetryJobs(ctx, "default", one)
	_, _ = c.RunJobAgain(ctx, "default", 1, job.RunAgain{Key: "r"})
	_, _ = c.Job(ctx, "default", 1)
	_, _ = c.PauseQueue(ctx, "q", "")
	_, _ = c.ResumeQueue(ctx, "q")
	_, _ = c.PauseSchedule(ctx, "default", "s", "")
	_, _ = c.ResumeSchedule(ctx, "default", "s", false)
	_, _ = l.OpenSession(ctx, job.WorkerInfo{Name: "n"})
	_, _ = l.Claim(ctx, job.ClaimRequest{Session: "s"})
	_, _ = l.Renew(ctx, "s", job.Held(job.Ref{JobID: 1, Lease: 7}))
	_, _ = l.Finish(ctx, "s", []job.Finish{{Ref: job.Ref{JobID: 1, Lease: 7}, Outcome: job.OutcomeOK}})
	_ = l.Append(ctx, "s", nil)
	_ = l.CloseSession(ctx, "s")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Only an error that guarantees no effect is recorded as fail.
func TestErrorsAreRecordedByTheirCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want history.Type
	}{
		{nil, history.OK},
		{core.Errorf(core.Conflict, "no"), history.Fail},
		{fmt.Errorf("wrapped: %w", core.Errorf(core.Unavailable, "away")), history.Fail},
		{core.Errorf(core.Unknown, "lost"), history.Unknown},
		{core.Errorf(core.Internal, "broken"), history.Unknown},
		{context.Canceled, history.Unknown},
		{errors.New("anything"), history.Unknown},
	} {
		h := recorded(t, c.err)
		if len(h.Operations) != 14 {
			t.Fatalf("%v: %d operations, want 14", c.err, len(h.Operations))
		}
		for _, o := range h.Operations {
			if o.Type != c.want {
				t.Errorf("%v: %s is recorded as %s, want %s", c.err, o.Op, o.Type, c.want)
			}
		}
	}
}

func TestCallsAreRecorded(t *testing.T) {
	t.Parallel()
	var got []string
	for _, o := range recorded(t, nil).Operations {
		got = append(got, fmt.Sprintf("%s %+v %+v", o.Op, o.Args, o.Result))
	}
	none := "Key: KeyWindow:0 ActiveKey: Lease:0 Outcome:}"
	want := []string{
		"enqueue {Jobs:[{ID:0 Task:t Key:k KeyWindow:1000000 ActiveKey: Lease:0 Outcome:} {ID:0 Task:t Key: KeyWindow:0 ActiveKey:a Lease:0 Outcome:}] Name: Session:} " +
			"{Jobs:[{ID:1 Existing:false Left:false Lease:0 Attempt:0 Stale:false State:} {ID:2 Existing:true Left:false Lease:0 Attempt:0 Stale:false State:}] Session: Lost:false}",
		"cancel {Jobs:[{ID:1 Task: " + none + "] Name: Session:} {Jobs:[{ID:1 Existing:false Left:false Lease:0 Attempt:0 Stale:false State:}] Session: Lost:false}",
		"retry {Jobs:[{ID:1 Task: " + none + "] Name: Session:} {Jobs:[] Session: Lost:false}",
		"run_again {Jobs:[{ID:1 Task: Key:r KeyWindow:0 ActiveKey: Lease:0 Outcome:}] Name: Session:} {Jobs:[{ID:9 Existing:false Left:false Lease:0 Attempt:0 Stale:false State:}] Session: Lost:false}",
		"read {Jobs:[{ID:1 Task: " + none + "] Name: Session:} {Jobs:[{ID:1 Existing:false Left:false Lease:0 Attempt:0 Stale:false State:ready}] Session: Lost:false}",
		"pause_queue {Jobs:[] Name:q Session:} {Jobs:[] Session: Lost:false}",
		"resume_queue {Jobs:[] Name:q Session:} {Jobs:[] Session: Lost:false}",
		"pause_schedule {Jobs:[] Name:s Session:} {Jobs:[] Session: Lost:false}",
		"resume_schedule {Jobs:[] Name:s Session:} {Jobs:[] Session: Lost:false}",
		"open_session {Jobs:[] Name:n Session:} {Jobs:[] Session:s Lost:false}",
		"claim {Jobs:[] Name: Session:s} {Jobs:[{ID:1 Existing:false Left:false Lease:7 Attempt:2 Stale:false State:}] Session: Lost:false}",
		"renew {Jobs:[{ID:1 Task: Key: KeyWindow:0 ActiveKey: Lease:7 Outcome:}] Name: Session:s} {Jobs:[{ID:1 Existing:false Left:false Lease:7 Attempt:0 Stale:false State:}] Session: Lost:true}",
		"finish {Jobs:[{ID:1 Task: Key: KeyWindow:0 ActiveKey: Lease:7 Outcome:ok}] Name: Session:s} {Jobs:[{ID:1 Existing:false Left:false Lease:7 Attempt:0 Stale:true State:}] Session: Lost:false}",
		"close_session {Jobs:[] Name: Session:s} {Jobs:[] Session: Lost:false}",
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("got  %s\nwant %s", slices.Concat(got, make([]string, len(want)))[i], want[i])
		}
	}
}

// The jobs of a filter are unknown if the answer is lost.
func TestFiltersAreNotRecorded(t *testing.T) {
	t.Parallel()
	c := Client{To: fake{}, Writer: history.NewWriter(&bytes.Buffer{}, history.Header{Source: "s"}, nil)}
	if _, err := c.CancelJobs(t.Context(), "default", view.Selection{Query: "state:failed"}); core.CodeOf(err) != core.Invalid {
		t.Error(err)
	}
}

// A job that is not found is a valid answer to a read.
func TestAReadThatFindsNothingIsRecorded(t *testing.T) {
	t.Parallel()
	for _, o := range recorded(t, core.Errorf(core.NotFound, "no such job")).Operations {
		if o.Op == history.OpRead && (o.Type != history.OK || o.Result.Jobs[0].State != "not_found") {
			t.Errorf("%+v", o)
		}
	}
}
