package httpapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/cron"
)

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
		o.Observe = func(r Request) {
			mu.Lock()
			defer mu.Unlock()
			routes[r.Route] = true
		}
	})
	c, at := b.client, filled[time.Time]()
	paging := belfry.Paging{Limit: 7, Cursor: "a/b+c=&"}
	selection := belfry.Selection{Filter: &belfry.JobFilter{
		Namespace: "ns", States: []belfry.JobState{belfry.JobFailed}, Task: "t", Schedule: "s", Queue: "q", Tag: "g", Since: at, Until: at,
	}, DryRun: true, Note: "n"}
	ids := belfry.Selection{IDs: []int64{1, 2}, Note: "n"}
	finish, piece := filled[belfry.Finish](), filled[belfry.LogPiece]()
	finish.Outcome, piece.Stream = belfry.OutcomeOK, belfry.Stderr
	left := belfry.Output{Name: "a/b c.txt", Size: 7, SHA256: strings.Repeat("ab", 32)}
	finish.Sandboxed.Outputs = []belfry.Output{left}
	worker := filled[belfry.WorkerInfo]()
	worker.Kinds = []belfry.Kind{belfry.KindHTTP}
	remote := worker
	remote.Remote, remote.Token = true, 1 // of the token root
	input := json.RawMessage(`{"x":1}`)
	look := filled[belfry.LookQuery]()
	look.Draft.Namespace = look.Namespace
	ahead := belfry.Ahead{Namespace: "*", From: at, Within: 36 * time.Hour, Limit: 7}

	digest := strings.Repeat("ab", 32)
	calls := []exchange{
		{[]any{"CreateTask", filled[belfry.Task]()}, filled[belfry.Task]().Redacted(),
			func(ctx context.Context) (any, error) { return c.CreateTask(ctx, filled[belfry.Task]()) }},
		{[]any{"UpdateTask", filled[belfry.Task]()}, filled[belfry.Task]().Redacted(),
			func(ctx context.Context) (any, error) { return c.UpdateTask(ctx, filled[belfry.Task]()) }},
		{[]any{"DeleteTask", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteTask(ctx, "ns", "n") }},
		{[]any{"Task", "ns", "n"}, filled[belfry.Task]().Redacted(),
			func(ctx context.Context) (any, error) { return c.Task(ctx, "ns", "n") }},
		{[]any{"Tasks", belfry.TaskFilter{Paging: paging, Namespace: "*", Kind: "http", Tag: "g", Part: "p"}}, pageOf(filled[belfry.Task]().Redacted()),
			func(ctx context.Context) (any, error) {
				return c.Tasks(ctx, belfry.TaskFilter{Paging: paging, Namespace: "*", Kind: "http", Tag: "g", Part: "p"})
			}},
		{[]any{"CreateArtifact", belfry.Artifact{Namespace: "ns", SHA256: digest, Size: 7}}, filled[belfry.Upload](),
			func(ctx context.Context) (any, error) {
				return c.CreateArtifact(ctx, belfry.Artifact{Namespace: "ns", SHA256: digest, Size: 7})
			}},
		{[]any{"ArtifactUpload", "ns", digest}, filled[belfry.Upload](),
			func(ctx context.Context) (any, error) { return c.ArtifactUpload(ctx, "ns", digest) }},
		{[]any{"ConfirmArtifact", "ns", digest}, filled[belfry.Artifact](),
			func(ctx context.Context) (any, error) { return c.ConfirmArtifact(ctx, "ns", digest) }},
		{[]any{"Artifact", "ns", digest}, filled[belfry.Artifact](),
			func(ctx context.Context) (any, error) { return c.Artifact(ctx, "ns", digest) }},
		{[]any{"Artifacts", belfry.DocumentFilter{Paging: paging, Namespace: "*"}}, filled[belfry.Page[belfry.Artifact]](),
			func(ctx context.Context) (any, error) {
				return c.Artifacts(ctx, belfry.DocumentFilter{Paging: paging, Namespace: "*"})
			}},
		{[]any{"DeleteArtifact", "ns", digest}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteArtifact(ctx, "ns", digest) }},
		{[]any{"SetSecret", "ns", "n", belfry.Secret("hunter2")}, filled[belfry.KeptSecret](),
			func(ctx context.Context) (any, error) { return c.SetSecret(ctx, "ns", "n", "hunter2") }},
		{[]any{"KeptSecrets", belfry.DocumentFilter{Paging: paging, Namespace: "*"}}, filled[belfry.Page[belfry.KeptSecret]](),
			func(ctx context.Context) (any, error) {
				return c.KeptSecrets(ctx, belfry.DocumentFilter{Paging: paging, Namespace: "*"})
			}},
		{[]any{"DeleteSecret", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteSecret(ctx, "ns", "n") }},
		{[]any{"RotateSecrets"}, filled[belfry.ResealedSecrets](),
			func(ctx context.Context) (any, error) { return c.RotateSecrets(ctx) }},
		{[]any{"CreateSchedule", pausedSchedule()}, filled[belfry.Schedule](),
			func(ctx context.Context) (any, error) { return c.CreateSchedule(ctx, pausedSchedule()) }},
		{[]any{"UpdateSchedule", filled[belfry.Schedule]()}, filled[belfry.Schedule](),
			func(ctx context.Context) (any, error) { return c.UpdateSchedule(ctx, filled[belfry.Schedule]()) }},
		{[]any{"DeleteSchedule", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteSchedule(ctx, "ns", "n") }},
		{[]any{"Schedule", "ns", "n"}, filled[belfry.Schedule](),
			func(ctx context.Context) (any, error) { return c.Schedule(ctx, "ns", "n") }},
		{[]any{"Schedules", belfry.ScheduleFilter{Paging: paging, Namespace: "*", State: "paused", Task: "t", Tag: "red", Part: "ight"}}, filled[belfry.Page[belfry.Schedule]](),
			func(ctx context.Context) (any, error) {
				return c.Schedules(ctx, belfry.ScheduleFilter{Paging: paging, Namespace: "*", State: "paused", Task: "t", Tag: "red", Part: "ight"})
			}},
		{[]any{"PauseSchedule", "ns", "n", "because"}, filled[belfry.Schedule](),
			func(ctx context.Context) (any, error) { return c.PauseSchedule(ctx, "ns", "n", "because") }},
		{[]any{"ResumeSchedule", "ns", "n", true}, filled[belfry.Schedule](),
			func(ctx context.Context) (any, error) { return c.ResumeSchedule(ctx, "ns", "n", true) }},
		{[]any{"TriggerSchedule", "ns", "n", input}, filled[belfry.Job](),
			func(ctx context.Context) (any, error) { return c.TriggerSchedule(ctx, "ns", "n", input) }},
		{[]any{"TriggerSchedule", "ns", "n", json.RawMessage(nil)}, filled[belfry.Job](),
			func(ctx context.Context) (any, error) { return c.TriggerSchedule(ctx, "ns", "n", nil) }},
		{[]any{"Occurrences", belfry.OccurrenceFilter{Paging: paging, Namespace: "ns", Schedule: "n", Decision: "skipped"}}, filled[belfry.Page[belfry.Occurrence]](),
			func(ctx context.Context) (any, error) {
				return c.Occurrences(ctx, belfry.OccurrenceFilter{Paging: paging, Namespace: "ns", Schedule: "n", Decision: "skipped"})
			}},
		{[]any{"SaveCalendar", filled[belfry.Calendar]()}, filled[belfry.Calendar](),
			func(ctx context.Context) (any, error) { return c.SaveCalendar(ctx, filled[belfry.Calendar]()) }},
		{[]any{"DeleteCalendar", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteCalendar(ctx, "ns", "n") }},
		{[]any{"Calendar", "ns", "n"}, filled[belfry.Calendar](),
			func(ctx context.Context) (any, error) { return c.Calendar(ctx, "ns", "n") }},
		{[]any{"Calendars", belfry.CalendarFilter{Paging: paging, Namespace: "*"}}, filled[belfry.Page[belfry.Calendar]](),
			func(ctx context.Context) (any, error) {
				return c.Calendars(ctx, belfry.CalendarFilter{Paging: paging, Namespace: "*"})
			}},
		{[]any{"SaveCalendar", belfry.Calendar{Namespace: "ns", Name: "n", Description: "a1", CalendarSpec: holidays}}, filled[belfry.Calendar](),
			func(ctx context.Context) (any, error) {
				return c.ImportICS(ctx, "ns", "n", strings.NewReader(holidaysICS), "Europe/Sofia")
			}},
		{[]any{"StartBackfill", filled[belfry.Backfill]()}, filled[belfry.Backfill](),
			func(ctx context.Context) (any, error) { return c.StartBackfill(ctx, filled[belfry.Backfill]()) }},
		{[]any{"SetBackfill", "ns", int64(9), belfry.BackfillPaused}, filled[belfry.Backfill](),
			func(ctx context.Context) (any, error) { return c.SetBackfill(ctx, "ns", 9, belfry.BackfillPaused) }},
		{[]any{"SetBackfill", "*", int64(9), belfry.BackfillActive}, filled[belfry.Backfill](),
			func(ctx context.Context) (any, error) { return c.SetBackfill(ctx, "*", 9, belfry.BackfillActive) }},
		{[]any{"SetBackfill", "ns", int64(9), belfry.BackfillCanceled}, filled[belfry.Backfill](),
			func(ctx context.Context) (any, error) { return c.SetBackfill(ctx, "ns", 9, belfry.BackfillCanceled) }},
		{[]any{"Backfill", "*", int64(9)}, filled[belfry.Backfill](),
			func(ctx context.Context) (any, error) { return c.Backfill(ctx, "*", 9) }},
		{[]any{"Backfills", belfry.BackfillFilter{Paging: paging, Namespace: "*", Schedule: "s"}}, filled[belfry.Page[belfry.Backfill]](),
			func(ctx context.Context) (any, error) {
				return c.Backfills(ctx, belfry.BackfillFilter{Paging: paging, Namespace: "*", Schedule: "s"})
			}},
		{[]any{"Look", look}, filled[belfry.Look](),
			func(ctx context.Context) (any, error) { return c.Look(ctx, look) }},
		{[]any{"Look", belfry.LookQuery{Namespace: "default", Name: "n", N: 3}}, filled[belfry.Look](),
			func(ctx context.Context) (any, error) { return c.Look(ctx, belfry.LookQuery{Name: "n", N: 3}) }},
		{[]any{"Look", belfry.LookQuery{Namespace: "ns", Name: "n", From: at, N: 2}}, filled[[]belfry.Coming](),
			func(ctx context.Context) (any, error) { return c.Next(ctx, "ns", "n", at, 2) }},
		{[]any{"Upcoming", ahead}, filled[[]belfry.Coming](),
			func(ctx context.Context) (any, error) { return c.Upcoming(ctx, ahead) }},
		{[]any{"Upcoming", belfry.Ahead{Namespace: "default"}}, filled[[]belfry.Coming](),
			func(ctx context.Context) (any, error) { return c.Upcoming(ctx, belfry.Ahead{}) }},
		{[]any{"Forecast", belfry.Ahead{Namespace: "ns", From: at, Within: 7 * 24 * time.Hour, Zone: "Asia/Kolkata", ByHour: true, Checks: true}}, filled[belfry.Forecast](),
			func(ctx context.Context) (any, error) {
				return c.Forecast(ctx, belfry.Ahead{Namespace: "ns", From: at, Within: 7 * 24 * time.Hour, Limit: 5, Zone: "Asia/Kolkata", ByHour: true, Checks: true})
			}},
		{[]any{"Enqueue", filled[[]belfry.NewJob]()}, filled[[]belfry.Enqueued](),
			func(ctx context.Context) (any, error) { return c.Enqueue(ctx, filled[[]belfry.NewJob]()) }},
		{[]any{"Job", "*", int64(9)}, filled[belfry.Job](),
			func(ctx context.Context) (any, error) { return c.Job(ctx, "*", 9) }},
		{[]any{"Jobs", belfry.JobFilter{Paging: paging, Namespace: "ns", States: []belfry.JobState{"ready", "failed"}, Task: "t", Schedule: "s", Queue: "q", Tag: "g", Since: at, Until: at}}, filled[belfry.Page[belfry.Job]](),
			func(ctx context.Context) (any, error) {
				return c.Jobs(ctx, belfry.JobFilter{Paging: paging, Namespace: "ns", States: []belfry.JobState{"ready", "failed"}, Task: "t", Schedule: "s", Queue: "q", Tag: "g", Since: at, Until: at})
			}},
		{[]any{"CountJobs", belfry.JobFilter{Namespace: "ns", Error: `timed "out"`, MinAttempt: 2, Session: "x"}, belfry.CountOptions{Cap: 7, ByState: true}}, filled[belfry.JobCount](),
			func(ctx context.Context) (any, error) {
				return c.CountJobs(ctx, belfry.JobFilter{Namespace: "ns", Error: `timed "out"`, MinAttempt: 2, Session: "x"}, belfry.CountOptions{Cap: 7, ByState: true})
			}},
		{[]any{"Overview", "*"}, filled[belfry.Overview](),
			func(ctx context.Context) (any, error) { return c.Overview(ctx, "*") }},
		{[]any{"JobMinutes", belfry.MinuteQuery{Namespace: "ns", Queue: "q", Within: 2 * time.Hour}}, filled[[]belfry.JobMinute](),
			func(ctx context.Context) (any, error) {
				return c.JobMinutes(ctx, belfry.MinuteQuery{Namespace: "ns", Queue: "q", Within: 2 * time.Hour})
			}},
		{[]any{"Strips", belfry.StripQuery{Namespace: "ns", Schedules: []string{"a", "b"}, N: 7}}, filled[[]belfry.Strip](),
			func(ctx context.Context) (any, error) {
				return c.Strips(ctx, belfry.StripQuery{Namespace: "ns", Schedules: []string{"a", "b"}, N: 7})
			}},
		{[]any{"ScheduleDays", belfry.DaysQuery{Namespace: "ns", Schedule: "s", From: at, To: at}}, filled[belfry.ScheduleDays](),
			func(ctx context.Context) (any, error) {
				return c.ScheduleDays(ctx, belfry.DaysQuery{Namespace: "ns", Schedule: "s", From: at, To: at})
			}},
		{[]any{"LogText", "ns", int64(9), belfry.LogQuery{Attempt: 2, Stream: belfry.Stderr, Offset: -7, Limit: 9, Tail: 3, Grep: "a b", Regexp: true}}, filled[belfry.LogText](),
			func(ctx context.Context) (any, error) {
				return c.LogText(ctx, "ns", 9, belfry.LogQuery{Attempt: 2, Stream: belfry.Stderr, Offset: -7, Limit: 9, Tail: 3, Grep: "a b", Regexp: true})
			}},
		{[]any{"Attempts", "ns", int64(9)}, filled[[]belfry.Attempt](),
			func(ctx context.Context) (any, error) { return c.Attempts(ctx, "ns", 9) }},
		{[]any{"Logs", "ns", int64(9), belfry.LogFilter{Paging: paging, Attempt: 2}}, filled[belfry.Page[belfry.LogLine]](),
			func(ctx context.Context) (any, error) {
				return c.Logs(ctx, "ns", 9, belfry.LogFilter{Paging: paging, Attempt: 2})
			}},
		{[]any{"CancelJobs", "ns", selection}, filled[belfry.Selected](),
			func(ctx context.Context) (any, error) { return c.CancelJobs(ctx, "ns", selection) }},
		{[]any{"CancelJobs", "*", ids}, filled[belfry.Selected](),
			func(ctx context.Context) (any, error) { return c.CancelJobs(ctx, "*", ids) }},
		{[]any{"RedriveJobs", "ns", ids}, filled[belfry.Selected](),
			func(ctx context.Context) (any, error) { return c.RedriveJobs(ctx, "ns", ids) }},
		{[]any{"RerunJob", "ns", int64(9), filled[belfry.Rerun]()}, filled[belfry.Enqueued](),
			func(ctx context.Context) (any, error) { return c.RerunJob(ctx, "ns", 9, filled[belfry.Rerun]()) }},
		{[]any{"Why", "ns", int64(9)}, filled[belfry.Why](),
			func(ctx context.Context) (any, error) { return c.Why(ctx, "ns", 9) }},
		{[]any{"SaveNamespace", filled[belfry.Namespace]()}, filled[belfry.Namespace](),
			func(ctx context.Context) (any, error) { return c.SaveNamespace(ctx, filled[belfry.Namespace]()) }},
		{[]any{"Namespace", "n"}, filled[belfry.Namespace](),
			func(ctx context.Context) (any, error) { return c.Namespace(ctx, "n") }},
		{[]any{"Namespaces"}, filled[[]belfry.Namespace](),
			func(ctx context.Context) (any, error) { return c.Namespaces(ctx) }},
		{[]any{"SaveQueue", filled[belfry.Queue]()}, filled[belfry.Queue](),
			func(ctx context.Context) (any, error) { return c.SaveQueue(ctx, filled[belfry.Queue]()) }},
		{[]any{"DeleteQueue", "q"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteQueue(ctx, "q") }},
		{[]any{"Queue", "q"}, filled[belfry.QueueStats](),
			func(ctx context.Context) (any, error) { return c.Queue(ctx, "q") }},
		{[]any{"Queues"}, filled[[]belfry.QueueStats](),
			func(ctx context.Context) (any, error) { return c.Queues(ctx) }},
		{[]any{"PauseQueue", "q", "because"}, filled[belfry.Queue](),
			func(ctx context.Context) (any, error) { return c.PauseQueue(ctx, "q", "because") }},
		{[]any{"ResumeQueue", "q"}, filled[belfry.Queue](),
			func(ctx context.Context) (any, error) { return c.ResumeQueue(ctx, "q") }},
		{[]any{"Workers", true}, filled[[]belfry.WorkerState](),
			func(ctx context.Context) (any, error) { return c.Workers(ctx, true) }},
		{[]any{"Outputs", "*", int64(7)}, []belfry.JobOutput{filled[belfry.JobOutput]()},
			func(ctx context.Context) (any, error) { return c.Outputs(ctx, "*", 7) }},
		{[]any{"OutputLink", "ns", int64(7), "a/b c.txt", int64(9)}, filled[belfry.SignedRequest](),
			func(ctx context.Context) (any, error) { return c.OutputLink(ctx, "ns", 7, "a/b c.txt", 9) }},
		{[]any{"DeclareOutput", "s1", belfry.Ref{JobID: 7, Lease: 9}, left}, new(filled[belfry.SignedRequest]()),
			func(ctx context.Context) (any, error) {
				return c.DeclareOutput(ctx, "s1", belfry.Ref{JobID: 7, Lease: 9}, left)
			}},
		{[]any{"DrainWorker", "s1"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DrainWorker(ctx, "s1") }},
		{[]any{"CreateJoinToken", filled[belfry.JoinToken]()}, pair{filled[belfry.JoinToken](), "secret-of-it"},
			func(ctx context.Context) (any, error) {
				made, secret, err := c.CreateJoinToken(ctx, filled[belfry.JoinToken]())
				return pair{made, secret}, err
			}},
		{[]any{"RevokeJoinToken", int64(7)}, nil,
			func(ctx context.Context) (any, error) { return nil, c.RevokeJoinToken(ctx, 7) }},
		{[]any{"JoinTokens"}, []belfry.JoinToken{filled[belfry.JoinToken]()},
			func(ctx context.Context) (any, error) { return c.JoinTokens(ctx) }},
		{[]any{"Join", "invitation", "m"}, pair{filled[belfry.Token](), "secret-of-it"},
			func(ctx context.Context) (any, error) {
				made, secret, err := c.Join(ctx, "invitation", "m")
				return pair{made, secret}, err
			}},
		{[]any{"CreateToken", filled[belfry.Token]()}, pair{filled[belfry.Token](), "secret-of-it"},
			func(ctx context.Context) (any, error) {
				made, secret, err := c.CreateToken(ctx, filled[belfry.Token]())
				return pair{made, secret}, err
			}},
		{[]any{"RevokeToken", int64(4)}, nil,
			func(ctx context.Context) (any, error) { return nil, c.RevokeToken(ctx, 4) }},
		{[]any{"Tokens"}, filled[[]belfry.Token](),
			func(ctx context.Context) (any, error) { return c.Tokens(ctx) }},
		{[]any{"Apply", filled[belfry.Manifest](), belfry.ApplyOptions{Namespace: "ns", DryRun: true, Prune: true, CompareSecrets: true}}, filled[belfry.Applied](),
			func(ctx context.Context) (any, error) {
				return c.Apply(ctx, filled[belfry.Manifest](), belfry.ApplyOptions{Namespace: "ns", DryRun: true, Prune: true})
			}},
		{[]any{"Export", "*"}, redacted(filled[belfry.Manifest]()),
			func(ctx context.Context) (any, error) { return c.Export(ctx, "*") }},
		{[]any{"Audit", belfry.AuditFilter{Paging: paging, Namespace: "*", Noun: "task", Name: "n", Actor: "a", Since: at, Until: at}}, filled[belfry.Page[belfry.Audit]](),
			func(ctx context.Context) (any, error) {
				return c.Audit(ctx, belfry.AuditFilter{Paging: paging, Namespace: "*", Noun: "task", Name: "n", Actor: "a", Since: at, Until: at})
			}},
		{[]any{"Events", "*", "cur", 3 * time.Second}, pair{filled[[]belfry.Event](), "a1"},
			func(ctx context.Context) (any, error) {
				evs, next, err := c.Events(ctx, "*", "cur", 3*time.Second)
				return pair{evs, next}, err
			}},
		{[]any{"Health"}, filled[belfry.Health](),
			func(ctx context.Context) (any, error) { return c.Health(ctx) }},
		{[]any{"DatabaseHealth"}, filled[belfry.DatabaseHealth](),
			func(ctx context.Context) (any, error) { return c.DatabaseHealth(ctx) }},
		{[]any{"OpenSession", remote}, filled[belfry.Session](),
			func(ctx context.Context) (any, error) { return c.OpenSession(ctx, worker) }},
		{[]any{"Claim", belfry.ClaimRequest{Session: "s1", Want: map[string]int{"q": 3}, Wait: belfry.Duration(20 * time.Second)}}, filled[belfry.Claim](),
			func(ctx context.Context) (any, error) {
				return c.Claim(ctx, belfry.ClaimRequest{Session: "s1", Want: map[string]int{"q": 3}, Wait: belfry.Duration(20 * time.Second)})
			}},
		{[]any{"Renew", "s1", belfry.Held(belfry.Ref{JobID: 1, Lease: 2})}, filled[belfry.Renewal](),
			func(ctx context.Context) (any, error) {
				return c.Renew(ctx, "s1", belfry.Held(belfry.Ref{JobID: 1, Lease: 2}))
			}},
		{[]any{"Finish", "s1", []belfry.Finish{finish}}, filled[[]belfry.Finished](),
			func(ctx context.Context) (any, error) { return c.Finish(ctx, "s1", []belfry.Finish{finish}) }},
		{[]any{"Append", "s1", []belfry.LogPiece{piece}}, nil,
			func(ctx context.Context) (any, error) { return nil, c.Append(ctx, "s1", []belfry.LogPiece{piece}) }},
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
	same(t, "cancel one", b.last(), []any{"CancelJobs", "ns", belfry.Selection{IDs: []int64{9}, Note: "n"}})
	b.raw(t, "POST", "/v1/jobs/9/redrive", "")
	same(t, "redrive one", b.last(), []any{"RedriveJobs", "default", belfry.Selection{IDs: []int64{9}}})
	b.raw(t, "POST", "/v1/schedules/n/backfill?namespace=ns", `{"from":"2026-01-31T00:00:00Z","to":"2026-01-31T12:30:45.123456Z","limit":7}`)
	same(t, "backfill of a schedule", b.last(), []any{"StartBackfill",
		belfry.Backfill{Namespace: "ns", Schedule: "n", From: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), To: at, Limit: 7}})
	b.raw(t, "GET", "/v1/monitors/n/incidents?open=true&limit=3", "")
	same(t, "incidents of a monitor", b.last(), []any{"Incidents", belfry.IncidentFilter{Paging: belfry.Paging{Limit: 3}, Namespace: "default", Monitor: "n", Open: true}})
	if who, err := b.client.Whoami(t.Context()); err != nil || who.Name != "root" {
		t.Errorf("who asks: %+v, %v", who, err)
	}
	b.when("Events", func(context.Context, []any) (any, error) { return nil, belfry.Errorf(belfry.Invalid, "bad cursor") })
	b.refused(t, 422, "GET", "/v1/events?cursor=x", "")

	b.when("LogText", func(_ context.Context, args []any) (any, error) {
		q := args[2].(belfry.LogQuery)
		return belfry.LogText{Offset: q.Offset, Next: q.Offset + 3, Size: 6, Text: "abcdef"[q.Offset : q.Offset+3]}, nil
	})
	if status, h, text := b.raw(t, "GET", "/v1/jobs/9/log.txt?namespace=ns", ""); status != 200 || text != "abcdef" || h.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the log as a file: %d %s %q", status, h.Get("Content-Type"), text)
	}

	whatTheServerComputes(t, b)

	mu.Lock()
	defer mu.Unlock()
	for path, item := range b.server.api.OpenAPI().Paths {
		for method := range operationsOf(item) {
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
		if item := b.server.api.OpenAPI().Paths[path]; item == nil || operationsOf(item)[method] == nil {
			t.Errorf("%s is not in the OpenAPI document", route)
		}
	}
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	empty := map[string]any{
		"Tasks": belfry.Page[belfry.Task]{}, "Schedules": belfry.Page[belfry.Schedule]{}, "Jobs": belfry.Page[belfry.Job]{},
		"Audit": belfry.Page[belfry.Audit]{}, "Logs": belfry.Page[belfry.LogLine]{}, "Occurrences": belfry.Page[belfry.Occurrence]{},
		"Calendars": belfry.Page[belfry.Calendar]{}, "Backfills": belfry.Page[belfry.Backfill]{}, "Look": belfry.Look{},
		"Upcoming": []belfry.Coming(nil), "Forecast": belfry.Forecast{}, "Queues": []belfry.QueueStats(nil), "Workers": []belfry.WorkerState(nil), "Tokens": []belfry.Token(nil),
		"Attempts": []belfry.Attempt(nil), "Events": eventPage{}, "Claim": belfry.Claim{},
		"Monitors": belfry.Page[belfry.MonitorView]{}, "Bars": []belfry.MonitorBars(nil), "Results": belfry.Page[belfry.CheckResult]{}, "Series": belfry.Series(nil), "Uptime": belfry.UptimeReport{},
		"Timeline": []belfry.Span(nil), "Incidents": belfry.Page[belfry.Incident]{}, "PageVersions": belfry.Page[belfry.PageVersion]{},
		"Channels": belfry.Page[belfry.Channel]{}, "AlertRules": belfry.Page[belfry.AlertRule]{}, "Windows": belfry.Page[belfry.Window]{},
		"StatusPages": belfry.Page[belfry.StatusPage]{}, "Alerts": belfry.Page[belfry.Alert]{}, "AlertTries": []belfry.AlertTry(nil),
		"Window": belfry.Window{Off: true}, "Cycles": belfry.Page[belfry.CycleStatus]{}, "CycleStatus": belfry.CycleStatus{},
	}
	for method, v := range empty {
		b.when(method, func(context.Context, []any) (any, error) { return v, nil })
	}
	for _, path := range []string{
		"/v1/tasks", "/v1/schedules", "/v1/jobs", "/v1/audit", "/v1/jobs/1/logs", "/v1/schedules/s/occurrences",
		"/v1/queues", "/v1/workers", "/v1/tokens", "/v1/jobs/1/attempts", "/v1/events/poll",
		"/v1/calendars", "/v1/backfills", "/v1/upcoming", "/v1/forecast", "/v1/schedules/s/next",
		"/v1/monitors", "/v1/monitor-bars?monitor=m", "/v1/monitors/m/results", "/v1/monitors/m/series", "/v1/monitors/m/uptime", "/v1/monitors/m/timeline", "/v1/monitors/m/incidents",
		"/v1/monitors/m/versions", "/v1/incidents", "/v1/channels", "/v1/alert-rules", "/v1/windows", "/v1/windows/w/next", "/v1/status-pages", "/v1/alerts", "/v1/alerts/1/tries",
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
	same(t, "one job", b.last(), []any{"Enqueue", []belfry.NewJob{{Namespace: "default", Task: "t", Key: "k1"}}})

	status, _, body = b.raw(t, "POST", "/v1/jobs?namespace=x", `{"jobs":[{"task":"t"},{"task":"u","namespace":"x"}]}`)
	if status != 200 || !strings.HasPrefix(body, `{"jobs":[{"job":{`) {
		t.Errorf("a batch: %d %s", status, body)
	}
	same(t, "a batch", b.last(), []any{"Enqueue", []belfry.NewJob{{Namespace: "x", Task: "t"}, {Namespace: "x", Task: "u"}}})

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

func TestTheClientWorksUnderAPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.handler = stripped("/some/prefix", b.server.handler)
	front, _ := listen(t, b.server)
	c, err := NewClient(front+"/some/prefix/", "root", ClientOptions{})
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
func pausedSchedule() belfry.Schedule {
	s := filled[belfry.Schedule]()
	s.State = belfry.SchedulePaused
	return s
}
