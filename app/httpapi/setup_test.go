package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// fake is a service that remembers what it was asked and answers with values
// in which nothing is zero, or as a test says.
type fake struct {
	mu   sync.Mutex
	got  []any // the last call's method and arguments
	err  error
	on   map[string]func(ctx context.Context, args []any) (any, error)
	seen map[string]int
	next chan struct{} // closed at the next call

	parts  func(ctx context.Context) (part view.Manifest, more bool, err error) // of an export, instead of one
	firsts chan int                                                             // sizes of first parts
}

func (f *fake) when(method string, do func(ctx context.Context, args []any) (any, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on[method] = do
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) last() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got
}

// await waits until a method was called n times.
func (f *fake) await(ctx context.Context, method string, n int) {
	for {
		f.mu.Lock()
		enough, next := f.seen[method] >= n, f.next
		f.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

func reply[T any](ctx context.Context, f *fake, method string, args ...any) (T, error) {
	f.mu.Lock()
	f.got = append([]any{method}, args...)
	f.seen[method]++
	close(f.next)
	f.next = make(chan struct{})
	do, err := f.on[method], f.err
	f.mu.Unlock()
	var zero T
	switch {
	case do != nil:
		v, err := do(ctx, args)
		if v == nil {
			return zero, err
		}
		return v.(T), err
	case err != nil:
		return zero, err
	}
	return apitest.Filled[T](), nil
}

func only(_ api.None, err error) error { return err }

func (f *fake) CreateTask(ctx context.Context, t task.Task) (task.Task, error) {
	return reply[task.Task](ctx, f, "CreateTask", t)
}

func (f *fake) UpdateTask(ctx context.Context, t task.Task) (task.Task, error) {
	return reply[task.Task](ctx, f, "UpdateTask", t)
}

func (f *fake) DeleteTask(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteTask", ns, name))
}

func (f *fake) Task(ctx context.Context, ns, name string) (task.Task, error) {
	return reply[task.Task](ctx, f, "Task", ns, name)
}

func (f *fake) Tasks(ctx context.Context, q task.Filter) (core.Page[task.Task], error) {
	return reply[core.Page[task.Task]](ctx, f, "Tasks", q)
}

func (f *fake) LimitUse(ctx context.Context, ns, name string) ([]view.LimitUse, error) {
	return reply[[]view.LimitUse](ctx, f, "LimitUse", ns, name)
}

func (f *fake) QueueLimitUse(ctx context.Context, name string) ([]view.LimitUse, error) {
	return reply[[]view.LimitUse](ctx, f, "QueueLimitUse", name)
}

func (f *fake) NamespaceLimitUse(ctx context.Context, name string) ([]view.LimitUse, error) {
	return reply[[]view.LimitUse](ctx, f, "NamespaceLimitUse", name)
}

func (f *fake) TryTask(ctx context.Context, t job.TaskTrial) (job.Enqueued, error) {
	return reply[job.Enqueued](ctx, f, "TryTask", t)
}

func (f *fake) ResumeSequence(ctx context.Context, ns, name, key string) (bool, error) {
	return reply[bool](ctx, f, "ResumeSequence", ns, name, key)
}

func (f *fake) CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error) {
	return reply[task.Upload](ctx, f, "CreateArtifact", a)
}

func (f *fake) ArtifactUpload(ctx context.Context, ns, digest string) (task.Upload, error) {
	return reply[task.Upload](ctx, f, "ArtifactUpload", ns, digest)
}

func (f *fake) ConfirmArtifact(ctx context.Context, ns, digest string) (task.Artifact, error) {
	return reply[task.Artifact](ctx, f, "ConfirmArtifact", ns, digest)
}

func (f *fake) Artifact(ctx context.Context, ns, digest string) (task.Artifact, error) {
	return reply[task.Artifact](ctx, f, "Artifact", ns, digest)
}

func (f *fake) Artifacts(ctx context.Context, q view.DocumentFilter) (core.Page[task.Artifact], error) {
	return reply[core.Page[task.Artifact]](ctx, f, "Artifacts", q)
}

func (f *fake) TryArtifacts(ctx context.Context, ns string) (core.Check, error) {
	return reply[core.Check](ctx, f, "TryArtifacts", ns)
}

func (f *fake) DeleteArtifact(ctx context.Context, ns, digest string) error {
	return only(reply[api.None](ctx, f, "DeleteArtifact", ns, digest))
}

func (f *fake) SetSecret(ctx context.Context, ns, name string, value core.Secret) (task.KeptSecret, error) {
	return reply[task.KeptSecret](ctx, f, "SetSecret", ns, name, value)
}

func (f *fake) KeptSecrets(ctx context.Context, q view.DocumentFilter) (core.Page[task.KeptSecret], error) {
	return reply[core.Page[task.KeptSecret]](ctx, f, "KeptSecrets", q)
}

func (f *fake) DeleteSecret(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteSecret", ns, name))
}

func (f *fake) RotateSecrets(ctx context.Context) (task.ResealedSecrets, error) {
	return reply[task.ResealedSecrets](ctx, f, "RotateSecrets")
}

func (f *fake) SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error) {
	return reply[access.Namespace](ctx, f, "SaveNamespace", n)
}

