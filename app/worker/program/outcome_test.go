package program

import (
	"errors"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// A program that was ended by its machine has not failed. It may have done a part of its work, so on_lost decides.
func TestAProgramThatItsMachineEndedIsCutOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result sandbox.Result
		want   job.Outcome
	}{
		"killed at the end of its session":  {sandbox.Result{ExitCode: -1, Signal: "SIGKILL", Expired: true}, job.OutcomeLost},
		"killed by itself":                  {sandbox.Result{ExitCode: -1, Signal: "SIGKILL"}, job.OutcomeError},
		"failed just before its time":       {sandbox.Result{ExitCode: 1, Expired: true}, job.OutcomeError},
		"succeeded just before its time":    {sandbox.Result{Expired: true}, job.OutcomeOK},
		"crashed just before it was killed": {sandbox.Result{ExitCode: -1, Signal: "SIGSEGV", Expired: true}, job.OutcomeError},
	} {
		r := &worker.Run{Job: &job.Job{ID: 7}, Task: &task.Task{Program: &task.Program{}}, Lease: 3}
		n := &running{Run: r, folder: &folder{}, capture: newCapture(r, 1<<10, nil), result: c.result}
		if f := n.outcome(); f.Outcome != c.want || f.JobID != 7 || f.Lease != 3 || (f.Error == "") != (c.want == job.OutcomeOK) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestAProgramWithoutItsInitProcessIsCutOff(t *testing.T) {
	t.Parallel()
	r := &worker.Run{Job: &job.Job{ID: 7}, Lease: 3}
	gone := &sandbox.Fault{Step: sandbox.StepInit, Text: "it ended before the program did"}
	if f := notRun(r, errors.Join(gone, syscall.ENOSPC)); f.Outcome != job.OutcomeLost || f.Infra {
		t.Errorf("%+v", f)
	}
	if f := notRun(r, &sandbox.Fault{Step: "mount", Err: syscall.EPERM}); f.Outcome != job.OutcomeError || !f.Infra {
		t.Errorf("%+v", f)
	}
}

// Files that were lost are no success. Whether the program may run again is for on_lost to say, as after the loss of its worker.
func TestFilesThatWereNotSentInTimeAreNoSuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome job.Outcome
		onLost  task.OnLost
		want    job.Finish
	}{
		"a success":                          {job.OutcomeOK, task.OnLostRetry, job.Finish{Outcome: job.OutcomeError, Error: "outputs: lost", Infra: true}},
		"a success that must not come twice": {job.OutcomeOK, task.OnLostFail, job.Finish{Outcome: job.OutcomeError, Error: "outputs: lost", Infra: true, NoRetry: true}},
		"a failure":                          {job.OutcomeError, task.OnLostRetry, job.Finish{Outcome: job.OutcomeError}},
	} {
		n := &running{Run: &worker.Run{Task: &task.Task{Retry: task.Retry{OnLost: c.onLost}}}}
		f := job.Finish{Outcome: c.outcome, Sandboxed: &task.Sandboxed{Missing: []string{"pids: no", "outputs: lost"}}}
		n.unsent(&f)
		if f.Outcome != c.want.Outcome || f.Error != c.want.Error || f.Infra != c.want.Infra || f.NoRetry != c.want.NoRetry {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
