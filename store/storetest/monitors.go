package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// checker is a bench with a worker for checks.
type checker struct {
	*bench
	session belfry.Session
}

func (b *bench) checker() checker {
	b.Helper()
	return checker{b, must(b.st.OpenSession(b.ctx, belfry.WorkerInfo{
		Name: "checker", Kinds: []belfry.Kind{belfry.KindHTTP, belfry.KindCommand, belfry.KindPage}, Queues: map[string]int{belfry.ChecksQueue: 50},
		TTL: belfry.MaxSessionTTL,
	}))(b)}
}

// monitor saves a monitor that checks every minute.
func (b *bench) monitor(name string, change ...func(*belfry.Monitor)) belfry.MonitorView {
	b.Helper()
	m := belfry.Monitor{Name: name, Check: belfry.Task{HTTP: &belfry.HTTP{URL: "https://example.org/"}}}
	for _, fn := range change {
		fn(&m)
	}
	return must(b.st.CreateMonitor(b.ctx, m))(b)
}

func (w checker) look(name string) belfry.MonitorView {
	w.Helper()
	return must(w.st.Monitor(w.ctx, "default", name))(w)
}

// checks claims what checks there are.
func (w checker) checks() []belfry.LeasedJob {
	w.Helper()
	return must(w.st.Claim(w.ctx, belfry.ClaimRequest{Session: w.session.ID, Want: map[string]int{belfry.ChecksQueue: 50}}))(w).Jobs
}

// turn moves the clock to the next check of a monitor, whether planned or to
// confirm, and settles it with what it saw.
func (w checker) turn(name string, m belfry.Measure) belfry.MonitorView {
	w.Helper()
	for range 10 {
		w.fire()
		w.promote()
		if jobs := w.checks(); len(jobs) > 0 {
			for _, j := range jobs {
				if got := w.finish(w.session, j, belfry.OutcomeOK, func(f *belfry.Finish) { f.Check = &m }); got.Stale {
					w.Fatal("the finish was stale")
				}
			}
			return w.look(name)
		}
		w.clock.Move(w.nextCheck(name).Sub(w.clock.Now()))
	}
	w.Fatal("no check came")
	return belfry.MonitorView{}
}

// nextCheck is when something is due for a monitor.
func (w checker) nextCheck(name string) time.Time {
	w.Helper()
	at := w.look(name).NextAt
	if due := w.count(`select coalesce(min(due_at), 0) from belfry.jobs where task = $1 and state = 'scheduled'`, "monitor:"+name); due > 0 && time.UnixMicro(due).Before(at) {
		at = time.UnixMicro(due)
	}
	return at
}

var (
	passed = belfry.Measure{Outcome: belfry.CheckOK, Latency: belfry.Duration(80 * time.Millisecond), Status: 200}
	failed = belfry.Measure{Outcome: belfry.CheckFail, Code: belfry.CodeStatus, Message: "got 503", Status: 503, Snapshot: &belfry.Snapshot{Status: "503", Body: "sorry"}}
	ours   = belfry.Measure{Outcome: belfry.CheckError, Code: belfry.CodeBlocked, Message: "not allowed"}
)

func (w checker) results(name string) []belfry.CheckResult {
	w.Helper()
	return must(w.st.Results(w.ctx, belfry.ResultFilter{Monitor: name, Paging: belfry.Paging{Limit: 1000}}))(w).Items
}

func (w checker) incidents(name string) []belfry.Incident {
	w.Helper()
	return must(w.st.Incidents(w.ctx, belfry.IncidentFilter{Monitor: name}))(w).Items
}

