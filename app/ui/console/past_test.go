package console_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
)

// past is an installation that has run for a while, made in no time: a store
// with a clock that jumps from one thing that is due to the next, and a worker
// that does all of it. It is for pictures, and the same each time.
type past struct {
	*testing.T
	ctx   context.Context
	st    *store.Store
	clock *storetest.Clock
	bytes *app.Artifacts
	dice  *rand.Rand

	session string
	renewed time.Time
	runs    []run
	outages map[string][]outage
}

// run is a job that the worker has, and what will become of it.
type run struct {
	ends time.Time
	fin  job.Finish
}

// outage is when a monitor's target does not work.
type outage struct {
	from, to time.Time
	result   task.CheckResult
}

// newPast begins one that ends now.
func newPast(t *testing.T, lasted time.Duration) (p *past, database string) {
	t.Helper()
	database = filepath.Join(t.TempDir(), "belfry.db")
	clock := storetest.NewClock()
	clock.Move(time.Since(storetest.Epoch) - lasted)
	bytes := app.NewArtifacts(config.Config{Database: database}, nil, nil)
	st, err := sqlite.Open(t.Context(), database, sqlite.Options{Options: store.Options{Clock: clock.Now, Bytes: bytes}})
	if err != nil {
		t.Fatal(err)
	}
	return &past{T: t, ctx: t.Context(), st: st, clock: clock, bytes: bytes, dice: rand.New(rand.NewPCG(7, 7)), outages: map[string][]outage{}}, database
}

func (p *past) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// takes is how long a job of a task runs, give or take.
var takes = map[string]time.Duration{
	"nightly-backup": 14 * time.Minute, "sync-inventory": 40 * time.Second, "import-prices": 75 * time.Second, "rotate-logs": 6 * time.Second,
	"send-digest": 25 * time.Second, "rebuild-index": 22 * time.Minute, "vacuum-analyze": 3 * time.Minute, "cleanup-temp": 12 * time.Second,
	"image-resize": 4 * time.Minute, "log-parser": 35 * time.Second, "tax-tables": 9 * time.Minute,
	"fetch-orders": 90 * time.Second, "rebuild-totals": 4 * time.Minute, "render-report": 50 * time.Second, "publish-report": 8 * time.Second,
}

// fails is how often, in a hundred, and with what it then ends.
var fails = map[string]struct {
	often int
	exit  int
	why   string
}{
	"nightly-backup": {6, 1, "pg_dump: error: connection to server was lost"}, "import-prices": {6, 2, "exit status 2: line 4182: not a number: \"n/a\""},
	"sync-inventory": {2, 75, "exit status 75: the warehouse does not answer"}, "log-parser": {4, 3, "exit status 3: 12 lines are cut off"},
}

// until lets things happen until an instant. Work may go on beyond it.
func (p *past) until(end time.Time) {
	p.Helper()
	for {
		next := end
		sooner := func(at time.Time) {
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		fired, err := p.st.FireDue(p.ctx)
		p.ok(err)
		promoted, err := p.st.Promote(p.ctx)
		p.ok(err)
		lapsed, err := p.st.LapseMonitors(p.ctx)
		p.ok(err)
		_, err = p.st.StartCycles(p.ctx)
		p.ok(err)
		worked := p.work()
		if worked {
			continue // what followed of it may be due
		}
		sooner(fired.NextAt)
		sooner(promoted.NextAt)
		sooner(lapsed.NextAt)
		if len(p.runs) > 0 {
			sooner(p.runs[0].ends)
			sooner(p.renewed.Add(5 * time.Minute))
		} else if p.session != "" && next.Sub(p.clock.Now()) > 8*time.Minute {
			p.ok(p.st.CloseSession(p.ctx, p.session))
			p.session = ""
		}
		now := p.clock.Now()
		if !now.Before(end) {
			return
		}
		p.clock.Move(max(time.Microsecond, next.Sub(now)))
	}
}

// work ends runs whose time has come, and begins others.
func (p *past) work() (did bool) {
	p.Helper()
	now := p.clock.Now()
	if p.session != "" && !now.Before(p.renewed.Add(5*time.Minute)) {
		var holding []job.Ref
		for _, r := range p.runs {
			holding = append(holding, r.fin.Ref)
		}
		_, err := p.st.Renew(p.ctx, p.session, job.Held(holding...))
		p.ok(err)
		p.renewed = now
	}
	for len(p.runs) > 0 && !p.runs[0].ends.After(now) {
		_, err := p.st.Finish(p.ctx, p.session, []job.Finish{p.runs[0].fin})
		p.ok(err)
		p.runs, did = p.runs[1:], true
	}
	if p.session == "" {
		// Remote, or the start of a node on this file would take it for dead with the process that made it.
		p.ok(p.st.Listen(p.ctx))
		info := worksHere("worker-1")
		info.Remote = true
		w, err := p.st.OpenSession(p.ctx, info)
		p.ok(err)
		p.session, p.renewed = w.ID, now
	}
	c, err := p.st.Claim(p.ctx, job.ClaimRequest{Session: p.session, Want: map[string]int{"default": 20, "backups": 2, "programs": 4, task.ChecksQueue: 50}})
	p.ok(err)
	for _, j := range c.Jobs {
		p.runs = append(p.runs, p.run(j.Job, job.Ref{JobID: j.Job.ID, Lease: c.Lease}))
		did = true
	}
	slices.SortStableFunc(p.runs, func(a, b run) int { return a.ends.Compare(b.ends) })
	return did
}

func worksHere(name string) job.WorkerInfo {
	return job.WorkerInfo{
		Name: name, Kinds: []task.Kind{task.KindCommand, task.KindHTTP, task.KindTCP, task.KindTLS, task.KindPage, task.KindProgram},
		Queues: map[string]int{"default": 20, "backups": 2, "programs": 4, task.ChecksQueue: 50}, TTL: job.MaxSessionTTL, Version: "1.0.0",
		Has: task.Has{Labels: map[string]string{"site": "west", "disk": "fast"}, OS: "linux", Arch: "amd64", Isolation: task.IsolationNamespaces, Network: true},
	}
}

// about is a length of time, give or take a fifth.
func (p *past) about(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*p.dice.Float64()))
}