func (f *fake) Namespace(ctx context.Context, name string) (access.Namespace, error) {
	return reply[access.Namespace](ctx, f, "Namespace", name)
}

func (f *fake) AllNamespaces(ctx context.Context) ([]access.Namespace, error) {
	return reply[[]access.Namespace](ctx, f, "AllNamespaces")
}

func (f *fake) QuotaUse(ctx context.Context, name string) ([]access.QuotaUse, error) {
	return reply[[]access.QuotaUse](ctx, f, "QuotaUse", name)
}

func (f *fake) Namespaces(ctx context.Context) ([]access.Namespace, error) {
	return reply[[]access.Namespace](ctx, f, "Namespaces")
}

func (f *fake) CreateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	return reply[schedule.Schedule](ctx, f, "CreateSchedule", s)
}

func (f *fake) UpdateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	return reply[schedule.Schedule](ctx, f, "UpdateSchedule", s)
}

func (f *fake) DeleteSchedule(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteSchedule", ns, name))
}

func (f *fake) Schedule(ctx context.Context, ns, name string) (schedule.Schedule, error) {
	return reply[schedule.Schedule](ctx, f, "Schedule", ns, name)
}

func (f *fake) Schedules(ctx context.Context, q schedule.Filter) (core.Page[schedule.Schedule], error) {
	return reply[core.Page[schedule.Schedule]](ctx, f, "Schedules", q)
}

func (f *fake) PauseSchedule(ctx context.Context, ns, name, reason string) (schedule.Schedule, error) {
	return reply[schedule.Schedule](ctx, f, "PauseSchedule", ns, name, reason)
}

func (f *fake) ResumeSchedule(ctx context.Context, ns, name string, catchUp bool) (schedule.Schedule, error) {
	return reply[schedule.Schedule](ctx, f, "ResumeSchedule", ns, name, catchUp)
}

func (f *fake) TriggerSchedule(ctx context.Context, ns, name string, r job.RunNow) (job.Enqueued, error) {
	return reply[job.Enqueued](ctx, f, "TriggerSchedule", ns, name, r)
}

func (f *fake) Occurrences(ctx context.Context, q schedule.OccurrenceFilter) (core.Page[schedule.Occurrence], error) {
	return reply[core.Page[schedule.Occurrence]](ctx, f, "Occurrences", q)
}

func (f *fake) SaveCalendar(ctx context.Context, c schedule.Calendar) (schedule.Calendar, error) {
	return reply[schedule.Calendar](ctx, f, "SaveCalendar", c)
}

func (f *fake) DeleteCalendar(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteCalendar", ns, name))
}

func (f *fake) Calendar(ctx context.Context, ns, name string) (schedule.Calendar, error) {
	return reply[schedule.Calendar](ctx, f, "Calendar", ns, name)
}

func (f *fake) Calendars(ctx context.Context, q schedule.CalendarFilter) (core.Page[schedule.Calendar], error) {
	return reply[core.Page[schedule.Calendar]](ctx, f, "Calendars", q)
}

