package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// checker is a bench with a worker for checks.
type checker struct {
	*bench
	session job.Session
}

func (b *bench) checker() checker {
	b.Helper()
	return checker{b, must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "checker", Kinds: []task.Kind{task.KindHTTP, task.KindCommand, task.KindPage}, Queues: map[string]int{task.ChecksQueue: 50},
		TTL: job.MaxSessionTTL,
	}))(b)}
}

// monitor saves a monitor with a check every minute.
func (b *bench) monitor(name string, change ...func(*monitor.Monitor)) view.MonitorView {
	b.Helper()
	m := monitor.Monitor{Name: name, Check: task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}}
	for _, fn := range change {
		fn(&m)
	}
	return must(b.st.CreateMonitor(b.ctx, m))(b)
}

func (w checker) look(name string) view.MonitorView {
	w.Helper()
	return must(w.st.Monitor(w.ctx, "default", name))(w)
}

// checks claims the waiting checks.
func (w checker) checks() []job.LeasedJob {
	w.Helper()
	return must(w.st.Claim(w.ctx, job.ClaimRequest{Session: w.session.ID, Want: map[string]int{task.ChecksQueue: 50}}))(w).Jobs
}

// turn moves the clock to the next check of a monitor, planned or confirming, and settles the check with a result.
func (w checker) turn(name string, m task.CheckResult) view.MonitorView {
	w.Helper()
	for range 10 {
		w.fire()
		w.promote()
		if jobs := w.checks(); len(jobs) > 0 {
			for _, j := range jobs {
				if got := w.finish(w.session, j, job.OutcomeOK, func(f *job.Finish) { f.Check = &m }); got.Stale {
					w.Fatal("the finish of the check was stale")
				}
			}
			return w.look(name)
		}
		w.clock.Move(w.nextCheck(name).Sub(w.clock.Now()))
	}
	w.Fatal("no check was claimed")
	return view.MonitorView{}
}

// nextCheck returns the time of the next due check of a monitor.
func (w checker) nextCheck(name string) time.Time {
	w.Helper()
	at := w.look(name).NextAt
	if due := w.count(`select coalesce(min(due_at), 0) from belfry.jobs where task = $1 and state = 'scheduled'`, "monitor:"+name); due > 0 && time.UnixMicro(due).Before(at) {
		at = time.UnixMicro(due)
	}
	return at
}

var (
	passed = task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(80 * time.Millisecond), Status: 200}
	failed = task.CheckResult{Outcome: task.CheckFail, Code: task.CodeStatus, Message: "got 503", Status: 503, Snapshot: &task.Snapshot{Status: "503", Body: "sorry"}}
	ours   = task.CheckResult{Outcome: task.CheckError, Code: task.CodeBlocked, Message: "not allowed"}
)

func (w checker) results(name string) []view.MonitorResult {
	w.Helper()
	return must(w.st.Results(w.ctx, view.ResultFilter{Monitor: name, Paging: core.Paging{Limit: 1000}}))(w).Items
}

func (w checker) incidents(name string) []monitor.Incident {
	w.Helper()
	return must(w.st.Incidents(w.ctx, view.IncidentFilter{Monitor: name}))(w).Items
}