func init() {
	add("a heartbeat takes the token of another tool, which is for one monitor", func(b *bench) {
		digest, other := belfry.PushDigest("token"), belfry.ExternalDigest("core_backup", "token")
		beat := func(m *belfry.Monitor) { m.Check, m.Heartbeat = belfry.Task{}, &belfry.Heartbeat{TokenDigest: digest} }
		v := b.monitor("backup", beat)
		out := must(b.st.Beat(b.ctx, digest, belfry.Call{Kind: belfry.CallSuccess}))(b)
		want(b, "monitor", out.Monitor, "backup")
		out = must(b.st.Beat(b.ctx, strings.TrimPrefix(v.Beat, "/beat/"), belfry.Call{Kind: belfry.CallSuccess}))(b)
		want(b, "its own URL", out.Monitor, "backup")
		wantCode(b, second(b.st.Beat(b.ctx, other, belfry.Call{Kind: belfry.CallSuccess})), belfry.NotFound)
		twin := belfry.Monitor{Name: "twin", Heartbeat: &belfry.Heartbeat{TokenDigest: digest}}
		wantCode(b, second(b.st.CreateMonitor(b.ctx, twin)), belfry.Invalid, "heartbeat.token_digest")
		twin.Heartbeat.TokenDigest = "token"
		wantCode(b, second(b.st.CreateMonitor(b.ctx, twin)), belfry.Invalid, "heartbeat.token_digest")
		m := v.Monitor
		m.Heartbeat.TokenDigest = other
		must(b.st.UpdateMonitor(b.ctx, m))(b)
		wantCode(b, second(b.st.Beat(b.ctx, digest, belfry.Call{Kind: belfry.CallSuccess})), belfry.NotFound)
		must(b.st.Beat(b.ctx, other, belfry.Call{Kind: belfry.CallSuccess}))(b)
		ok(b, b.st.DeleteMonitor(b.ctx, "default", "backup"))
		twin.Heartbeat.TokenDigest = other
		must(b.st.CreateMonitor(b.ctx, twin))(b)
	})

	add("a worker cannot have more kept of a check than an honest one reports", func(b *bench) {
		w := b.checker()
		b.monitor("site")
		long := strings.Repeat("x", 1<<20)
		w.turn("site", belfry.Measure{
			Outcome: belfry.CheckFail, Code: belfry.CodeStatus, Message: long, Hops: []belfry.Hop{{URL: long}},
			Conditions: []belfry.ConditionResult{{Text: long, Value: long}}, Snapshot: &belfry.Snapshot{Status: long, Headers: map[string]string{"X": long}},
		})
		w.turn("site", belfry.Measure{Outcome: belfry.CheckFail, Snapshot: &belfry.Snapshot{Status: long, Headers: map[string]string{"X": long}}})
		want(b, "incidents", len(w.incidents("site")), 1)
		if n := b.count(`select max(length(detail)) from belfry.results`) + b.count(`select max(length(doc)) from belfry.incidents`); n > 100_000 {
			b.Fatalf("%d bytes are kept", n)
		}
	})

	add("a check that ends although its monitor cannot be computed any more is kept, and holds up no other", func(b *bench) {
		w := b.checker()
		b.monitor("nowhere")
		b.monitor("sound")
		b.clock.Move(time.Minute)
		b.fire()
		b.promote()
		var ends []belfry.Finish
		for _, j := range w.checks() {
			ends = append(ends, belfry.Finish{Ref: belfry.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: belfry.OutcomeOK, Check: &passed})
		}
		b.sql(`update belfry.monitors set doc = replace(doc, '"UTC"', '"Nowhere/None"') where name = 'nowhere'`)
		for _, f := range must(b.st.Finish(b.ctx, w.session.ID, ends))(b) {
			want(b, "state", f.State, belfry.JobSucceeded)
		}
		want(b, "sound", w.look("sound").Status, belfry.StatusUp)
		want(b, "nowhere", w.look("nowhere").Status, belfry.StatusNew)
		want(b, "results of nowhere", len(w.results("nowhere")), 1)
	})

	add("a check leaves a result and a verdict, and no finished job", func(b *bench) {
		w := b.checker()
		v := b.monitor("site")
		want(b, "status", v.Status, belfry.StatusNew)
		if v.NextAt.IsZero() || v.NextAt.After(Epoch.Add(time.Minute)) {
			b.Fatalf("next check at %s", v.NextAt)
		}
		v = w.turn("site", passed)
		want(b, "status", v.Status, belfry.StatusUp)
		want(b, "finished jobs", b.count(`select count(*) from belfry.jobs_done`), 0)
		want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
		want(b, "leases", b.count(`select count(*) from belfry.leases`), 0)
		want(b, "occurrences", b.count(`select count(*) from belfry.occurrences`), 0)
		rs := w.results("site")
		if len(rs) != 1 || rs[0].Outcome != belfry.CheckOK || rs[0].Latency != passed.Latency || rs[0].Status != 200 || rs[0].JobID == 0 {
			b.Fatalf("%+v", rs)
		}
		want(b, "tasks listed", len(must(b.st.Tasks(b.ctx, belfry.TaskFilter{}))(b).Items), 0)
		want(b, "schedules listed", len(must(b.st.Schedules(b.ctx, belfry.ScheduleFilter{}))(b).Items), 0)
	})

	add("a target is down when failures are confirmed, from the first of them on, and up again likewise", func(b *bench) {
		w := b.checker()
		b.monitor("site")
		w.turn("site", passed)
		v := w.turn("site", failed)
		want(b, "verdict", v.State.Verdict, belfry.VerdictConfirming)
		want(b, "status", v.Status, belfry.StatusUp)
		first := w.results("site")[0].At
		want(b, "jobs that confirm", b.count(`select count(*) from belfry.jobs`), 1)
		v = w.turn("site", failed)
		want(b, "status", v.Status, belfry.StatusDown)
		if got := w.results("site")[0].At.Sub(first); got >= time.Minute {
			b.Fatalf("confirmed after %s", got)
		}
		is := w.incidents("site")
		if len(is) != 1 || !is[0].StartedAt.Equal(first) || is[0].Code != belfry.CodeStatus || is[0].Snapshot == nil || is[0].Snapshot.Body != "sorry" || !is[0].EndedAt.IsZero() {
			b.Fatalf("%+v", is)
		}
		want(b, "open incident", v.State.Incident, is[0].ID)
		w.turn("site", passed)
		ended := w.results("site")[0].At
		v = w.turn("site", passed)
		want(b, "status", v.Status, belfry.StatusUp)
		is = w.incidents("site")
		if len(is) != 1 || !is[0].EndedAt.Equal(ended) || is[0].EndedBy != "recovered" {
			b.Fatalf("%+v", is)
		}
		var down time.Duration
		for _, u := range must(b.st.Uptime(b.ctx, "default", "site"))(b).Spans {
			if u.Name == "24h" {
				down = u.Down.D()
			}
		}
		want(b, "time down", down, ended.Sub(first))
	})

	add("our own faults never make a target down", func(b *bench) {
		w := b.checker()
		b.monitor("site")
		w.turn("site", passed)
		for range 5 {
			w.turn("site", ours)
		}
		v := w.look("site")
		want(b, "status", v.Status, belfry.StatusUp)
		want(b, "stale", v.State.Stale, true)
		// A worker that is lost in the middle of a check.
		b.clock.Move(w.nextCheck("site").Sub(b.clock.Now()))
		w.fire()
		want(b, "checks", len(w.checks()), 1)
		b.clock.Move(belfry.MaxSessionTTL.D() + belfry.LostGrace + time.Second)
		b.release()
		want(b, "code", w.results("site")[0].Code, belfry.CodeLost)
		want(b, "status", w.look("site").Status, belfry.StatusUp)
		w.session = b.checker().session
		v = w.turn("site", passed)
		want(b, "stale", v.State.Stale, false)
	})

	add("a check is settled once, and a stale one changes nothing", func(b *bench) {
		w := b.checker()
		b.monitor("site")
		b.clock.Move(time.Minute)
		w.fire()
		j := w.checks()[0]
		with := func(m belfry.Measure) func(*belfry.Finish) { return func(f *belfry.Finish) { f.Check = &m } }
		want(b, "stale", w.finish(w.session, j, belfry.OutcomeOK, with(passed)).Stale, false)
		want(b, "stale", w.finish(w.session, j, belfry.OutcomeOK, with(failed)).Stale, true)
		want(b, "results", len(w.results("site")), 1)
		// What no monitor asked for is a job like others.
		b.task("plain")
		s := b.session("plain")
		plain := b.enqueue(belfry.NewJob{Task: "plain"})
		b.finish(s, b.claim(s, 1).Jobs[0], belfry.OutcomeOK, with(failed))
		b.wantState(plain.ID, belfry.JobSucceeded)
	})

	add("a command's end is a check's outcome", func(b *bench) {
		w := b.checker()
		b.monitor("disk", func(m *belfry.Monitor) { m.Check = belfry.Task{Command: &belfry.Command{Shell: "df"}} })
		for _, step := range []struct {
			outcome belfry.Outcome
			status  belfry.Status
		}{{belfry.OutcomeOK, belfry.StatusUp}, {belfry.OutcomeError, belfry.StatusUp}, {belfry.OutcomeError, belfry.StatusDown}, {belfry.OutcomeOK, belfry.StatusDown}, {belfry.OutcomeOK, belfry.StatusUp}} {
			b.clock.Move(w.nextCheck("disk").Sub(b.clock.Now()))
			w.fire()
			w.promote()
			check := w.checks()[0]
			ok(b, b.st.Append(b.ctx, w.session.ID, []belfry.LogPiece{{Ref: refOf(check), Stream: belfry.Stdout, At: b.clock.Now(), Text: "it writes this"}}))
			w.finish(w.session, check, step.outcome)
			want(b, fmt.Sprintf("status after %s", step.outcome), w.look("disk").Status, step.status)
			for _, table := range []string{"jobs_done", "attempts", "leases", "logs"} {
				want(b, fmt.Sprintf("rows of %s after %s", table, step.outcome), b.count(`select count(*) from belfry.`+table), 0)
			}
		}
		want(b, "results", len(w.results("disk")), 5)
		if got := w.results("disk")[2]; got.Outcome != belfry.CheckFail || got.Code != belfry.CodeReported {
			b.Errorf("a command that failed left %+v", got)
		}
	})

	add("a paused monitor is not checked, its time does not count, and it goes on by itself", func(b *bench) {
		w := b.checker()
		b.monitor("site")
		w.turn("site", passed)
		w.turn("site", failed) // leaves a job that confirms
		v := must(b.st.PauseMonitor(b.ctx, "default", "site", b.clock.Now().Add(time.Hour), "moving"))(b)
		want(b, "status", v.Status, belfry.StatusPaused)
		want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), 0)
		b.clock.Move(30 * time.Minute)
		must(b.st.LapseMonitors(b.ctx))(b)
		w.fire()
		w.promote()
		want(b, "checks while paused", len(w.checks()), 0)
		b.clock.Move(31 * time.Minute)
		must(b.st.LapseMonitors(b.ctx))(b)
		want(b, "status", w.look("site").Status, belfry.StatusNew)
		want(b, "status", w.turn("site", passed).Status, belfry.StatusUp)
		u := must(b.st.Uptime(b.ctx, "default", "site"))(b).Spans[0]
		if u.Down != 0 || u.Paused.D() < time.Hour-time.Second || u.Paused.D() > time.Hour+2*time.Minute {
			b.Fatalf("%+v", u)
		}
		must(b.st.PauseMonitor(b.ctx, "default", "site", time.Time{}, ""))(b)
		_, err := b.st.CheckMonitor(b.ctx, "default", "site")
		wantCode(b, err, belfry.Conflict, "paused")
		must(b.st.ResumeMonitor(b.ctx, "default", "site"))(b)
		must(b.st.CheckMonitor(b.ctx, "default", "site"))(b)
		want(b, "checks asked for", len(w.checks()), 1)
		_, err = b.st.PauseMonitor(b.ctx, "default", "site", Epoch, "")
		wantCode(b, err, belfry.Invalid, "until", "has passed")
	})

	add("a heartbeat that does not come is down, and one that was never called is new", func(b *bench) {
		w := b.checker()
		v := b.monitor("backup", func(m *belfry.Monitor) {
			m.Check, m.Heartbeat, m.Every = belfry.Task{}, &belfry.Heartbeat{}, belfry.Duration(time.Hour)
		})
		key := strings.TrimPrefix(v.Beat, "/beat/")
		want(b, "length of the key", len(key), 32)
		b.clock.Move(3 * time.Hour)
		must(b.st.LapseMonitors(b.ctx))(b)
		want(b, "status", w.look("backup").Status, belfry.StatusNew)
		want(b, "status", must(b.st.Beat(b.ctx, key, belfry.Call{Kind: belfry.CallSuccess}))(b).Status, belfry.StatusUp)
		next := must(b.st.LapseMonitors(b.ctx))(b).NextAt
		b.clock.Move(next.Sub(b.clock.Now()))
		must(b.st.LapseMonitors(b.ctx))(b)
		want(b, "status", w.look("backup").Status, belfry.StatusDown)
		want(b, "code", w.results("backup")[0].Code, belfry.CodeMissed)
		must(b.st.Beat(b.ctx, strings.ToUpper(key), belfry.Call{Kind: belfry.CallStart}))(b)
		b.clock.Move(90 * time.Second)
		want(b, "status", must(b.st.Beat(b.ctx, key, belfry.Call{Kind: belfry.CallSuccess, Message: "12 files"}))(b).Status, belfry.StatusUp)
		r := w.results("backup")[0]
		if r.Latency.D() != 90*time.Second || r.Message != "12 files" {
			b.Fatalf("%+v", r)
		}
		three := 3
		want(b, "status", must(b.st.Beat(b.ctx, key, belfry.Call{Kind: belfry.CallSuccess, ExitCode: &three}))(b).Status, belfry.StatusDown)
		_, err := b.st.Beat(b.ctx, "nobody", belfry.Call{Kind: belfry.CallSuccess})
		wantCode(b, err, belfry.NotFound)
		_, err = b.st.CheckMonitor(b.ctx, "default", "backup")
		wantCode(b, err, belfry.Conflict, "heartbeat")
	})

	add("what belongs to a monitor is changed through it alone", func(b *bench) {
		b.monitor("site")
		for _, err := range []error{
			second(b.st.PauseSchedule(b.ctx, "default", "monitor:site", "")), second(b.st.ResumeSchedule(b.ctx, "default", "monitor:site", false)),
			second(b.st.TriggerSchedule(b.ctx, "default", "monitor:site", nil)), b.st.DeleteSchedule(b.ctx, "default", "monitor:site"),
			second(b.st.UpdateSchedule(b.ctx, belfry.Schedule{Name: "monitor:site", Task: "x"})), b.st.DeleteTask(b.ctx, "default", "monitor:site"),
		} {
			wantCode(b, err, belfry.Conflict, `belongs to monitor "site"`)
		}
		wantCode(b, second(b.st.CreateTask(b.ctx, belfry.Task{Name: "monitor:x"})), belfry.Invalid, "name")
		wantCode(b, second(b.st.Enqueue(b.ctx, []belfry.NewJob{{Task: "monitor:site"}})), belfry.Invalid, "task")
		ok(b, b.st.DeleteMonitor(b.ctx, "default", "site"))
		want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 0)
		want(b, "schedules", b.count(`select count(*) from belfry.schedules`), 0)
		want(b, "spans", b.count(`select count(*) from belfry.spans`), 0)
		wantCode(b, second(b.st.Monitor(b.ctx, "default", "site")), belfry.NotFound, "site")
		b.monitor("site")
	})

	add("an edit of a monitor keeps its verdict and moves its checks", func(b *bench) {
		w := b.checker()
		b.monitor("site")
		w.turn("site", passed)
		m := w.look("site").Monitor
		m.Every = belfry.Duration(5 * time.Minute)
		m.Description = "slower"
		v := must(b.st.UpdateMonitor(b.ctx, m))(b)
		want(b, "status", v.Status, belfry.StatusUp)
		want(b, "generation", v.Generation, 2)
		want(b, "generation", must(b.st.UpdateMonitor(b.ctx, m))(b).Generation, 2)
		if s := b.get("monitor:site"); s.Rules[0].Every != m.Every {
			b.Fatalf("%+v", s)
		}
		wantCode(b, second(b.st.UpdateMonitor(b.ctx, belfry.Monitor{Name: "site", Heartbeat: &belfry.Heartbeat{}})), belfry.Invalid, "heartbeat")
		wantCode(b, second(b.st.CreateMonitor(b.ctx, m)), belfry.Conflict, "site")
		wantCode(b, second(b.st.UpdateMonitor(b.ctx, belfry.Monitor{Name: "other", Heartbeat: &belfry.Heartbeat{}})), belfry.NotFound, "other")
		wantCode(b, second(b.st.CreateMonitor(b.ctx, belfry.Monitor{Name: "child", Heartbeat: &belfry.Heartbeat{}, DependsOn: []string{"none"}})), belfry.Invalid, "depends_on[0]")
		b.monitor("child", func(m *belfry.Monitor) { m.DependsOn = []string{"site"} })
		wantCode(b, b.st.DeleteMonitor(b.ctx, "default", "site"), belfry.Conflict, "child")
	})

	add("what is read can be changed where it lies, and saved", func(b *bench) {
		b.task("t", func(t *belfry.Task) { t.Kind, t.HTTP = belfry.KindHTTP, &belfry.HTTP{URL: "https://example.org/"} })
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
	})

	add("a monitor that is pointed at something else is checked soon, once", func(b *bench) {
		w := b.checker()
		b.monitor("site", func(m *belfry.Monitor) { m.Every = belfry.Duration(6 * time.Hour) })
		w.turn("site", passed)
		m := w.look("site").Monitor
		for _, url := range []string{"https://other.example.org/", "https://third.example.org/"} {
			m.Check.HTTP.URL = url
			v := must(b.st.UpdateMonitor(b.ctx, m))(b)
			want(b, "status", v.Status, belfry.StatusNew)
			want(b, "soon", v.NextAt.Sub(b.clock.Now()) <= 31*time.Second, true)
		}
		b.clock.Move(31 * time.Second)
		w.fire()
		w.promote()
		jobs := w.checks()
		want(b, "checks", len(jobs), 1)
		want(b, "of", jobs[0].Task.HTTP.URL, "https://third.example.org/")
	})

	add("secrets of a check are kept when what was shown is saved again", func(b *bench) {
		v := b.monitor("site", func(m *belfry.Monitor) { m.Check.HTTP.Auth = &belfry.HTTPAuth{User: "ann", Password: "hush"} })
		want(b, "shown", v.Check.HTTP.Auth.Password, belfry.Redacted)
		v.Monitor.Description = "new"
		must(b.st.UpdateMonitor(b.ctx, v.Monitor))(b)
		want(b, "kept", must(b.st.CheckOf(b.ctx, "default", "site"))(b).HTTP.Auth.Password, belfry.Secret("hush"))
		want(b, "rows of the audit that show it", b.count(`select count(*) from belfry.audit where coalesce(after, '') like '%hush%' or coalesce(before, '') like '%hush%'`), 0)
		w := b.checker()
		b.clock.Move(time.Minute)
		w.fire()
		want(b, "given to the worker", w.checks()[0].Task.HTTP.Auth.Password, belfry.Secret("hush"))
	})

	add("in maintenance a target that fails has no downtime", func(b *bench) {
		w := b.checker()
		b.monitor("site", func(m *belfry.Monitor) { m.Tags = []string{"web"} })
		w.turn("site", passed)
		from := b.clock.Now().Add(10 * time.Minute)
		must(b.st.SaveWindow(b.ctx, belfry.Window{Name: "deploy", Tags: []string{"web"}, From: from, To: from.Add(time.Hour)}))(b)
		must(b.st.LapseMonitors(b.ctx))(b)
		b.clock.Move(10*time.Minute + time.Second)
		must(b.st.LapseMonitors(b.ctx))(b)
		want(b, "maintenance", w.look("site").State.Maintenance, "deploy")
		w.turn("site", failed)
		w.turn("site", failed)
		want(b, "status", w.look("site").Status, belfry.StatusDown)
		b.clock.Move(20 * time.Minute)
		w.turn("site", passed)
		w.turn("site", passed)
		b.clock.Move(from.Add(time.Hour + time.Second).Sub(b.clock.Now()))
		must(b.st.LapseMonitors(b.ctx))(b)
		want(b, "maintenance", w.look("site").State.Maintenance, "")
		u := must(b.st.Uptime(b.ctx, "default", "site"))(b).Spans[0]
		if u.Down != 0 || u.Maintenance.D() != time.Hour {
			b.Fatalf("%+v", u)
		}
	})

	add("a manifest holds monitors and what goes with them, and applied twice changes nothing", func(b *bench) {
		m := belfry.Manifest{
			Channels:    []belfry.Channel{{Name: "hook", Webhook: &belfry.WebhookChannel{URL: "https://example.org/hook", Secret: "hush"}}},
			AlertRules:  []belfry.AlertRule{{Name: "all", Channels: []string{"hook"}}},
			Windows:     []belfry.Window{{Name: "sunday", Rules: []belfry.Rule{{Cron: "0 3 * * SUN"}}, Lasts: belfry.Duration(time.Hour)}},
			StatusPages: []belfry.StatusPage{{Name: "public"}},
			Monitors: []belfry.Monitor{
				{Name: "child", Check: belfry.Task{HTTP: &belfry.HTTP{URL: "https://example.org/a", Auth: &belfry.HTTPAuth{Bearer: "hush"}}}, DependsOn: []string{"parent"}},
				{Name: "parent", Heartbeat: &belfry.Heartbeat{}, Every: belfry.Duration(time.Hour)},
			},
		}
		actions := func(a belfry.Applied) (out string) {
			for _, c := range a.Changes {
				out += string(c.Action) + " " + c.Noun + " " + c.Name + "\n"
			}
			return out
		}
		want(b, "first", actions(must(b.st.Apply(b.ctx, m, belfry.ApplyOptions{}))(b)),
			"create channel hook\ncreate alert_rule all\ncreate monitor parent\ncreate monitor child\ncreate window sunday\ncreate status_page public\n")
		kept := "keep channel hook\nkeep alert_rule all\nkeep monitor parent\nkeep monitor child\nkeep window sunday\nkeep status_page public\n"
		want(b, "second", actions(must(b.st.Apply(b.ctx, m, belfry.ApplyOptions{Prune: true}))(b)), kept)
		export := must(b.st.Export(b.ctx, "default"))(b)
		export.Queues = nil
		if s := fmt.Sprintf("%+v", export); strings.Contains(s, "hush") || len(export.Monitors) != 2 || len(export.Tasks)+len(export.Schedules) != 0 {
			b.Fatal(s)
		}
		again := must(b.st.Apply(b.ctx, export, belfry.ApplyOptions{}))(b)
		if s := actions(again); strings.Contains(s, "update") || strings.Contains(s, "create") {
			b.Fatalf("what was exported differs:\n%+v", again.Changes)
		}
		m.Channels[0].Webhook = &belfry.WebhookChannel{URL: "https://example.org/hook", Secret: "other"}
		changes := must(b.st.Apply(b.ctx, m, belfry.ApplyOptions{}))(b).Changes
		if changes[0].Action != belfry.ActionUpdate || strings.Contains(fmt.Sprint(changes), "other") {
			b.Fatalf("%+v", changes[0])
		}
		wantCode(b, b.st.DeleteChannel(b.ctx, "default", "hook"), belfry.Conflict, "all")
		bad := belfry.Manifest{AlertRules: []belfry.AlertRule{{Name: "x", Channels: []string{"none"}}}}
		wantCode(b, second(b.st.Apply(b.ctx, bad, belfry.ApplyOptions{})), belfry.Invalid, "alert_rules[0].channels[0]", "none")
		gone := actions(must(b.st.Apply(b.ctx, belfry.Manifest{}, belfry.ApplyOptions{Prune: true}))(b))
		want(b, "pruned", gone, "delete monitor child\ndelete monitor parent\ndelete status_page public\ndelete window sunday\ndelete alert_rule all\ndelete channel hook\n")
	})
}