func (f *fake) StartBackfill(ctx context.Context, b schedule.Backfill) (schedule.Backfill, error) {
	return reply[schedule.Backfill](ctx, f, "StartBackfill", b)
}

func (f *fake) SetBackfill(ctx context.Context, ns string, id int64, state schedule.BackfillState) (schedule.Backfill, error) {
	return reply[schedule.Backfill](ctx, f, "SetBackfill", ns, id, state)
}

func (f *fake) Backfill(ctx context.Context, ns string, id int64) (schedule.Backfill, error) {
	return reply[schedule.Backfill](ctx, f, "Backfill", ns, id)
}

func (f *fake) Backfills(ctx context.Context, q schedule.BackfillFilter) (core.Page[schedule.Backfill], error) {
	return reply[core.Page[schedule.Backfill]](ctx, f, "Backfills", q)
}

func (f *fake) Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error) {
	return reply[schedule.Look](ctx, f, "Look", q)
}

func (f *fake) Upcoming(ctx context.Context, a schedule.Ahead) ([]schedule.Coming, error) {
	return reply[[]schedule.Coming](ctx, f, "Upcoming", a)
}

func (f *fake) Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error) {
	return reply[schedule.Forecast](ctx, f, "Forecast", a)
}

func (f *fake) Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error) {
	return reply[[]job.Enqueued](ctx, f, "Enqueue", ns)
}

func (f *fake) Job(ctx context.Context, ns string, id int64) (job.Job, error) {
	return reply[job.Job](ctx, f, "Job", ns, id)
}

func (f *fake) Jobs(ctx context.Context, q job.Filter) (core.Page[job.Job], error) {
	return reply[core.Page[job.Job]](ctx, f, "Jobs", q)
}

func (f *fake) CountJobs(ctx context.Context, q job.Filter, o view.CountOptions) (job.Count, error) {
	return reply[job.Count](ctx, f, "CountJobs", q, o)
}

func (f *fake) Overview(ctx context.Context, ns string) (view.Overview, error) {
	return reply[view.Overview](ctx, f, "Overview", ns)
}

func (f *fake) JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error) {
	return reply[[]job.MinuteTotals](ctx, f, "JobMinutes", q)
}

func (f *fake) Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error) {
	return reply[[]view.Strip](ctx, f, "Strips", q)
}

func (f *fake) ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error) {
	return reply[view.ScheduleDays](ctx, f, "ScheduleDays", q)
}

func (f *fake) QueueSamples(ctx context.Context, q job.SampleQuery) (job.Samples, error) {
	return reply[job.Samples](ctx, f, "QueueSamples", q)
}

func (f *fake) Titles(ctx context.Context, q view.Named) (view.Titles, error) {
	return reply[view.Titles](ctx, f, "Titles", q)
}

func (f *fake) TaskDays(ctx context.Context, q view.TaskDaysQuery) (view.TaskDaysFound, error) {
	return reply[view.TaskDaysFound](ctx, f, "TaskDays", q)
}

func (f *fake) LogText(ctx context.Context, ns string, id int64, q job.LogQuery) (job.LogText, error) {
	return reply[job.LogText](ctx, f, "LogText", ns, id, q)
}

func (f *fake) Attempts(ctx context.Context, ns string, id int64) ([]job.Attempt, error) {
	return reply[[]job.Attempt](ctx, f, "Attempts", ns, id)
}

func (f *fake) Outputs(ctx context.Context, ns string, id int64) ([]task.JobOutput, error) {
	return reply[[]task.JobOutput](ctx, f, "Outputs", ns, id)
}

func (f *fake) OutputLink(ctx context.Context, ns string, id int64, name string, lease int64) (task.SignedRequest, error) {
	return reply[task.SignedRequest](ctx, f, "OutputLink", ns, id, name, lease)
}

func (f *fake) DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error) {
	return reply[*task.SignedRequest](ctx, f, "DeclareOutput", session, ref, o)
}

func (f *fake) Steps(ctx context.Context, session string, ref job.Ref) (job.StepList, error) {
	return reply[job.StepList](ctx, f, "Steps", session, ref)
}

