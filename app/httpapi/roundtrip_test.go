package httpapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/app/httpapi/internal/definitions"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// The client offers what the server serves.
var _ Service = (*client.Client)(nil)

// holidays is what holidaysICS says.
var holidays = cron.CalendarSpec{Zone: "Europe/Sofia", Closings: []cron.Closing{{Name: "New Year", Dates: "2027-01-01"}}}

const holidaysICS = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20270101\r\nDTEND;VALUE=DATE:20270102\r\n" +
	"SUMMARY:New Year\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

// exchange is a call, what arrives of it and what comes back.
type exchange struct {
	want []any // method and arguments
	back any
	call func(ctx context.Context) (any, error)
}

// pair is what a call gave, to be compared as one.
type pair struct{ a, b any }

func TestEveryCallArrivesAsItWasMadeAndComesBackAsItWasAnswered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	routes := map[string]bool{}
	b := setup(t, func(o *Options) {
		o.Observe = func(r api.Request) {
			mu.Lock()
			defer mu.Unlock()
			routes[r.Route] = true
		}
	})
	c, at := b.client, apitest.Filled[time.Time]()
	paging := core.Paging{Limit: 7, Cursor: "a/b+c=&"}
	signal := workflow.Signal{Name: "sure", ID: "s1", Input: json.RawMessage(`{"n":1}`), Reject: true, Note: "no"}
	link := job.Link{Name: "sure", For: "Ann", Valid: core.Duration(time.Hour)}
	retrying := workflow.Retrying{From: "load", Input: json.RawMessage(`{"n":2}`), Note: "again", Key: "k"}
	b.when("RetryWorkflow", func(_ context.Context, args []any) (any, error) {
		same(t, "a retry arrived", args, []any{"ns", int64(9), retrying})
		return true, nil
	})
	selection := view.Selection{Filter: &job.Filter{
		Namespace: "ns", States: []job.State{job.Failed}, Task: "t", Schedule: "s", Queue: "q", Tag: "g", Since: at, Until: at,
	}, DryRun: true, Note: "n"}
	ids := view.Selection{IDs: []int64{1, 2}, Note: "n"}
	keyed := view.Selection{IDs: []int64{1, 2}, Key: "k"}
	finish, piece := apitest.Filled[job.Finish](), apitest.Filled[job.LogPiece]()
	finish.Outcome, piece.Stream = job.OutcomeOK, job.Stderr
	said := job.AttemptProgress{Ref: job.Ref{JobID: 7, Lease: 9}, Progress: job.Progress{Percent: 12.5, Message: "m", Counters: map[string]int64{"rows": 3}}}
	step := job.NewStep{Number: 2, Name: "a b", Kind: job.StepSleep, Type: "t", Result: json.RawMessage(`{"a":1}`), Sleep: core.Duration(time.Hour), Took: core.Duration(time.Second)}
	left := task.Output{Name: "a/b c.txt", Size: 7, SHA256: strings.Repeat("ab", 32)}
	finish.Sandboxed.Outputs = []task.Output{left}
	worker := apitest.Filled[job.WorkerInfo]()
	worker.Kinds = []task.Kind{task.KindHTTP}
	remote := worker
	remote.Remote, remote.Token = true, 1 // of the token root
	look := apitest.Filled[schedule.LookQuery]()
	look.Draft.Namespace = look.Namespace
	ahead := schedule.Ahead{Namespace: "*", From: at, Within: 36 * time.Hour, Limit: 7}

	digest := strings.Repeat("ab", 32)
	calls := []exchange{
		{[]any{"CreateTask", apitest.Filled[task.Task]()}, apitest.Filled[task.Task]().Redacted(),
			func(ctx context.Context) (any, error) { return c.CreateTask(ctx, apitest.Filled[task.Task]()) }},
		{[]any{"TryTask", apitest.Filled[job.TaskTrial]()}, apitest.Filled[job.Enqueued](),
			func(ctx context.Context) (any, error) { return c.TryTask(ctx, apitest.Filled[job.TaskTrial]()) }},
		{[]any{"UpdateTask", apitest.Filled[task.Task]()}, apitest.Filled[task.Task]().Redacted(),
			func(ctx context.Context) (any, error) { return c.UpdateTask(ctx, apitest.Filled[task.Task]()) }},
		{[]any{"DeleteTask", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteTask(ctx, "ns", "n") }},
		{[]any{"Task", "ns", "n"}, apitest.Filled[task.Task]().Redacted(),
			func(ctx context.Context) (any, error) { return c.Task(ctx, "ns", "n") }},
		{[]any{"ResumeSequence", "ns", "n", "k"}, true,
			func(ctx context.Context) (any, error) { return c.ResumeSequence(ctx, "ns", "n", "k") }},
		{[]any{"LimitUse", "ns", "n"}, []view.LimitUse{apitest.Filled[view.LimitUse]()},
			func(ctx context.Context) (any, error) { return c.LimitUse(ctx, "ns", "n") }},
		{[]any{"QueueLimitUse", "n"}, []view.LimitUse{apitest.Filled[view.LimitUse]()},
			func(ctx context.Context) (any, error) { return c.QueueLimitUse(ctx, "n") }},
		{[]any{"NamespaceLimitUse", "ns"}, []view.LimitUse{apitest.Filled[view.LimitUse]()},
			func(ctx context.Context) (any, error) { return c.NamespaceLimitUse(ctx, "ns") }},
		{[]any{"Tasks", task.Filter{Paging: paging, Namespace: "*", Kind: "http", Tag: "g", Part: "p"}}, pageOf(apitest.Filled[task.Task]().Redacted()),
			func(ctx context.Context) (any, error) {
				return c.Tasks(ctx, task.Filter{Paging: paging, Namespace: "*", Kind: "http", Tag: "g", Part: "p"})
			}},
		{[]any{"CreateArtifact", task.Artifact{Namespace: "ns", SHA256: digest, Size: 7}}, apitest.Filled[task.Upload](),
			func(ctx context.Context) (any, error) {
				return c.CreateArtifact(ctx, task.Artifact{Namespace: "ns", SHA256: digest, Size: 7})
			}},
		{[]any{"ArtifactUpload", "ns", digest}, apitest.Filled[task.Upload](),
			func(ctx context.Context) (any, error) { return c.ArtifactUpload(ctx, "ns", digest) }},
		{[]any{"ConfirmArtifact", "ns", digest}, apitest.Filled[task.Artifact](),
			func(ctx context.Context) (any, error) { return c.ConfirmArtifact(ctx, "ns", digest) }},
		{[]any{"Artifact", "ns", digest}, apitest.Filled[task.Artifact](),
			func(ctx context.Context) (any, error) { return c.Artifact(ctx, "ns", digest) }},
		{[]any{"Artifacts", view.DocumentFilter{Paging: paging, Namespace: "*"}}, apitest.Filled[core.Page[task.Artifact]](),
			func(ctx context.Context) (any, error) {
				return c.Artifacts(ctx, view.DocumentFilter{Paging: paging, Namespace: "*"})
			}},
		{[]any{"TryArtifacts", "ns"}, apitest.Filled[core.Check](),
			func(ctx context.Context) (any, error) { return c.TryArtifacts(ctx, "ns") }},
		{[]any{"DeleteArtifact", "ns", digest}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteArtifact(ctx, "ns", digest) }},
		{[]any{"SetSecret", "ns", "n", core.Secret("hunter2")}, apitest.Filled[task.KeptSecret](),
			func(ctx context.Context) (any, error) { return c.SetSecret(ctx, "ns", "n", "hunter2") }},
		{[]any{"KeptSecrets", view.DocumentFilter{Paging: paging, Namespace: "*"}}, apitest.Filled[core.Page[task.KeptSecret]](),
			func(ctx context.Context) (any, error) {
				return c.KeptSecrets(ctx, view.DocumentFilter{Paging: paging, Namespace: "*"})
			}},
		{[]any{"DeleteSecret", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteSecret(ctx, "ns", "n") }},
		{[]any{"RotateSecrets"}, apitest.Filled[task.ResealedSecrets](),
			func(ctx context.Context) (any, error) { return c.RotateSecrets(ctx) }},
		{[]any{"CreateSchedule", pausedSchedule()}, apitest.Filled[schedule.Schedule](),
			func(ctx context.Context) (any, error) { return c.CreateSchedule(ctx, pausedSchedule()) }},
		{[]any{"UpdateSchedule", apitest.Filled[schedule.Schedule]()}, apitest.Filled[schedule.Schedule](),
			func(ctx context.Context) (any, error) {
				return c.UpdateSchedule(ctx, apitest.Filled[schedule.Schedule]())
			}},
		{[]any{"DeleteSchedule", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteSchedule(ctx, "ns", "n") }},
		{[]any{"Schedule", "ns", "n"}, apitest.Filled[schedule.Schedule](),
			func(ctx context.Context) (any, error) { return c.Schedule(ctx, "ns", "n") }},
		{[]any{"Schedules", schedule.Filter{Paging: paging, Namespace: "*", State: "paused", Task: "t", Tag: "red", Part: "ight"}}, apitest.Filled[core.Page[schedule.Schedule]](),
			func(ctx context.Context) (any, error) {
				return c.Schedules(ctx, schedule.Filter{Paging: paging, Namespace: "*", State: "paused", Task: "t", Tag: "red", Part: "ight"})
			}},
		{[]any{"PauseSchedule", "ns", "n", "because"}, apitest.Filled[schedule.Schedule](),
			func(ctx context.Context) (any, error) { return c.PauseSchedule(ctx, "ns", "n", "because") }},
		{[]any{"ResumeSchedule", "ns", "n", true}, apitest.Filled[schedule.Schedule](),
			func(ctx context.Context) (any, error) { return c.ResumeSchedule(ctx, "ns", "n", true) }},
		{[]any{"TriggerSchedule", "ns", "n", apitest.Filled[job.RunNow]()}, apitest.Filled[job.Enqueued](),
			func(ctx context.Context) (any, error) {
				return c.TriggerSchedule(ctx, "ns", "n", apitest.Filled[job.RunNow]())
			}},
		{[]any{"TriggerSchedule", "ns", "n", job.RunNow{}}, apitest.Filled[job.Enqueued](),
			func(ctx context.Context) (any, error) { return c.TriggerSchedule(ctx, "ns", "n", job.RunNow{}) }},
		{[]any{"Occurrences", schedule.OccurrenceFilter{Paging: paging, Namespace: "ns", Schedule: "n", Decision: "skipped"}}, apitest.Filled[core.Page[schedule.Occurrence]](),
			func(ctx context.Context) (any, error) {
				return c.Occurrences(ctx, schedule.OccurrenceFilter{Paging: paging, Namespace: "ns", Schedule: "n", Decision: "skipped"})
			}},
		{[]any{"SaveCalendar", apitest.Filled[schedule.Calendar]()}, apitest.Filled[schedule.Calendar](),
			func(ctx context.Context) (any, error) {
				return c.SaveCalendar(ctx, apitest.Filled[schedule.Calendar]())
			}},
		{[]any{"DeleteCalendar", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteCalendar(ctx, "ns", "n") }},
		{[]any{"Calendar", "ns", "n"}, apitest.Filled[schedule.Calendar](),
			func(ctx context.Context) (any, error) { return c.Calendar(ctx, "ns", "n") }},
		{[]any{"Calendars", schedule.CalendarFilter{Paging: paging, Namespace: "*", Part: "празник"}}, apitest.Filled[core.Page[schedule.Calendar]](),
			func(ctx context.Context) (any, error) {
				return c.Calendars(ctx, schedule.CalendarFilter{Paging: paging, Namespace: "*", Part: "празник"})
			}},
		{[]any{"SaveCalendar", schedule.Calendar{Namespace: "ns", Name: "n", Title: "a1", Description: "a1", CalendarSpec: holidays}}, apitest.Filled[schedule.Calendar](),
			func(ctx context.Context) (any, error) {
				return c.ImportICS(ctx, "ns", "n", strings.NewReader(holidaysICS), "Europe/Sofia")
			}},
		{[]any{"StartBackfill", apitest.Filled[schedule.Backfill]()}, apitest.Filled[schedule.Backfill](),
			func(ctx context.Context) (any, error) {
				return c.StartBackfill(ctx, apitest.Filled[schedule.Backfill]())
			}},
		{[]any{"SetBackfill", "ns", int64(9), schedule.BackfillPaused}, apitest.Filled[schedule.Backfill](),
			func(ctx context.Context) (any, error) { return c.SetBackfill(ctx, "ns", 9, schedule.BackfillPaused) }},
		{[]any{"SetBackfill", "*", int64(9), schedule.BackfillActive}, apitest.Filled[schedule.Backfill](),
			func(ctx context.Context) (any, error) { return c.SetBackfill(ctx, "*", 9, schedule.BackfillActive) }},
		{[]any{"SetBackfill", "ns", int64(9), schedule.BackfillCanceled}, apitest.Filled[schedule.Backfill](),
			func(ctx context.Context) (any, error) { return c.SetBackfill(ctx, "ns", 9, schedule.BackfillCanceled) }},
		{[]any{"Backfill", "*", int64(9)}, apitest.Filled[schedule.Backfill](),
			func(ctx context.Context) (any, error) { return c.Backfill(ctx, "*", 9) }},
		{[]any{"Backfills", schedule.BackfillFilter{Paging: paging, Namespace: "*", Schedule: "s"}}, apitest.Filled[core.Page[schedule.Backfill]](),
			func(ctx context.Context) (any, error) {
				return c.Backfills(ctx, schedule.BackfillFilter{Paging: paging, Namespace: "*", Schedule: "s"})
			}},
		{[]any{"Look", look}, apitest.Filled[schedule.Look](),
			func(ctx context.Context) (any, error) { return c.Look(ctx, look) }},
		{[]any{"Look", schedule.LookQuery{Namespace: "default", Name: "n", N: 3}}, apitest.Filled[schedule.Look](),
			func(ctx context.Context) (any, error) { return c.Look(ctx, schedule.LookQuery{Name: "n", N: 3}) }},
		{[]any{"Look", schedule.LookQuery{Namespace: "ns", Name: "n", From: at, N: 2}}, apitest.Filled[[]schedule.Coming](),
			func(ctx context.Context) (any, error) { return c.Next(ctx, "ns", "n", at, 2) }},
		{[]any{"Upcoming", ahead}, apitest.Filled[[]schedule.Coming](),
			func(ctx context.Context) (any, error) { return c.Upcoming(ctx, ahead) }},
		{[]any{"Upcoming", schedule.Ahead{Namespace: "default"}}, apitest.Filled[[]schedule.Coming](),
			func(ctx context.Context) (any, error) { return c.Upcoming(ctx, schedule.Ahead{}) }},
		{[]any{"Forecast", schedule.Ahead{Namespace: "ns", From: at, Within: 7 * 24 * time.Hour, Zone: "Asia/Kolkata", ByHour: true, Checks: true}}, apitest.Filled[schedule.Forecast](),
			func(ctx context.Context) (any, error) {
				return c.Forecast(ctx, schedule.Ahead{Namespace: "ns", From: at, Within: 7 * 24 * time.Hour, Limit: 5, Zone: "Asia/Kolkata", ByHour: true, Checks: true})
			}},
		{[]any{"Enqueue", apitest.Filled[[]job.NewJob]()}, apitest.Filled[[]job.Enqueued](),
			func(ctx context.Context) (any, error) { return c.Enqueue(ctx, apitest.Filled[[]job.NewJob]()) }},
		{[]any{"Job", "*", int64(9)}, apitest.Filled[job.Job](),
			func(ctx context.Context) (any, error) { return c.Job(ctx, "*", 9) }},
		{[]any{"Jobs", job.Filter{Paging: paging, Namespace: "ns", States: []job.State{"ready", "failed"}, Task: "t", Schedule: "s", Queue: "q", Tag: "g", Since: at, Until: at}}, apitest.Filled[core.Page[job.Job]](),
			func(ctx context.Context) (any, error) {
				return c.Jobs(ctx, job.Filter{Paging: paging, Namespace: "ns", States: []job.State{"ready", "failed"}, Task: "t", Schedule: "s", Queue: "q", Tag: "g", Since: at, Until: at})
			}},
		{[]any{"CountJobs", job.Filter{Namespace: "ns", Error: `timed "out"`, MinAttempt: 2, Session: "x"}, view.CountOptions{Cap: 7, ByState: true}}, apitest.Filled[job.Count](),
			func(ctx context.Context) (any, error) {
				return c.CountJobs(ctx, job.Filter{Namespace: "ns", Error: `timed "out"`, MinAttempt: 2, Session: "x"}, view.CountOptions{Cap: 7, ByState: true})
			}},
		{[]any{"Overview", "*"}, apitest.Filled[view.Overview](),
			func(ctx context.Context) (any, error) { return c.Overview(ctx, "*") }},
		{[]any{"JobMinutes", job.MinuteQuery{Namespace: "ns", Queue: "q", Within: 2 * time.Hour}}, apitest.Filled[[]job.MinuteTotals](),
			func(ctx context.Context) (any, error) {
				return c.JobMinutes(ctx, job.MinuteQuery{Namespace: "ns", Queue: "q", Within: 2 * time.Hour})
			}},
		{[]any{"QueueSamples", job.SampleQuery{Namespace: "ns", Queues: []string{"a", "b"}, Within: 2 * time.Hour, Step: time.Minute}}, apitest.Filled[job.Samples](),
			func(ctx context.Context) (any, error) {
				return c.QueueSamples(ctx, job.SampleQuery{Namespace: "ns", Queues: []string{"a", "b"}, Within: 2 * time.Hour, Step: time.Minute})
			}},
		{[]any{"Strips", view.StripQuery{Namespace: "ns", Schedules: []string{"a", "b"}, N: 7}}, apitest.Filled[[]view.Strip](),
			func(ctx context.Context) (any, error) {
				return c.Strips(ctx, view.StripQuery{Namespace: "ns", Schedules: []string{"a", "b"}, N: 7})
			}},
		{[]any{"ScheduleDays", view.DaysQuery{Namespace: "ns", Schedule: "s", From: at, To: at}}, apitest.Filled[view.ScheduleDays](),
			func(ctx context.Context) (any, error) {
				return c.ScheduleDays(ctx, view.DaysQuery{Namespace: "ns", Schedule: "s", From: at, To: at})
			}},
		{[]any{"Titles", view.Named{Namespace: "ns", Tasks: []string{"a", "b"}, Schedules: []string{"c"}, Monitors: []string{"d"}, Channels: []string{"e"}, AlertRules: []string{"f", "g"}, Hooks: []string{"h"}}}, apitest.Filled[view.Titles](),
			func(ctx context.Context) (any, error) {
				return c.Titles(ctx, view.Named{Namespace: "ns", Tasks: []string{"a", "b"}, Schedules: []string{"c"}, Monitors: []string{"d"}, Channels: []string{"e"}, AlertRules: []string{"f", "g"}, Hooks: []string{"h"}})
			}},
		{[]any{"TaskDays", view.TaskDaysQuery{Namespace: "ns", Tasks: []string{"a", "b"}, From: at, To: at}}, apitest.Filled[view.TaskDaysFound](),
			func(ctx context.Context) (any, error) {
				return c.TaskDays(ctx, view.TaskDaysQuery{Namespace: "ns", Tasks: []string{"a", "b"}, From: at, To: at})
			}},
		{[]any{"WorkflowRun", "ns", int64(9)}, apitest.Filled[workflow.Status](),
			func(ctx context.Context) (any, error) { return c.WorkflowRun(ctx, "ns", 9) }},
		{[]any{"WorkflowItems", "ns", int64(9), "load", paging}, apitest.Filled[core.Page[workflow.Item]](),
			func(ctx context.Context) (any, error) { return c.WorkflowItems(ctx, "ns", 9, "load", paging) }},
		{[]any{"SendSignal", "ns", int64(9), signal}, apitest.Filled[workflow.Sent](),
			func(ctx context.Context) (any, error) { return c.SendSignal(ctx, "ns", 9, signal) }},
		{[]any{"MakeLink", "ns", int64(9), link}, apitest.Filled[job.NewLink](),
			func(ctx context.Context) (any, error) { return c.MakeLink(ctx, "ns", 9, link) }},
		{[]any{"DeleteLinks", "ns", int64(9), "release"}, apitest.Filled[job.Unlinked](),
			func(ctx context.Context) (any, error) { return c.DeleteLinks(ctx, "ns", 9, "release") }},
		{[]any{"WorkflowRun", "ns", int64(9)}, nil, // for the answer; what was asked for is compared above
			func(ctx context.Context) (any, error) {
				existing, err := c.RetryWorkflow(ctx, "ns", 9, retrying)
				same(t, "existing", existing, true)
				return nil, err
			}},
		{[]any{"LogText", "ns", int64(9), job.LogQuery{Attempt: 2, Stream: job.Stderr, Offset: -7, Limit: 9, Tail: 3, Grep: "a b", Regexp: true}}, apitest.Filled[job.LogText](),
			func(ctx context.Context) (any, error) {
				return c.LogText(ctx, "ns", 9, job.LogQuery{Attempt: 2, Stream: job.Stderr, Offset: -7, Limit: 9, Tail: 3, Grep: "a b", Regexp: true})
			}},
		{[]any{"Attempts", "ns", int64(9)}, apitest.Filled[[]job.Attempt](),
			func(ctx context.Context) (any, error) { return c.Attempts(ctx, "ns", 9) }},
		{[]any{"Logs", "ns", int64(9), job.LogFilter{Paging: paging, Attempt: 2}}, apitest.Filled[core.Page[job.LogLine]](),
			func(ctx context.Context) (any, error) {
				return c.Logs(ctx, "ns", 9, job.LogFilter{Paging: paging, Attempt: 2})
			}},
		{[]any{"CancelJobs", "ns", selection}, apitest.Filled[view.Selected](),
			func(ctx context.Context) (any, error) { return c.CancelJobs(ctx, "ns", selection) }},
		{[]any{"CancelJobs", "*", ids}, apitest.Filled[view.Selected](),
			func(ctx context.Context) (any, error) { return c.CancelJobs(ctx, "*", ids) }},
		{[]any{"RetryJobs", "ns", keyed}, apitest.Filled[view.Selected](),
			func(ctx context.Context) (any, error) { return c.RetryJobs(ctx, "ns", keyed) }},
		{[]any{"RunJobAgain", "ns", int64(9), apitest.Filled[job.RunAgain]()}, apitest.Filled[job.Enqueued](),
			func(ctx context.Context) (any, error) {
				return c.RunJobAgain(ctx, "ns", 9, apitest.Filled[job.RunAgain]())
			}},
		{[]any{"Why", "ns", int64(9)}, apitest.Filled[job.Why](),
			func(ctx context.Context) (any, error) { return c.Why(ctx, "ns", 9) }},
		{[]any{"SaveNamespace", apitest.Filled[access.Namespace]()}, apitest.Filled[access.Namespace](),
			func(ctx context.Context) (any, error) {
				return c.SaveNamespace(ctx, apitest.Filled[access.Namespace]())
			}},
		{[]any{"Namespace", "n"}, apitest.Filled[access.Namespace](),
			func(ctx context.Context) (any, error) { return c.Namespace(ctx, "n") }},
		{[]any{"Namespaces"}, apitest.Filled[[]access.Namespace](),
			func(ctx context.Context) (any, error) { return c.Namespaces(ctx) }},
		{[]any{"QuotaUse", "ns"}, apitest.Filled[[]access.QuotaUse](),
			func(ctx context.Context) (any, error) { return c.QuotaUse(ctx, "ns") }},
		{[]any{"AllNamespaces"}, apitest.Filled[[]access.Namespace](),
			func(ctx context.Context) (any, error) { return c.AllNamespaces(ctx) }},
		{[]any{"SaveQueue", apitest.Filled[job.Queue]()}, apitest.Filled[job.Queue](),
			func(ctx context.Context) (any, error) { return c.SaveQueue(ctx, apitest.Filled[job.Queue]()) }},
		{[]any{"DeleteQueue", "q"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteQueue(ctx, "q") }},
		{[]any{"Queue", "q"}, apitest.Filled[job.QueueStats](),
			func(ctx context.Context) (any, error) { return c.Queue(ctx, "q") }},
		{[]any{"Queues"}, apitest.Filled[[]job.QueueStats](),
			func(ctx context.Context) (any, error) { return c.Queues(ctx) }},
		{[]any{"PauseQueue", "q", "because"}, apitest.Filled[job.Queue](),
			func(ctx context.Context) (any, error) { return c.PauseQueue(ctx, "q", "because") }},
		{[]any{"ResumeQueue", "q"}, apitest.Filled[job.Queue](),
			func(ctx context.Context) (any, error) { return c.ResumeQueue(ctx, "q") }},
		{[]any{"Workers", true}, apitest.Filled[[]job.WorkerState](),
			func(ctx context.Context) (any, error) { return c.Workers(ctx, true) }},
		{[]any{"Outputs", "*", int64(7)}, []task.JobOutput{apitest.Filled[task.JobOutput]()},
			func(ctx context.Context) (any, error) { return c.Outputs(ctx, "*", 7) }},
		{[]any{"OutputLink", "ns", int64(7), "a/b c.txt", int64(9)}, apitest.Filled[task.SignedRequest](),
			func(ctx context.Context) (any, error) { return c.OutputLink(ctx, "ns", 7, "a/b c.txt", 9) }},
		{[]any{"DeclareOutput", "s1", job.Ref{JobID: 7, Lease: 9}, left}, new(apitest.Filled[task.SignedRequest]()),
			func(ctx context.Context) (any, error) {
				return c.DeclareOutput(ctx, "s1", job.Ref{JobID: 7, Lease: 9}, left)
			}},
		{[]any{"Steps", "s1", job.Ref{JobID: 7, Lease: 9}}, apitest.Filled[job.StepList](),
			func(ctx context.Context) (any, error) { return c.Steps(ctx, "s1", job.Ref{JobID: 7, Lease: 9}) }},
		{[]any{"SaveStep", "s1", job.Ref{JobID: 7, Lease: 9}, step}, apitest.Filled[job.SavedStep](),
			func(ctx context.Context) (any, error) {
				return c.SaveStep(ctx, "s1", job.Ref{JobID: 7, Lease: 9}, step)
			}},
		{[]any{"SaveProgress", "s1", []job.AttemptProgress{said}}, nil,
			func(ctx context.Context) (any, error) {
				return nil, c.SaveProgress(ctx, "s1", []job.AttemptProgress{said})
			}},
		{[]any{"LinkSignal", "s1", job.Ref{JobID: 7, Lease: 9}, job.Link{Name: "paid", For: "Ann"}}, apitest.Filled[job.NewLink](),
			func(ctx context.Context) (any, error) {
				return c.LinkSignal(ctx, "s1", job.Ref{JobID: 7, Lease: 9}, job.Link{Name: "paid", For: "Ann"})
			}},
		{[]any{"MakeSignalLink", "ns", int64(9), job.Link{Name: "a step", For: "Ann"}}, apitest.Filled[job.NewLink](),
			func(ctx context.Context) (any, error) {
				return c.MakeSignalLink(ctx, "ns", 9, job.Link{Name: "a step", For: "Ann"})
			}},
		{[]any{"DeleteSignalLinks", "ns", int64(9), "a step"}, apitest.Filled[job.Unlinked](),
			func(ctx context.Context) (any, error) { return c.DeleteSignalLinks(ctx, "ns", 9, "a step") }},
		{[]any{"JobSteps", "ns", int64(9)}, apitest.Filled[[]job.Step](),
			func(ctx context.Context) (any, error) { return c.JobSteps(ctx, "ns", 9) }},
		{[]any{"SignalJob", "ns", int64(9), apitest.Filled[job.Signal]()}, apitest.Filled[job.SentSignal](),
			func(ctx context.Context) (any, error) {
				return c.SignalJob(ctx, "ns", 9, apitest.Filled[job.Signal]())
			}},
		{[]any{"ResetSteps", "ns", int64(9), apitest.Filled[job.StepReset]()}, 7,
			func(ctx context.Context) (any, error) {
				return c.ResetSteps(ctx, "ns", 9, apitest.Filled[job.StepReset]())
			}},
		{[]any{"DrainWorker", "s1"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DrainWorker(ctx, "s1") }},
		{[]any{"CreateJoinToken", apitest.Filled[access.JoinToken]()}, pair{apitest.Filled[access.JoinToken](), "secret-of-it"},
			func(ctx context.Context) (any, error) {
				made, secret, err := c.CreateJoinToken(ctx, apitest.Filled[access.JoinToken]())
				return pair{made, secret}, err
			}},
		{[]any{"RevokeJoinToken", int64(7)}, nil,
			func(ctx context.Context) (any, error) { return nil, c.RevokeJoinToken(ctx, 7) }},
		{[]any{"JoinTokens"}, []access.JoinToken{apitest.Filled[access.JoinToken]()},
			func(ctx context.Context) (any, error) { return c.JoinTokens(ctx) }},
		{[]any{"Join", "invitation", "m"}, pair{apitest.Filled[access.Token](), "secret-of-it"},
			func(ctx context.Context) (any, error) {
				made, secret, err := c.Join(ctx, "invitation", "m")
				return pair{made, secret}, err
			}},
		{[]any{"CreateToken", apitest.Filled[access.Token]()}, pair{apitest.Filled[access.Token](), "secret-of-it"},
			func(ctx context.Context) (any, error) {
				made, secret, err := c.CreateToken(ctx, apitest.Filled[access.Token]())
				return pair{made, secret}, err
			}},
		{[]any{"RevokeToken", int64(4)}, nil,
			func(ctx context.Context) (any, error) { return nil, c.RevokeToken(ctx, 4) }},
		{[]any{"Tokens"}, apitest.Filled[[]access.Token](),
			func(ctx context.Context) (any, error) { return c.Tokens(ctx) }},
		{[]any{"Apply", apitest.Filled[view.Manifest](), view.ApplyOptions{Namespace: apitest.Filled[task.Task]().Namespace, DryRun: true, Prune: true, CompareSecrets: true}}, apitest.Filled[view.Applied](),
			func(ctx context.Context) (any, error) {
				return c.Apply(ctx, apitest.Filled[view.Manifest](), view.ApplyOptions{Namespace: apitest.Filled[task.Task]().Namespace, DryRun: true, Prune: true})
			}},
		{[]any{"Export", "*"}, definitions.Redacted(apitest.Filled[view.Manifest]()),
			func(ctx context.Context) (any, error) { return c.Export(ctx, "*") }},
		{[]any{"Audit", access.AuditFilter{Paging: paging, Namespace: "*", Noun: "task", Name: "n", Actor: "a", Since: at, Until: at}}, apitest.Filled[core.Page[access.Audit]](),
			func(ctx context.Context) (any, error) {
				return c.Audit(ctx, access.AuditFilter{Paging: paging, Namespace: "*", Noun: "task", Name: "n", Actor: "a", Since: at, Until: at})
			}},
		{[]any{"Events", "*", "cur", 3 * time.Second}, pair{apitest.Filled[[]view.Event](), "a1"},
			func(ctx context.Context) (any, error) {
				evs, next, err := c.Events(ctx, "*", "cur", 3*time.Second)
				return pair{evs, next}, err
			}},
		{[]any{"Health"}, apitest.Filled[view.Health](),
			func(ctx context.Context) (any, error) { return c.Health(ctx) }},
		{[]any{"DatabaseHealth"}, apitest.Filled[view.DatabaseHealth](),
			func(ctx context.Context) (any, error) { return c.DatabaseHealth(ctx) }},
		{[]any{"OpenSession", remote}, apitest.Filled[job.Session](),
			func(ctx context.Context) (any, error) { return c.OpenSession(ctx, worker) }},
		{[]any{"Claim", job.ClaimRequest{Session: "s1", Want: map[string]int{"q": 3}, Wait: core.Duration(20 * time.Second), Remote: true}}, apitest.Filled[job.Claim](),
			func(ctx context.Context) (any, error) {
				return c.Claim(ctx, job.ClaimRequest{Session: "s1", Want: map[string]int{"q": 3}, Wait: core.Duration(20 * time.Second)})
			}},
		{[]any{"Renew", "s1", job.Held(job.Ref{JobID: 1, Lease: 2})}, apitest.Filled[job.Renewal](),
			func(ctx context.Context) (any, error) {
				return c.Renew(ctx, "s1", job.Held(job.Ref{JobID: 1, Lease: 2}))
			}},
		{[]any{"Finish", "s1", []job.Finish{finish}}, apitest.Filled[[]job.Finished](),
			func(ctx context.Context) (any, error) { return c.Finish(ctx, "s1", []job.Finish{finish}) }},
		{[]any{"Append", "s1", []job.LogPiece{piece}}, nil,
			func(ctx context.Context) (any, error) { return nil, c.Append(ctx, "s1", []job.LogPiece{piece}) }},
		{[]any{"CloseSession", "s1"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.CloseSession(ctx, "s1") }},
	}
	for _, call := range slices.Concat(calls, cycleCalls(c), monitorCalls(c)) {
		back, err := call.call(t.Context())
		if err != nil {
			t.Errorf("%s: %v", call.want[0], err)
			continue
		}
		if call.want[0] != "" {
			same(t, call.want[0].(string)+" arrived", b.last(), call.want)
		}
		same(t, call.want[0].(string)+" came back", back, call.back)
	}

	// What the client has no call for, or another way.
	b.raw(t, "POST", "/v1/jobs/9/cancel?namespace=ns", `{"note":"n"}`)
	same(t, "cancel one", b.last(), []any{"CancelJobs", "ns", view.Selection{IDs: []int64{9}, Note: "n"}})
	b.raw(t, "POST", "/v1/jobs/9/retry", "")
	same(t, "retry one", b.last(), []any{"RetryJobs", "default", view.Selection{IDs: []int64{9}}})
	b.raw(t, "POST", "/v1/schedules/n/backfill?namespace=ns", `{"from":"2026-01-31T00:00:00Z","to":"2026-01-31T12:30:45.123456Z","limit":7}`)
	same(t, "backfill of a schedule", b.last(), []any{"StartBackfill",
		schedule.Backfill{Namespace: "ns", Schedule: "n", From: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), To: at, Limit: 7}})
	b.raw(t, "GET", "/v1/monitors/n/incidents?open=true&limit=3", "")
	same(t, "incidents of a monitor", b.last(), []any{"Incidents", view.IncidentFilter{Paging: core.Paging{Limit: 3}, Namespace: "default", Monitor: "n", Open: true}})
	if who, err := b.client.Whoami(t.Context()); err != nil || who.Name != "root" {
		t.Errorf("who asks: %+v, %v", who, err)
	}
	b.when("Events", func(context.Context, []any) (any, error) { return nil, core.Errorf(core.Invalid, "bad cursor") })
	b.refused(t, 422, "GET", "/v1/events?cursor=x", "")
	b.when("PullEvents", func(context.Context, []any) (any, error) { return nil, core.Errorf(core.Invalid, "bad cursor") })
	b.refused(t, 422, "GET", "/v1/hooks/n/stream?after=x", "")
	b.when("PullEvents", nil)

	b.when("LogText", func(_ context.Context, args []any) (any, error) {
		q := args[2].(job.LogQuery)
		return job.LogText{Offset: q.Offset, Next: q.Offset + 3, Size: 6, Text: "abcdef"[q.Offset : q.Offset+3]}, nil
	})
	if status, h, text := b.raw(t, "GET", "/v1/jobs/9/log.txt?namespace=ns", ""); status != 200 || text != "abcdef" || h.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the log as a file: %d %s %q", status, h.Get("Content-Type"), text)
	}

	whatTheServerComputes(t, b)

	mu.Lock()
	defer mu.Unlock()
	for path, item := range b.server.api.Huma.OpenAPI().Paths {
		for method := range api.OperationsOf(item) {
			if strings.HasPrefix(path, "/v1/attempts/") {
				continue // their client has tests of its own, with a store
			}
			if !routes[method+" "+path] {
				t.Errorf("no test came by %s %s", method, path)
			}
		}
	}
	for route := range routes {
		method, path, _ := strings.Cut(route, " ")
		if item := b.server.api.Huma.OpenAPI().Paths[path]; item == nil || api.OperationsOf(item)[method] == nil {
			t.Errorf("%s is not in the OpenAPI document", route)
		}
	}
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	empty := map[string]any{
		"Tasks": core.Page[task.Task]{}, "LimitUse": []view.LimitUse{}, "QueueLimitUse": []view.LimitUse{}, "NamespaceLimitUse": []view.LimitUse{}, "Schedules": core.Page[schedule.Schedule]{}, "Jobs": core.Page[job.Job]{},
		"Audit": core.Page[access.Audit]{}, "Logs": core.Page[job.LogLine]{}, "Occurrences": core.Page[schedule.Occurrence]{},
		"Calendars": core.Page[schedule.Calendar]{}, "Backfills": core.Page[schedule.Backfill]{}, "Look": schedule.Look{},
		"Upcoming": []schedule.Coming(nil), "Forecast": schedule.Forecast{}, "Queues": []job.QueueStats(nil), "Workers": []job.WorkerState(nil), "Tokens": []access.Token(nil),
		"Attempts": []job.Attempt(nil), "Events": wire.EventPage{}, "Claim": job.Claim{},
		"Monitors": core.Page[view.MonitorView]{}, "Bars": []monitor.Bars(nil), "Results": core.Page[view.MonitorResult]{}, "Series": monitor.Series(nil), "Uptime": view.UptimeReport{},
		"Timeline": []monitor.Span(nil), "Incidents": core.Page[monitor.Incident]{}, "PageVersions": core.Page[monitor.PageVersion]{},
		"Channels": core.Page[alert.Channel]{}, "AlertRules": core.Page[alert.Rule]{}, "Windows": core.Page[monitor.Window]{},
		"StatusPages": core.Page[public.StatusPage]{}, "Alerts": core.Page[alert.Alert]{}, "ListHooks": core.Page[hook.Hook]{}, "HookEvents": core.Page[hook.Recorded]{}, "HookStatuses": core.Page[hook.Standing]{}, "PullEvents": hook.Pulled{}, "AlertTries": []alert.Try(nil),
		"Window": monitor.Window{Off: true}, "Cycles": core.Page[cycle.Status]{}, "CycleStatus": cycle.Status{},
	}
	for method, v := range empty {
		b.when(method, func(context.Context, []any) (any, error) { return v, nil })
	}
	for _, path := range []string{
		"/v1/tasks", "/v1/schedules", "/v1/jobs", "/v1/audit", "/v1/jobs/1/logs", "/v1/schedules/s/occurrences",
		"/v1/queues", "/v1/workers", "/v1/tokens", "/v1/jobs/1/attempts", "/v1/events/poll",
		"/v1/calendars", "/v1/backfills", "/v1/upcoming", "/v1/forecast", "/v1/schedules/s/next",
		"/v1/monitors", "/v1/monitor-bars?monitor=m", "/v1/monitors/m/results", "/v1/monitors/m/series", "/v1/monitors/m/uptime", "/v1/monitors/m/timeline", "/v1/monitors/m/incidents",
		"/v1/monitors/m/versions", "/v1/incidents", "/v1/channels", "/v1/alert-rules", "/v1/hooks", "/v1/hook-statuses", "/v1/hooks/h/events", "/v1/hooks/h/pull", "/v1/windows", "/v1/windows/w/next", "/v1/status-pages", "/v1/alerts", "/v1/alerts/1/tries",
		"/v1/cycles", "/v1/cycles/c",
	} {
		status, _, body := b.raw(t, "GET", path, "")
		if status != 200 || strings.Contains(body, "null") || !strings.Contains(body, "[]") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, _, body := b.raw(t, "POST", "/v1/sessions/s/claim", `{"want":{}}`); body != "{\"lease\":0,\"jobs\":[]}\n" {
		t.Errorf("an empty claim is %s", body)
	}
	if _, _, body := b.raw(t, "POST", "/v1/look", `{"name":"s"}`); !strings.Contains(body, `"explain":[],"coming":[]`) {
		t.Errorf("an empty look is %s", body)
	}
}