func init() {
	add("a heartbeat takes the token of another tool, which is for one monitor", caseAHeartbeatTakesTheTokenOfAnotherTool)
	add("a check leaves a result and a verdict, and no finished job", caseACheckLeavesAResultAndAVerdict)
	add("a target is down when failures are confirmed, from the first of them on, and up again likewise", caseATargetIsDownWhenFailuresAreConfirmed)
	add("a first check that is still to come does not hold up a confirming one", caseAFirstCheckDoesNotHoldUpAConfirmingOne)
	add("our own faults never make a target down", caseOurOwnFaultsNeverMakeATargetDown)
	add("a check is settled once, and a stale one changes nothing", caseACheckIsSettledOnce)
	add("a command's end is a check's outcome", caseACommandsEndIsAChecksOutcome)
	add("a paused monitor is not checked, its time does not count, and it goes on by itself", caseAPausedMonitorIsNotChecked)
	add("each call of a heartbeat has a result, also those of one instant", caseEachCallOfAHeartbeatHasAResult)
	add("a heartbeat that does not come is down, and one that was never called is new", caseAHeartbeatThatDoesNotComeIsDown)
	add("the schedule and task of a monitor are changed only through it", caseTheScheduleOfAMonitorIsChangedThroughIt)
	add("an edit of a monitor keeps its verdict and moves its checks", caseAnEditOfAMonitorKeepsItsVerdictAnd)
	add("a definition that was read can be changed in place and saved", caseADefinitionCanBeChangedInPlace)
	add("a monitor that is pointed at something else is checked soon, once", caseAMonitorThatIsPointedAtSomethingElseIs)
	add("secrets of a check are kept when what was shown is saved again", caseSecretsOfACheckAreKeptWhenWhatWas)
	add("a manifest holds monitors and what goes with them, and applied twice changes nothing", caseAManifestHoldsMonitorsAndWhatGoesWithThem)
}

func caseAHeartbeatTakesTheTokenOfAnotherTool(b *bench) {
	digest, other := monitor.PushDigest("token"), monitor.ExternalDigest("core_backup", "token")
	beat := func(m *monitor.Monitor) { m.Check, m.Heartbeat = task.Task{}, &monitor.Heartbeat{TokenDigest: digest} }
	v := b.monitor("backup", beat)
	out := must(b.st.Beat(b.ctx, digest, monitor.Call{Kind: monitor.CallSuccess}))(b)
	want(b, "monitor", out.Monitor, "backup")
	out = must(b.st.Beat(b.ctx, strings.TrimPrefix(v.Beat, "/beat/"), monitor.Call{Kind: monitor.CallSuccess}))(b)
	want(b, "monitor of the heartbeat", out.Monitor, "backup")
	wantCode(b, second(b.st.Beat(b.ctx, other, monitor.Call{Kind: monitor.CallSuccess})), core.NotFound)
	twin := monitor.Monitor{Name: "twin", Heartbeat: &monitor.Heartbeat{TokenDigest: digest}}
	wantCode(b, second(b.st.CreateMonitor(b.ctx, twin)), core.Invalid, "heartbeat.token_digest")
	twin.Heartbeat.TokenDigest = "token"
	wantCode(b, second(b.st.CreateMonitor(b.ctx, twin)), core.Invalid, "heartbeat.token_digest")
	m := v.Monitor
	m.Heartbeat.TokenDigest = other
	must(b.st.UpdateMonitor(b.ctx, m))(b)
	wantCode(b, second(b.st.Beat(b.ctx, digest, monitor.Call{Kind: monitor.CallSuccess})), core.NotFound)
	must(b.st.Beat(b.ctx, other, monitor.Call{Kind: monitor.CallSuccess}))(b)
	ok(b, b.st.DeleteMonitor(b.ctx, "default", "backup"))
	twin.Heartbeat.TokenDigest = other
	must(b.st.CreateMonitor(b.ctx, twin))(b)
}

func caseACheckLeavesAResultAndAVerdict(b *bench) {
	w := b.checker()
	v := b.monitor("site")
	want(b, "status", v.Status, monitor.StatusNew)
	if v.NextAt.IsZero() || v.NextAt.After(Epoch.Add(time.Minute)) {
		b.Fatalf("next check: got %s, want it within a minute", v.NextAt)
	}
	v = w.turn("site", passed)
	want(b, "status", v.Status, monitor.StatusUp)
	want(b, "finished jobs", b.count(`select count(*) from belfry.jobs_done`), 0)
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
	want(b, "leases", b.count(`select count(*) from belfry.leases`), 0)
	want(b, "occurrences", b.count(`select count(*) from belfry.occurrences`), 0)
	rs := w.results("site")
	if len(rs) != 1 || rs[0].Outcome != task.CheckOK || rs[0].Latency != passed.Latency || rs[0].Status != 200 || rs[0].JobID == 0 {
		b.Fatalf("results: got %+v, want 1 that is ok", rs)
	}
	want(b, "tasks listed", len(must(b.st.Tasks(b.ctx, task.Filter{}))(b).Items), 0)
	want(b, "schedules listed", len(must(b.st.Schedules(b.ctx, schedule.Filter{}))(b).Items), 0)
}