func (f *fake) SaveStep(ctx context.Context, session string, ref job.Ref, s job.NewStep) (job.SavedStep, error) {
	return reply[job.SavedStep](ctx, f, "SaveStep", session, ref, s)
}

func (f *fake) LinkSignal(ctx context.Context, session string, ref job.Ref, l job.Link) (job.NewLink, error) {
	return reply[job.NewLink](ctx, f, "LinkSignal", session, ref, l)
}

func (f *fake) MakeSignalLink(ctx context.Context, ns string, id int64, l job.Link) (job.NewLink, error) {
	return reply[job.NewLink](ctx, f, "MakeSignalLink", ns, id, l)
}

func (f *fake) DeleteSignalLinks(ctx context.Context, ns string, id int64, name string) (job.Unlinked, error) {
	return reply[job.Unlinked](ctx, f, "DeleteSignalLinks", ns, id, name)
}

func (f *fake) SaveProgress(ctx context.Context, session string, ps []job.AttemptProgress) error {
	return only(reply[api.None](ctx, f, "SaveProgress", session, ps))
}

func (f *fake) JobSteps(ctx context.Context, ns string, id int64) ([]job.Step, error) {
	return reply[[]job.Step](ctx, f, "JobSteps", ns, id)
}

func (f *fake) SignalJob(ctx context.Context, ns string, id int64, sig job.Signal) (job.SentSignal, error) {
	return reply[job.SentSignal](ctx, f, "SignalJob", ns, id, sig)
}

func (f *fake) ResetSteps(ctx context.Context, ns string, id int64, r job.StepReset) (int, error) {
	return reply[int](ctx, f, "ResetSteps", ns, id, r)
}

func (f *fake) Logs(ctx context.Context, ns string, id int64, q job.LogFilter) (core.Page[job.LogLine], error) {
	return reply[core.Page[job.LogLine]](ctx, f, "Logs", ns, id, q)
}

func (f *fake) CancelJobs(ctx context.Context, ns string, s view.Selection) (view.Selected, error) {
	return reply[view.Selected](ctx, f, "CancelJobs", ns, s)
}

func (f *fake) RetryJobs(ctx context.Context, ns string, s view.Selection) (view.Selected, error) {
	return reply[view.Selected](ctx, f, "RetryJobs", ns, s)
}

func (f *fake) RunJobAgain(ctx context.Context, ns string, id int64, r job.RunAgain) (job.Enqueued, error) {
	return reply[job.Enqueued](ctx, f, "RunJobAgain", ns, id, r)
}

func (f *fake) Why(ctx context.Context, ns string, id int64) (job.Why, error) {
	return reply[job.Why](ctx, f, "Why", ns, id)
}

func (f *fake) SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error) {
	return reply[job.Queue](ctx, f, "SaveQueue", q)
}

func (f *fake) DeleteQueue(ctx context.Context, name string) error {
	return only(reply[api.None](ctx, f, "DeleteQueue", name))
}

func (f *fake) Queue(ctx context.Context, name string) (job.QueueStats, error) {
	return reply[job.QueueStats](ctx, f, "Queue", name)
}

func (f *fake) Queues(ctx context.Context) ([]job.QueueStats, error) {
	return reply[[]job.QueueStats](ctx, f, "Queues")
}

func (f *fake) QueueList(ctx context.Context) ([]job.Queue, error) {
	return reply[[]job.Queue](ctx, f, "QueueList")
}

func (f *fake) PauseQueue(ctx context.Context, name, reason string) (job.Queue, error) {
	return reply[job.Queue](ctx, f, "PauseQueue", name, reason)
}

func (f *fake) ResumeQueue(ctx context.Context, name string) (job.Queue, error) {
	return reply[job.Queue](ctx, f, "ResumeQueue", name)
}

func (f *fake) Workers(ctx context.Context, ended bool) ([]job.WorkerState, error) {
	return reply[[]job.WorkerState](ctx, f, "Workers", ended)
}

func (f *fake) DrainWorker(ctx context.Context, session string) error {
	return only(reply[api.None](ctx, f, "DrainWorker", session))
}