func TestOneJobIsAnsweredAloneAndItsKeyMayBeAHeader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, _, body := b.raw(t, "POST", "/v1/jobs", `{"task":"t"}`, "Idempotency-Key", "k1")
	if status != 200 || !strings.HasPrefix(body, `{"job":{`) {
		t.Errorf("one job: %d %s", status, body)
	}
	same(t, "one job", b.last(), []any{"Enqueue", []job.NewJob{{Namespace: "default", Task: "t", Key: "k1"}}})

	status, _, body = b.raw(t, "POST", "/v1/jobs?namespace=x", `{"jobs":[{"task":"t"},{"task":"u","namespace":"x"}]}`)
	if status != 200 || !strings.HasPrefix(body, `{"jobs":[{"job":{`) {
		t.Errorf("a batch: %d %s", status, body)
	}
	same(t, "a batch", b.last(), []any{"Enqueue", []job.NewJob{{Namespace: "x", Task: "t"}, {Namespace: "x", Task: "u"}}})

	for body, field := range map[string]string{
		`{"jobs":[{"task":"t"}]}`:        "Idempotency-Key",
		`{"task":"t","key":"k2"}`:        "key",
		`{"jobs":[]}`:                    "jobs",
		`{"task":"t","jbos":[]}`:         "jbos",
		`{"jobs":[{"task":"t","x":[]}]}`: "jobs[0].x",
	} {
		p := b.refused(t, 422, "POST", "/v1/jobs", body, "Idempotency-Key", "k1")
		if len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

func TestTheKeyOfARetryMayBeAHeader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, c := range map[string]struct {
		body string
		want []any
	}{
		"/v1/jobs/retry":            {`{"ids":[7]}`, []any{"RetryJobs", "default", view.Selection{IDs: []int64{7}, Key: "k1"}}},
		"/v1/jobs/7/retry":          {`{"note":"n"}`, []any{"RetryJobs", "default", view.Selection{IDs: []int64{7}, Note: "n", Key: "k1"}}},
		"/v1/workflow-runs/7/retry": {`{"from":"a"}`, []any{"RetryWorkflow", "default", int64(7), workflow.Retrying{From: "a", Key: "k1"}}},
	} {
		var got []any
		b.when(c.want[0].(string), func(_ context.Context, args []any) (any, error) { got = args; return nil, nil })
		if status, _, body := b.raw(t, "POST", path, c.body, "Idempotency-Key", "k1"); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
		same(t, path, got, c.want[1:])
		p := b.refused(t, 422, "POST", path, strings.TrimSuffix(c.body, "}")+`,"key":"k2"}`, "Idempotency-Key", "k1")
		if len(p.Errors) != 1 || p.Errors[0].Field != "key" {
			t.Errorf("%s with two keys: %+v", path, p)
		}
	}
	p := b.refused(t, 422, "POST", "/v1/jobs/7/cancel", `{"key":"k"}`)
	if len(p.Errors) != 1 || p.Errors[0].Field != "key" {
		t.Errorf("a cancel with a key: %+v", p)
	}
}

func TestTheClientWorksUnderAPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.handler = stripped("/some/prefix", b.server.handler)
	front, _ := listen(t, b.server)
	c, err := client.New(front+"/some/prefix/", "root", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if _, err := c.Task(t.Context(), "ns", "n"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(b.last(), []any{"Task", "ns", "n"}) {
		t.Error(b.last())
	}
}

// pausedSchedule is one that is created paused, which the address says.
func pausedSchedule() schedule.Schedule {
	s := apitest.Filled[schedule.Schedule]()
	s.State = schedule.Paused
	return s
}