func caseATargetIsDownWhenFailuresAreConfirmed(b *bench) {
	w := b.checker()
	b.monitor("site")
	w.turn("site", passed)
	v := w.turn("site", failed)
	want(b, "verdict", v.State.Verdict, monitor.VerdictConfirming)
	want(b, "status", v.Status, monitor.StatusUp)
	first := w.results("site")[0].At
	want(b, "jobs that confirm", b.count(`select count(*) from belfry.jobs`), 1)
	v = w.turn("site", failed)
	want(b, "status", v.Status, monitor.StatusDown)
	if got := w.results("site")[0].At.Sub(first); got >= time.Minute {
		b.Fatalf("time to confirm: got %s, want less than a minute", got)
	}
	is := w.incidents("site")
	if len(is) != 1 || !is[0].StartedAt.Equal(first) || is[0].Code != task.CodeStatus || is[0].Snapshot == nil || is[0].Snapshot.Body != "sorry" || !is[0].EndedAt.IsZero() {
		b.Fatalf("incidents: got %+v, want 1 open since the first failure, with its answer", is)
	}
	want(b, "open incident", v.State.Incident, is[0].ID)
	w.turn("site", passed)
	ended := w.results("site")[0].At
	v = w.turn("site", passed)
	want(b, "status", v.Status, monitor.StatusUp)
	is = w.incidents("site")
	if len(is) != 1 || !is[0].EndedAt.Equal(ended) || is[0].EndedBy != "recovered" {
		b.Fatalf("incidents: got %+v, want 1 that has recovered", is)
	}
	var down time.Duration
	for _, u := range must(b.st.Uptime(b.ctx, "default", "site"))(b).Spans {
		if u.Name == "24h" {
			down = u.Down.D()
		}
	}
	want(b, "time down", down, ended.Sub(first))
}

func caseAFirstCheckDoesNotHoldUpAConfirmingOne(b *bench) {
	w := b.checker()
	b.monitor("site", func(m *monitor.Monitor) {
		m.Every, m.Confirm.Retry = core.Duration(6*time.Hour), core.Duration(time.Second)
	})
	first := w.nextCheck("site")
	want(b, "the first check comes within 30 s", first.Sub(b.clock.Now()) <= 30*time.Second, true)
	must(b.st.CheckMonitor(b.ctx, "default", "site"))(b)
	w.turn("site", failed)
	want(b, "the confirming check", w.nextCheck("site"), b.clock.Now().Add(time.Second))
	want(b, "status", w.turn("site", failed).Status, monitor.StatusDown)
	want(b, "incidents", len(w.incidents("site")), 1)
}

func caseOurOwnFaultsNeverMakeATargetDown(b *bench) {
	w := b.checker()
	b.monitor("site")
	w.turn("site", passed)
	for range 5 {
		w.turn("site", ours)
	}
	v := w.look("site")
	want(b, "status", v.Status, monitor.StatusUp)
	want(b, "stale", v.State.Stale, true)
	// A worker is lost during a check.
	b.clock.Move(w.nextCheck("site").Sub(b.clock.Now()))
	w.fire()
	want(b, "checks", len(w.checks()), 1)
	b.clock.Move(job.MaxSessionTTL.D() + job.LostGrace + time.Second)
	b.release()
	want(b, "code", w.results("site")[0].Code, task.CodeLost)
	want(b, "status", w.look("site").Status, monitor.StatusUp)
	w.session = b.checker().session
	v = w.turn("site", passed)
	want(b, "stale", v.State.Stale, false)
}

func caseACheckIsSettledOnce(b *bench) {
	w := b.checker()
	b.monitor("site")
	b.clock.Move(time.Minute)
	w.fire()
	j := w.checks()[0]
	with := func(m task.CheckResult) func(*job.Finish) { return func(f *job.Finish) { f.Check = &m } }
	want(b, "stale", w.finish(w.session, j, job.OutcomeOK, with(passed)).Stale, false)
	want(b, "stale", w.finish(w.session, j, job.OutcomeOK, with(failed)).Stale, true)
	want(b, "results", len(w.results("site")), 1)
	// A job that no monitor requested is an ordinary job.
	b.task("plain")
	s := b.session("plain")
	plain := b.enqueue(job.NewJob{Task: "plain"})
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK, with(failed))
	b.wantState(plain.ID, job.Succeeded)
}