func (f *fake) CreateToken(ctx context.Context, t access.Token) (access.Token, string, error) {
	made, err := reply[access.Token](ctx, f, "CreateToken", t)
	return made, "secret-of-it", err
}

func (f *fake) CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error) {
	made, err := reply[access.JoinToken](ctx, f, "CreateJoinToken", t)
	return made, "secret-of-it", err
}

func (f *fake) RevokeJoinToken(ctx context.Context, id int64) error {
	return only(reply[api.None](ctx, f, "RevokeJoinToken", id))
}

func (f *fake) JoinTokens(ctx context.Context) ([]access.JoinToken, error) {
	return reply[[]access.JoinToken](ctx, f, "JoinTokens")
}

func (f *fake) Join(ctx context.Context, secret, machine string) (access.Token, string, error) {
	made, err := reply[access.Token](ctx, f, "Join", secret, machine)
	return made, "secret-of-it", err
}

func (f *fake) RevokeToken(ctx context.Context, id int64) error {
	return only(reply[api.None](ctx, f, "RevokeToken", id))
}

func (f *fake) Tokens(ctx context.Context) ([]access.Token, error) {
	return reply[[]access.Token](ctx, f, "Tokens")
}

func (f *fake) Apply(ctx context.Context, m view.Manifest, o wire.ApplyOptions) (view.Applied, error) {
	return reply[view.Applied](ctx, f, "Apply", m, o)
}

func (f *fake) Export(ctx context.Context, ns string) (view.Manifest, error) {
	return reply[view.Manifest](ctx, f, "Export", ns)
}

func (f *fake) ExportParts(ns string, first int) func(ctx context.Context) (view.Manifest, bool, error) {
	if f.firsts != nil {
		f.firsts <- first
	}
	if f.parts != nil {
		return f.parts
	}
	return func(ctx context.Context) (view.Manifest, bool, error) {
		m, err := f.Export(ctx, ns)
		return m, false, err
	}
}

func (f *fake) Audit(ctx context.Context, q access.AuditFilter) (core.Page[access.Audit], error) {
	return reply[core.Page[access.Audit]](ctx, f, "Audit", q)
}

func (f *fake) Events(ctx context.Context, ns, cursor string, wait time.Duration) ([]view.Event, string, error) {
	e, err := reply[wire.EventPage](ctx, f, "Events", ns, cursor, wait)
	return e.Events, e.Next, err
}

func (f *fake) Health(ctx context.Context) (view.Health, error) {
	return reply[view.Health](ctx, f, "Health")
}

func (f *fake) DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error) {
	return reply[view.DatabaseHealth](ctx, f, "DatabaseHealth")
}

func (f *fake) OpenSession(ctx context.Context, w job.WorkerInfo) (job.Session, error) {
	return reply[job.Session](ctx, f, "OpenSession", w)
}

func (f *fake) Claim(ctx context.Context, c job.ClaimRequest) (job.Claim, error) {
	return reply[job.Claim](ctx, f, "Claim", c)
}

func (f *fake) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	return reply[job.Renewal](ctx, f, "Renew", session, has)
}

func (f *fake) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	return reply[[]job.Finished](ctx, f, "Finish", session, fs)
}

func (f *fake) Append(ctx context.Context, session string, ls []job.LogPiece) error {
	return only(reply[api.None](ctx, f, "Append", session, ls))
}

func (f *fake) CloseSession(ctx context.Context, session string) error {
	return only(reply[api.None](ctx, f, "CloseSession", session))
}

// tokens knows secrets by what they are called.
type tokens struct {
	mu     sync.Mutex
	known  map[string]access.Token
	err    error
	looked int

	sessions map[string]int64 // IDs of the tokens that opened them
}

func (k *tokens) Authenticate(_ context.Context, secret string) (access.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked++
	if k.err != nil {
		return access.Token{}, k.err
	}
	t, ok := k.known[secret]
	if !ok {
		return t, core.Errorf(core.Unauthorized, "the token is unknown")
	}
	return t, nil
}

// SessionOwner answers what a test has set.
func (k *tokens) SessionOwner(_ context.Context, session string) (int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, known := k.sessions[session]; known {
		return id, nil
	}
	return 0, core.Errorf(core.NotFound, "no session %q", session)
}

