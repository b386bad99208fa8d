package alert

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestJobsThatFail(t *testing.T) {
	t.Parallel()
	n := JobFailedNotification(job.Job{
		ID: 12, Namespace: "team", Task: "report", Schedule: "nightly", Nominal: at("02:00"), FinishedAt: at("02:10"), Attempt: 4, Failures: 3, MaxAttempts: 3,
		Reason: schedule.ReasonNoRetry, Error: "exit code 1", Tags: []string{"prod"},
	}, "")
	want := "After 4 of 4 attempts, no retry. Schedule nightly, planned for 2026-03-02 02:00:00 UTC.\nexit code 1"
	if n.Title != "Job 12 of task report failed" || n.Text != want {
		t.Errorf("%s\n%s\nwant\n%s", n.Title, n.Text, want)
	}
	if n.Type != NotificationJobFailed || !n.At.Equal(at("02:10")) || n.Namespace != "team" || n.Task != "report" || n.Schedule != "nightly" || n.JobID != 12 || len(n.Tags) != 1 {
		t.Errorf("%+v", n)
	}
	if n = JobFailedNotification(job.Job{Attempt: 1, MaxAttempts: 1, Note: "its sequence is stopped"}, ""); n.Text != "After 1 of 1 attempts (its sequence is stopped)." {
		t.Errorf("with a note: %q", n.Text)
	}
	if n = JobFailedNotification(job.Job{ID: 1, Task: "a", Attempt: 1, MaxAttempts: 1}, ""); n.Text != "After 1 of 1 attempts." {
		t.Errorf("%q", n.Text)
	}
	if n = JobFailedNotification(job.Job{Error: strings.Repeat("ä\x00", 5000)}, ""); len(n.Text) > 3<<10 || strings.ContainsRune(n.Text, 0) || !strings.HasSuffix(n.Text, "…") {
		t.Errorf("%d bytes", len(n.Text))
	}
}

func TestSchedulesThatMissARun(t *testing.T) {
	t.Parallel()
	s := schedule.Schedule{Namespace: "team", Name: "nightly", Task: "report", Zone: "Europe/Sofia"}.WithDefaults()
	for reason, want := range map[core.Reason]string{
		schedule.ReasonCatchupNone:   "makes up for no run",
		schedule.ReasonCatchupWindow: "catchup_window: 1h",
		schedule.ReasonCatchupMax:    "catchup_max: 100",
		schedule.ReasonBufferFull:    "buffer_max: 100",
		schedule.ReasonCatchupLatest: "", schedule.ReasonOverlap: "", schedule.ReasonBlackout: "", schedule.ReasonMaxRuns: "", schedule.ReasonPaused: "", schedule.ReasonEdited: "", schedule.ReasonDeleted: "", schedule.ReasonCanceled: "", schedule.ReasonReplaced: "",
	} {
		n, missed := ScheduleMissedNotification(s, schedule.Occurrence{Nominal: at("02:00"), Count: 1, Decision: schedule.DecidedSkipped, Reason: reason, DecidedAt: at("05:00")})
		if missed != (want != "") || !strings.Contains(n.Text, want) {
			t.Errorf("%s: %v, %q", reason, missed, n.Text)
		}
		if missed && (n.Title != "Schedule nightly missed its run of Mon 2026-03-02 04:00:00 EET" || n.Schedule != "nightly" || n.Task != "report" || n.Namespace != "team" || !n.At.Equal(at("02:00")) || n.Count != 1) {
			t.Errorf("%s: %+v", reason, n)
		}
	}
	many := schedule.Occurrence{Nominal: at("02:00"), Until: at("04:00"), Count: 121, Decision: schedule.DecidedSkipped, Reason: schedule.ReasonCatchupWindow}
	if n, _ := ScheduleMissedNotification(s, many); n.Title != "Schedule nightly missed 121 runs from Mon 2026-03-02 04:00:00 EET on" || !strings.HasSuffix(n.Text, "to be at Mon 2026-03-02 06:00:00 EET.") {
		t.Errorf("%s\n%s", n.Title, n.Text)
	}
	many.Count = 10_001
	if n, _ := ScheduleMissedNotification(s, many); !strings.Contains(n.Title, "missed more than 10000 runs") {
		t.Errorf("%s", n.Title)
	}
	if _, missed := ScheduleMissedNotification(s, schedule.Occurrence{Decision: schedule.DecidedJob}); missed {
		t.Error("a job is missed")
	}
	s.Name = task.OwnedName("site")
	if _, missed := ScheduleMissedNotification(s, many); missed {
		t.Error("a monitor's schedule says it")
	}
}