func caseACommandsEndIsAChecksOutcome(b *bench) {
	w := b.checker()
	b.monitor("disk", func(m *monitor.Monitor) { m.Check = task.Task{Command: &task.Command{Shell: "df"}} })
	for _, step := range []struct {
		outcome job.Outcome
		status  monitor.Status
	}{{job.OutcomeOK, monitor.StatusUp}, {job.OutcomeError, monitor.StatusUp}, {job.OutcomeError, monitor.StatusDown}, {job.OutcomeOK, monitor.StatusDown}, {job.OutcomeOK, monitor.StatusUp}} {
		b.clock.Move(w.nextCheck("disk").Sub(b.clock.Now()))
		w.fire()
		w.promote()
		check := w.checks()[0]
		ok(b, b.st.Append(b.ctx, w.session.ID, []job.LogPiece{{Ref: refOf(check), Stream: job.Stdout, At: b.clock.Now(), Text: "it writes this"}}))
		w.finish(w.session, check, step.outcome)
		want(b, fmt.Sprintf("status after %s", step.outcome), w.look("disk").Status, step.status)
		for _, table := range []string{"jobs_done", "attempts", "leases", "logs"} {
			want(b, fmt.Sprintf("rows of %s after %s", table, step.outcome), b.count(`select count(*) from belfry.`+table), 0)
		}
	}
	want(b, "results", len(w.results("disk")), 5)
	if got := w.results("disk")[2]; got.Outcome != task.CheckFail || got.Code != task.CodeReported {
		b.Errorf("result of a failed command: got %+v, want a reported failure", got)
	}
}

func caseAPausedMonitorIsNotChecked(b *bench) {
	w := b.checker()
	b.monitor("site")
	w.turn("site", passed)
	w.turn("site", failed) // leaves a confirming job behind
	v := must(b.st.PauseMonitor(b.ctx, "default", "site", b.clock.Now().Add(time.Hour), "moving"))(b)
	want(b, "status", v.Status, monitor.StatusPaused)
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
	b.clock.Move(30 * time.Minute)
	must(b.st.LapseMonitors(b.ctx))(b)
	w.fire()
	w.promote()
	want(b, "checks while paused", len(w.checks()), 0)
	b.clock.Move(31 * time.Minute)
	must(b.st.LapseMonitors(b.ctx))(b)
	want(b, "status", w.look("site").Status, monitor.StatusNew)
	want(b, "status", w.turn("site", passed).Status, monitor.StatusUp)
	u := must(b.st.Uptime(b.ctx, "default", "site"))(b).Spans[0]
	if u.Down != 0 || u.Paused.D() < time.Hour-time.Second || u.Paused.D() > time.Hour+2*time.Minute {
		b.Fatalf("uptime: got %+v, want an hour of pause and no downtime", u)
	}
	must(b.st.PauseMonitor(b.ctx, "default", "site", time.Time{}, ""))(b)
	_, err := b.st.CheckMonitor(b.ctx, "default", "site")
	wantCode(b, err, core.Conflict, "paused")
	must(b.st.ResumeMonitor(b.ctx, "default", "site"))(b)
	must(b.st.CheckMonitor(b.ctx, "default", "site"))(b)
	want(b, "checks asked for", len(w.checks()), 1)
	_, err = b.st.PauseMonitor(b.ctx, "default", "site", Epoch, "")
	wantCode(b, err, core.Invalid, "until", "has passed")
}