func (k *tokens) set(secret string, t access.Token) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[secret] = t
}

func (k *tokens) looks() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.looked
}

// bench is a server on a real socket with a client of it.
type bench struct {
	*fake
	tokens *tokens
	server *Server
	url    string
	client *client.Client
	cut    func() // breaks every connection
	http   *http.Client
	logged *logged
}

// logged keeps what was logged.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func setup(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{
		fake: &fake{on: map[string]func(context.Context, []any) (any, error){}, seen: map[string]int{}, next: make(chan struct{})},
		tokens: &tokens{known: map[string]access.Token{
			"root":   {ID: 1, Name: "root", Namespace: "*", Scopes: access.Scopes},
			"team":   {ID: 2, Name: "team", Namespace: "team-a", Scopes: access.Scopes},
			"reader": {ID: 3, Name: "reader", Namespace: "*", Scopes: []access.Scope{access.ScopeRead}},
		}},
		logged: &logged{},
		http:   &http.Client{Transport: &http.Transport{}, CheckRedirect: refuseRedirect},
	}
	o := Options{
		Service: b.fake, Auth: b.tokens, Version: "test", Prober: b.fake, Notifier: b.fake, Secrets: b.fake, PublicURL: "https://belfry.example",
		Logger: slog.New(slog.NewTextHandler(b.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if b.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	b.server.api.Beat, b.server.api.Look, b.server.api.Health = 5*time.Millisecond, time.Millisecond, time.Hour
	b.url, b.cut = listen(t, b.server)
	b.client = b.as(t, "root")
	t.Cleanup(b.http.CloseIdleConnections)
	return b
}

// breakable is a listener whose connections can be broken.
type breakable struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *breakable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *breakable) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// listen serves on a free port until the test ends.
func listen(t *testing.T, s *Server) (url string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h, b := s.HTTPServer(""), &breakable{Listener: l}
	done := make(chan error, 1)
	go func() { done <- h.Serve(b) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
			_ = h.Close()
		}
		<-done
	})
	return "http://" + l.Addr().String(), b.cut
}

func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// as is a client with another token.
func (b *bench) as(t *testing.T, secret string) *client.Client {
	t.Helper()
	c, err := client.New(b.url, secret, client.Options{RetryWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// raw sends a request as it stands and answers with status, headers and body.
func (b *bench) raw(t *testing.T, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer root")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// refused sends a request that must fail, and reads the problem.
var goList = regexp.MustCompile(`\[[a-z_]+( [a-z_]+)+\]`)

func (b *bench) refused(t *testing.T, status int, method, path, body string, headers ...string) wire.Problem {
	t.Helper()
	got, h, text := b.raw(t, method, path, body, headers...)
	if got != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, got, status, text)
	}
	if h.Get("Content-Type") != wire.ProblemType {
		t.Errorf("%s %s: content type %q", method, path, h.Get("Content-Type"))
	}
	var p wire.Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	if p.Status != status || p.Title == "" || p.Type != "urn:belfry:error:"+string(p.Code) || p.RequestID == "" || p.RequestID != h.Get("X-Request-Id") {
		t.Errorf("%s %s: an odd problem: %s", method, path, text)
	}
	if list := goList.FindString(text); list != "" {
		t.Errorf("%s %s: %s is a list as Go prints it: %s", method, path, list, text)
	}
	return p
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("%s:\n got %T %s\nwant %T %s", what, got, g, want, w)
	}
}

func stripped(prefix string, h http.Handler) http.Handler { return http.StripPrefix(prefix, h) }

// within is a client that calls without a socket.
func (b *bench) within(t *testing.T, secret string) *client.Client {
	t.Helper()
	c, err := client.New("http://any.name", secret, client.Options{Transport: b.server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open begins a stream.
func (b *bench) open(t *testing.T, path string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", b.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer root")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != wire.SseType {
		resp.Body.Close()
		t.Fatalf("%s: %s %s", path, resp.Status, resp.Header.Get("Content-Type"))
	}
	return resp
}