// run decides what becomes of a job.
func (p *past) run(j job.Job, ref job.Ref) run {
	now := p.clock.Now()
	if j.Trigger == job.TriggerCheck {
		m := p.check(strings.TrimPrefix(j.Task, "monitor:"), now)
		return run{now.Add(m.Latency.D()), job.Finish{Ref: ref, Outcome: job.OutcomeOK, Check: &m}}
	}
	lasts := p.about(takes[j.Task])
	f := job.Finish{Ref: ref, Outcome: job.OutcomeOK, ExitCode: new(int), StartedIn: core.Duration(8 * time.Millisecond)}
	if bad := fails[j.Task]; p.dice.IntN(100) < bad.often {
		f.Outcome, f.Error, *f.ExitCode = job.OutcomeError, bad.why, bad.exit
		lasts /= 3
	}
	p.ok(p.st.Append(p.ctx, p.session, logOf(j, ref, now, lasts, f.Error)))
	return run{now.Add(lasts), f}
}

// logOf is what a run says.
func logOf(j job.Job, ref job.Ref, began time.Time, lasts time.Duration, bad string) (all []job.LogPiece) {
	say := func(stream job.Stream, part float64, format string, args ...any) {
		all = append(all, job.LogPiece{Ref: ref, Seq: len(all), Stream: stream, At: began.Add(time.Duration(part * float64(lasts))), Text: fmt.Sprintf(format, args...) + "\n"})
	}
	switch j.Task {
	case "nightly-backup":
		say(job.Stdout, 0.01, "\x1b[1mdumping database main\x1b[0m to /backup/main-%s.dump", began.UTC().Format("2006-01-02"))
		for i, table := range []string{"accounts", "orders", "order_lines", "payments", "events"} {
			say(job.Stdout, 0.05+0.15*float64(i), "\x1b[32mdone\x1b[0m  public.%-12s %8d rows", table, 40_000*(i*i+1)+117*i)
		}
		if bad == "" {
			say(job.Stdout, 0.85, "verifying checksum of 3.4 GiB …")
			say(job.Stdout, 0.97, "\x1b[32mok\x1b[0m    sha256 9f2c41d7")
			say(job.Stderr, 0.98, "\x1b[33mwarning\x1b[0m: 11 GiB free on /backup, under 10 %%")
		}
	default:
		say(job.Stdout, 0.05, "starting %s", j.Task)
	}
	if bad != "" {
		say(job.Stderr, 0.99, "\x1b[31merror\x1b[0m: %s", bad)
	}
	return all
}

// bases are how long answers of targets take in milliseconds.
var bases = map[string]float64{"api": 46, "docs": 120, "database": 3, "certificate": 38, "search": 88, "price-list": 210}

// check is what a check sees.
func (p *past) check(monitor string, at time.Time) task.CheckResult {
	for _, o := range p.outages[monitor] {
		if !at.Before(o.from) && at.Before(o.to) {
			m := o.result
			return m
		}
	}
	base := bases[monitor]
	if base == 0 {
		base = 60
	}
	rush := 1 + 0.5*max(0, 1-2*max(0, float64((at.Hour()+12)%24-12)*0.1))
	ms := base * rush * (0.85 + 0.3*p.dice.Float64())
	if p.dice.IntN(60) == 0 {
		ms *= 2.5
	}
	all := core.Duration(ms * float64(time.Millisecond))
	return task.CheckResult{
		Outcome: task.CheckOK, Status: 200, IP: "192.0.2.7", Latency: all,
		Phases:     task.Phases{DNS: all / 20, Connect: all * 3 / 20, TLS: all * 4 / 20, FirstByte: all * 9 / 20, Transfer: all * 3 / 20},
		Conditions: []task.ConditionResult{{Text: "status == 200", Holds: true, Value: "status = 200"}},
	}
}

// fail has the target of a monitor not work for a while, so long ago.
func (p *past) fail(monitor string, ago, lasts time.Duration, code task.CheckCode, message string) {
	from := time.Now().Add(-ago)
	p.outages[monitor] = append(p.outages[monitor], outage{from, from.Add(lasts), task.CheckResult{Outcome: task.CheckFail, Code: code, Message: message}})
}

// settle brings the history up to date, leaves what runs to a worker that is
// alive, and closes the store.
func (p *past) settle() {
	p.Helper()
	for more := true; more; {
		var err error
		more, err = p.st.RollUp(p.ctx)
		p.ok(err)
	}
	for more := true; more; {
		var err error
		more, err = p.st.Prune(p.ctx)
		p.ok(err)
	}
	p.ok(p.st.Close())
	p.ok(p.bytes.Close())
}

// site is the node that goes on from there.
func (p *past) site(database string) *site {
	p.Helper()
	p.settle()
	return newSite(p.T, func(c *config.Config) { c.Database = database })
}