func caseAHeartbeatThatDoesNotComeIsDown(b *bench) {
	w := b.checker()
	v := b.monitor("backup", func(m *monitor.Monitor) {
		m.Check, m.Heartbeat, m.Every = task.Task{}, &monitor.Heartbeat{}, core.Duration(time.Hour)
	})
	key := strings.TrimPrefix(v.Beat, "/beat/")
	want(b, "length of the key", len(key), 32)
	b.clock.Move(3 * time.Hour)
	must(b.st.LapseMonitors(b.ctx))(b)
	want(b, "status", w.look("backup").Status, monitor.StatusNew)
	want(b, "status", must(b.st.Beat(b.ctx, key, monitor.Call{Kind: monitor.CallSuccess}))(b).Status, monitor.StatusUp)
	next := must(b.st.LapseMonitors(b.ctx))(b).NextAt
	b.clock.Move(next.Sub(b.clock.Now()))
	must(b.st.LapseMonitors(b.ctx))(b)
	want(b, "status", w.look("backup").Status, monitor.StatusDown)
	want(b, "code", w.results("backup")[0].Code, task.CodeMissed)
	must(b.st.Beat(b.ctx, strings.ToUpper(key), monitor.Call{Kind: monitor.CallStart}))(b)
	b.clock.Move(90 * time.Second)
	want(b, "status", must(b.st.Beat(b.ctx, key, monitor.Call{Kind: monitor.CallSuccess, Message: "12 files"}))(b).Status, monitor.StatusUp)
	r := w.results("backup")[0]
	if r.Latency.D() != 90*time.Second || r.Message != "12 files" {
		b.Fatalf("result: got %+v, want the duration and the message of the call", r)
	}
	three := 3
	want(b, "status", must(b.st.Beat(b.ctx, key, monitor.Call{Kind: monitor.CallSuccess, ExitCode: &three}))(b).Status, monitor.StatusDown)
	_, err := b.st.Beat(b.ctx, "nobody", monitor.Call{Kind: monitor.CallSuccess})
	wantCode(b, err, core.NotFound)
	_, err = b.st.CheckMonitor(b.ctx, "default", "backup")
	wantCode(b, err, core.Conflict, "heartbeat")
}

func caseEachCallOfAHeartbeatHasAResult(b *bench) {
	w := b.checker()
	v := b.monitor("backup", func(m *monitor.Monitor) {
		m.Check, m.Heartbeat, m.Every = task.Task{}, &monitor.Heartbeat{}, core.Duration(time.Hour)
	})
	key := strings.TrimPrefix(v.Beat, "/beat/")
	one := 1
	calls := []monitor.Call{
		{Kind: monitor.CallSuccess}, {Kind: monitor.CallFail, ExitCode: &one}, {Kind: monitor.CallLog}, {Kind: monitor.CallLog}, {Kind: monitor.CallSuccess},
	}
	var said []string
	for i, call := range calls {
		call.Message = fmt.Sprint("call ", i)
		must(b.st.Beat(b.ctx, key, call))(b)
	}
	for _, r := range w.results("backup") {
		said = append(said, r.Message)
	}
	want(b, "results", strings.Join(said, "; "), "call 4; call 3; call 2; the call said that it ended with exit code 1: call 1; call 0")
}

func caseTheScheduleOfAMonitorIsChangedThroughIt(b *bench) {
	b.monitor("site")
	for _, err := range []error{
		second(b.st.PauseSchedule(b.ctx, "default", "monitor:site", "")), second(b.st.ResumeSchedule(b.ctx, "default", "monitor:site", false)),
		second(b.st.TriggerSchedule(b.ctx, "default", "monitor:site", job.RunNow{})), b.st.DeleteSchedule(b.ctx, "default", "monitor:site"),
		second(b.st.UpdateSchedule(b.ctx, schedule.Schedule{Name: "monitor:site", Task: "x"})), b.st.DeleteTask(b.ctx, "default", "monitor:site"),
	} {
		wantCode(b, err, core.Conflict, `belongs to monitor "site"`)
	}
	wantCode(b, second(b.st.CreateTask(b.ctx, task.Task{Name: "monitor:x"})), core.Invalid, "name")
	wantCode(b, second(b.st.Enqueue(b.ctx, []job.NewJob{{Task: "monitor:site"}})), core.Invalid, "task")
	ok(b, b.st.DeleteMonitor(b.ctx, "default", "site"))
	want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 0)
	want(b, "schedules", b.count(`select count(*) from belfry.schedules`), 0)
	want(b, "spans", b.count(`select count(*) from belfry.spans`), 0)
	wantCode(b, second(b.st.Monitor(b.ctx, "default", "site")), core.NotFound, "site")
	b.monitor("site")
}

