package storetest

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// listeningNodes has two API nodes and an engine on one database, each a process of its own, and workers that renew through the two
// nodes.
type listeningNodes struct {
	*bench
	api    []*store.Store
	engine *store.Store
}

func newFront(b *bench) *listeningNodes {
	b.Helper()
	f := &listeningNodes{bench: b}
	for range 2 {
		b.again()
		f.api = append(f.api, b.st)
	}
	b.again()
	f.engine = b.st
	b.task("t")
	return f
}

// elsewhere opens the session of a worker that reaches the database through the first node, and leases it a job.
func (f *listeningNodes) elsewhere() job.Session {
	f.Helper()
	s := must(f.api[0].OpenSession(f.ctx, job.WorkerInfo{Name: "far", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
		Queues: map[string]int{"default": 10}, Remote: true}))(f)
	f.enqueue(job.NewJob{Task: "t"})
	want(f, "jobs", len(f.claim(s, 1).Jobs), 1)
	return s
}

// pass lets time pass, in which the given nodes listen, the given sessions renew, and the engine looks. It returns the number
// of sessions given up.
func (f *listeningNodes) pass(d time.Duration, api []*store.Store, alive ...job.Session) (gone int) {
	f.Helper()
	for until := f.clock.Now().Add(d); f.clock.Now().Before(until); {
		f.clock.Move(2 * time.Second)
		for _, node := range api {
			ok(f, node.Listen(f.ctx))
		}
		for _, s := range alive {
			want(f, "lost", must(f.engine.Renew(f.ctx, s.ID, job.Held()))(f).Lost, false)
		}
		gone += must(f.engine.ReleaseLost(f.ctx))(f).Sessions
	}
	return gone
}

// remoteLife is the lifetime of the sessions of these cases, and remoteSilence the silence after which they are given up.
const (
	remoteLife    = 30 * time.Second
	remoteSilence = remoteLife + job.LostGrace
)

func init() {
	add("workers elsewhere are not given up while no node could hear them, and the dead are once one can", caseWorkersElsewhereAreNotGivenUpWhileNoNode)
	add("a worker with the database is given up though no node listens", caseAWorkerWithTheDatabaseIsGivenUpThough)
	add("a worker elsewhere that died is given up as soon as ever while one of two nodes listens", caseAWorkerElsewhereThatDiedIsGivenUpAs)
	add("a node that takes the place of another at once delays nothing", caseANodeThatTakesThePlaceOfAnotherAt)
	add("a node that stood still recorded no worker meanwhile", caseANodeThatStoodStillHeardNobodyMeanwhile)
	add("a worker elsewhere is given up ten minutes after its end though no node comes back", caseAWorkerElsewhereIsGivenUpTenMinutesAfter)

	for direction, step := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		add("a clock that is set "+direction+" takes no worker elsewhere that lives, and keeps none that is dead", func(b *bench) {
			f := newFront(b)
			ok(b, f.api[0].Listen(b.ctx))
			lives := f.elsewhere()
			f.elsewhere()
			want(b, "sessions given up while the worker renews", f.pass(20*time.Second, f.api[:1], lives), 0)
			b.clock.Set(step)
			want(b, "given up after the step", f.pass(2*remoteSilence, f.api[:1], lives), 1)
		})
	}
}

func caseWorkersElsewhereAreNotGivenUpWhileNoNode(b *bench) {
	f := newFront(b)
	ok(b, f.api[0].Listen(b.ctx))
	lives, dead := f.elsewhere(), f.elsewhere()
	here := b.session("t")
	want(b, "given up while all is well", f.pass(time.Minute, f.api[:1], lives, dead, here), 0)
	want(b, "given up in two minutes without the API", f.pass(2*time.Minute, nil, here), 0)
	want(b, "given up before a whole life was heard", f.pass(remoteLife, f.api[1:], lives, here), 0)
	want(b, "given up after it", f.pass(2*time.Second, f.api[1:], lives, here), 1)
	want(b, "lost", must(f.engine.Renew(b.ctx, dead.ID, job.Held()))(b).Lost, true)
}

func caseAWorkerWithTheDatabaseIsGivenUpThough(b *bench) {
	f := newFront(b)
	ok(b, f.api[0].Listen(b.ctx))
	s := must(f.api[0].OpenSession(b.ctx, job.WorkerInfo{Name: "near", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}}))(b)
	want(b, "given up in time", f.pass(remoteSilence+2*time.Second, nil), 1)
	want(b, "lost", must(f.engine.Renew(b.ctx, s.ID, job.Held()))(b).Lost, true)
}

func caseAWorkerElsewhereThatDiedIsGivenUpAs(b *bench) {
	f := newFront(b)
	want(b, "sessions given up without a worker", f.pass(time.Minute, f.api), 0)
	f.elsewhere()
	want(b, "given up early", f.pass(remoteSilence-2*time.Second, f.api[1:]), 0)
	want(b, "given up", f.pass(4*time.Second, f.api[1:]), 1)
}

func caseANodeThatTakesThePlaceOfAnotherAt(b *bench) {
	f := newFront(b)
	want(b, "sessions given up without a worker", f.pass(time.Minute, f.api[:1]), 0)
	f.elsewhere()
	want(b, "sessions given up while the first node listens", f.pass(20*time.Second, f.api[:1]), 0)
	want(b, "between the two", f.pass(6*time.Second, nil), 0)
	want(b, "given up", f.pass(remoteSilence+2*time.Second-26*time.Second, f.api[1:]), 1)
}

func caseANodeThatStoodStillHeardNobodyMeanwhile(b *bench) {
	f := newFront(b)
	ok(b, f.api[0].Listen(b.ctx))
	f.elsewhere()
	want(b, "sessions given up while the node stands still", f.pass(20*time.Second, nil), 0)
	want(b, "after that", f.pass(remoteLife, f.api[:1]), 0)
	want(b, "given up", f.pass(2*time.Second, f.api[:1]), 1)
}

func caseAWorkerElsewhereIsGivenUpTenMinutesAfter(b *bench) {
	f := newFront(b)
	ok(b, f.api[0].Listen(b.ctx))
	f.elsewhere()
	want(b, "given up early", f.pass(30*time.Second+job.UnheardFor, nil), 0)
	want(b, "given up", f.pass(2*time.Second, nil), 1)
}
