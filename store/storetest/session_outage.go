package storetest

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
)

func init() {
	add("after an outage of our own no session is given up before its workers could have renewed", caseAfterAnOutageOfOurOwnNoSessionIs)
}

func caseAfterAnOutageOfOurOwnNoSessionIs(b *bench) {
	b.task("t")
	held := map[string]job.Session{"lives": b.session("t"), "dead": b.session("t")}
	for range 2 {
		b.enqueue(job.NewJob{Task: "t"})
	}
	for _, s := range held {
		want(b, "jobs", len(b.claim(s, 1).Jobs), 1)
	}
	// The node sees nothing for two minutes: it is a new process on the same database.
	b.clock.Move(2 * time.Minute)
	b.again()
	want(b, "sessions given up at once", must(b.st.ReleaseLost(b.ctx))(b).Sessions, 0)
	b.clock.Move(5 * time.Second)
	must(b.st.Renew(b.ctx, held["lives"].ID, job.Held()))(b)
	for range 5 {
		want(b, "sessions given up within one time to live", must(b.st.ReleaseLost(b.ctx))(b).Sessions, 0)
		b.clock.Move(4 * time.Second)
	}
	b.clock.Move(5 * time.Second)
	want(b, "sessions given up after it", must(b.st.ReleaseLost(b.ctx))(b).Sessions, 1)
	want(b, "session that lives", must(b.st.Renew(b.ctx, held["lives"].ID, job.Held()))(b).Lost, false)
	want(b, "session that is dead", must(b.st.Renew(b.ctx, held["dead"].ID, job.Held()))(b).Lost, true)
}

// again replaces the store by a new one on the same database, as after a restart.
func (b *bench) again() {
	b.Helper()
	b.st = store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono, Bytes: b.artifacts})
	ok(b, b.st.Prepare(b.ctx))
}

// lose lets so much time pass that sessions without a renewal are lost, while a node looks as often as an engine would. It
// returns the number of released jobs.
func (b *bench) lose() (released int) {
	b.Helper()
	for range lost/(5*time.Second) + 2 {
		released += b.release()
		b.clock.Move(5 * time.Second)
	}
	return released + b.release()
}