func caseAnEditOfAMonitorKeepsItsVerdictAnd(b *bench) {
	w := b.checker()
	b.monitor("site")
	w.turn("site", passed)
	m := w.look("site").Monitor
	m.Every = core.Duration(5 * time.Minute)
	m.Description = "slower"
	v := must(b.st.UpdateMonitor(b.ctx, m))(b)
	want(b, "status", v.Status, monitor.StatusUp)
	want(b, "generation", v.Generation, 2)
	want(b, "generation", must(b.st.UpdateMonitor(b.ctx, m))(b).Generation, 2)
	if s := b.get("monitor:site"); s.Rules[0].Every != m.Every {
		b.Fatalf("schedule: got %+v, want the new interval", s)
	}
	wantCode(b, second(b.st.UpdateMonitor(b.ctx, monitor.Monitor{Name: "site", Heartbeat: &monitor.Heartbeat{}})), core.Invalid, "heartbeat")
	wantCode(b, second(b.st.CreateMonitor(b.ctx, m)), core.Conflict, "site")
	wantCode(b, second(b.st.UpdateMonitor(b.ctx, monitor.Monitor{Name: "other", Heartbeat: &monitor.Heartbeat{}})), core.NotFound, "other")
	wantCode(b, second(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "child", Heartbeat: &monitor.Heartbeat{}, DependsOn: []string{"none"}})), core.Invalid, "depends_on[0]")
	b.monitor("child", func(m *monitor.Monitor) { m.DependsOn = []string{"site"} })
	wantCode(b, b.st.DeleteMonitor(b.ctx, "default", "site"), core.Conflict, "child")
}

func caseADefinitionCanBeChangedInPlace(b *bench) {
	b.task("t", func(t *task.Task) { t.Kind, t.HTTP = task.KindHTTP, &task.HTTP{URL: "https://example.org/"} })
	b.monitor("site")
	for i := range 3 {
		url := fmt.Sprintf("https://example.org/%d", i)
		t := must(b.st.Task(b.ctx, "default", "t"))(b)
		t.HTTP.URL = url
		want(b, "generation", must(b.st.UpdateTask(b.ctx, t))(b).Generation, int64(i+2))
		m := must(b.st.Monitor(b.ctx, "default", "site"))(b).Monitor
		m.Check.HTTP.URL = url
		want(b, "generation", must(b.st.UpdateMonitor(b.ctx, m))(b).Generation, int64(i+2))
	}
}

func caseAMonitorThatIsPointedAtSomethingElseIs(b *bench) {
	w := b.checker()
	b.monitor("site", func(m *monitor.Monitor) { m.Every = core.Duration(6 * time.Hour) })
	w.turn("site", passed)
	m := w.look("site").Monitor
	for _, url := range []string{"https://other.example.org/", "https://third.example.org/"} {
		m.Check.HTTP.URL = url
		v := must(b.st.UpdateMonitor(b.ctx, m))(b)
		want(b, "status", v.Status, monitor.StatusNew)
		want(b, "next check is within 31s", v.NextAt.Sub(b.clock.Now()) <= 31*time.Second, true)
	}
	b.clock.Move(31 * time.Second)
	w.fire()
	w.promote()
	jobs := w.checks()
	want(b, "checks", len(jobs), 1)
	want(b, "address of the claimed check", jobs[0].Task.HTTP.URL, "https://third.example.org/")
}

func caseSecretsOfACheckAreKeptWhenWhatWas(b *bench) {
	v := b.monitor("site", func(m *monitor.Monitor) { m.Check.HTTP.Auth = &task.HTTPAuth{User: "ann", Password: "hush"} })
	want(b, "shown", v.Check.HTTP.Auth.Password, core.Redacted)
	v.Monitor.Description = "new"
	must(b.st.UpdateMonitor(b.ctx, v.Monitor))(b)
	want(b, "kept", must(b.st.CheckOf(b.ctx, "default", "site"))(b).HTTP.Auth.Password, core.Secret("hush"))
	want(b, "rows of the audit that show it", b.count(`select count(*) from belfry.audit where coalesce(after, '') like '%hush%' or coalesce(before, '') like '%hush%'`), 0)
	w := b.checker()
	b.clock.Move(time.Minute)
	w.fire()
	want(b, "given to the worker", w.checks()[0].Task.HTTP.Auth.Password, core.Secret("hush"))
}

func caseAManifestHoldsMonitorsAndWhatGoesWithThem(b *bench) {
	m := view.Manifest{
		Channels:    []alert.Channel{{Name: "hook", Webhook: &alert.WebhookChannel{URL: "https://example.org/hook", Secret: "hush"}}},
		AlertRules:  []alert.Rule{{Name: "all", Channels: []string{"hook"}}},
		Windows:     []monitor.Window{{Name: "sunday", Title: "Неделя", Rules: []schedule.Rule{{Cron: "0 3 * * SUN"}}, Lasts: core.Duration(time.Hour)}},
		StatusPages: []public.StatusPage{{Name: "public"}},
		Monitors: []monitor.Monitor{
			{Name: "child", Check: task.Task{HTTP: &task.HTTP{URL: "https://example.org/a", Auth: &task.HTTPAuth{Bearer: "hush"}}}, DependsOn: []string{"parent"}},
			{Name: "parent", Public: true, Heartbeat: &monitor.Heartbeat{}, Every: core.Duration(time.Hour)},
		},
	}
	actions := func(a view.Applied) (out string) {
		for _, c := range a.Changes {
			out += string(c.Action) + " " + c.Noun + " " + c.Name + "\n"
		}
		return out
	}
	want(b, "first", actions(must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b)),
		"create channel hook\ncreate alert_rule all\ncreate monitor parent\ncreate monitor child\ncreate window sunday\ncreate status_page public\n")
	if board := must(b.st.Board(b.ctx, "default", "public"))(b); len(board.Windows) == 0 || board.Windows[0].Title != "Неделя" {
		b.Errorf("the status page has the windows %+v", board.Windows)
	}
	kept := "keep channel hook\nkeep alert_rule all\nkeep monitor parent\nkeep monitor child\nkeep window sunday\nkeep status_page public\n"
	want(b, "second", actions(must(b.st.Apply(b.ctx, m, view.ApplyOptions{Prune: true}))(b)), kept)
	export := must(b.st.Export(b.ctx, "default"))(b)
	export.Queues = nil
	if s := fmt.Sprintf("%+v", export); strings.Contains(s, "hush") || len(export.Monitors) != 2 || len(export.Tasks)+len(export.Schedules) != 0 {
		b.Fatalf("export: got %s, want 2 monitors without secrets", s)
	}
	again := must(b.st.Apply(b.ctx, export, view.ApplyOptions{}))(b)
	if s := actions(again); strings.Contains(s, "update") || strings.Contains(s, "create") {
		b.Fatalf("plan of the export: got changes\n%+v", again.Changes)
	}
	m.Channels[0].Webhook = &alert.WebhookChannel{URL: "https://example.org/hook", Secret: "other"}
	changes := must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b).Changes
	if changes[0].Action != view.ActionUpdate || strings.Contains(fmt.Sprint(changes), "other") {
		b.Fatalf("change: got %+v, want an update without the secret", changes[0])
	}
	wantCode(b, b.st.DeleteChannel(b.ctx, "default", "hook"), core.Conflict, "all")
	bad := view.Manifest{AlertRules: []alert.Rule{{Name: "x", Channels: []string{"none"}}}}
	wantCode(b, second(b.st.Apply(b.ctx, bad, view.ApplyOptions{})), core.Invalid, "alert_rules[0].channels[0]", "none")
	gone := actions(must(b.st.Apply(b.ctx, view.Manifest{}, view.ApplyOptions{Prune: true}))(b))
	want(b, "pruned", gone, "delete monitor child\ndelete monitor parent\ndelete status_page public\ndelete window sunday\ndelete alert_rule all\ndelete channel hook\n")
}
