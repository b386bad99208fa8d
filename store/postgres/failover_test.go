package postgres_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
)

// dns is a name that stands for one server at a time. Who has it change cuts the connections to the one before.
type dns struct {
	mu    sync.Mutex
	addr  string
	conns map[net.Conn]bool
}

func (d *dns) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	d.mu.Lock()
	addr := d.addr
	d.mu.Unlock()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns[conn] = true
	}
	return conn, err
}

func (d *dns) to(s *pgtest.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addr = s.Addr()
	for conn := range d.conns {
		_ = conn.Close()
	}
	clear(d.conns)
}

// place is a server with a store over a name that stands for it.
type place struct {
	t      *testing.T
	server *pgtest.Server
	url    string
	dns    *dns
	clock  *storetest.Clock
	st     *store.Store
}

func newPlace(t *testing.T) *place {
	server := pgtest.NewServer(t, pgtest.Options{})
	return newPlaceAs(t, server, server.URL("postgres"))
}

// newPlaceAs is a place of the role that the address names.
func newPlaceAs(t *testing.T, server *pgtest.Server, url string) *place {
	p := &place{t: t, server: server, url: url, dns: &dns{conns: map[net.Conn]bool{}}, clock: storetest.NewClock()}
	p.dns.to(p.server)
	p.st = p.open()
	return p
}

// open is another node.
func (p *place) open() *store.Store {
	p.t.Helper()
	st, err := postgres.OpenDialed(p.t.Context(), p.url, postgres.Options{Options: store.Options{Clock: p.clock.Now}, MaxConns: 4, Wakeups: "poll"}, p.dns.dial)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = st.Close() })
	return st
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// claim leases one job.
func (p *place) claim(session string) job.Ref {
	p.t.Helper()
	got, err := p.st.Claim(p.t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
	p.must(err)
	if len(got.Jobs) != 1 {
		p.t.Fatalf("%d jobs claimed", len(got.Jobs))
	}
	return job.Ref{JobID: got.Jobs[0].Job.ID, Lease: got.Lease}
}

func (p *place) finish(session string, ref job.Ref) job.Finished {
	p.t.Helper()
	out, err := p.st.Finish(p.t.Context(), session, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}})
	p.must(err)
	return out[0]
}

// history is what was done before a failover or a restore: some of it is kept, and some is lost.
type history struct {
	session    string
	kept, lost job.Ref // leases
	key        int64   // of a job that was lost
}

// begin does what is kept, then has it kept, and does what is lost.
func (p *place) begin(keep func()) (h history) {
	p.t.Helper()
	h.session = worker(p.t, p.st, "t")
	enqueue(p.t, p.st, "t")
	h.kept = p.claim(h.session)
	keep()
	enqueue(p.t, p.st, "t")
	h.lost = p.claim(h.session)
	made, err := p.st.Enqueue(p.t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc, Key: "k"}})
	p.must(err)
	h.key = made[0].Job.ID
	return h
}

// transaction is one of the node's pool, some of whose connections may have been cut.
func (p *place) transaction() pgx.Tx {
	p.t.Helper()
	var tx pgx.Tx
	var err error
	for range 10 {
		if tx, err = p.st.DB().(*postgres.DB).Pool().Begin(p.t.Context()); err == nil {
			return tx
		}
	}
	p.t.Fatal(err)
	return nil
}

// check is what is promised of a history when some of it was lost.
func (p *place) check(h history) {
	t, ctx := p.t, p.t.Context()
	t.Helper()
	tx := p.transaction()
	if _, err := p.st.FinishTx(ctx, tx, job.Finish{Ref: h.kept, Outcome: job.OutcomeOK}); core.CodeOf(err) != core.Unavailable && core.CodeOf(err) != core.Conflict {
		t.Errorf("a finish in the transaction of a handler: %v", err)
	}
	p.must(tx.Rollback(ctx))
	for name, ref := range map[string]job.Ref{"kept": h.kept, "lost": h.lost} {
		if f := p.finish(h.session, ref); !f.Stale {
			t.Errorf("the finish of an attempt that was %s: %+v", name, f)
		}
	}
	tx = p.transaction()
	_, err := p.st.FinishTx(ctx, tx, job.Finish{Ref: h.kept, Outcome: job.OutcomeOK})
	wantCode(t, err, core.Conflict)
	p.must(tx.Rollback(ctx))
	if r, err := p.st.Renew(ctx, h.session, job.Held(h.kept)); err != nil || !r.Lost {
		t.Errorf("the renewal of a session from before: %+v, %v", r, err)
	}
	// Nothing is answered with what another history had.
	again, err := p.st.Enqueue(ctx, []job.NewJob{{Task: "t", Kind: task.KindFunc, Key: "k"}})
	p.must(err)
	if id := again[0].Job.ID; again[0].Existing || id <= h.key {
		t.Errorf("a key whose job was lost answers job %d, existing %v; the lost one was %d", id, again[0].Existing, h.key)
	}
	if _, err := p.st.Job(ctx, core.AnyNamespace, h.key); core.CodeOf(err) != core.NotFound {
		t.Errorf("a job that was lost: %v", err)
	}
	// What was kept goes on.
	if _, err := p.st.ReleaseLost(ctx); err != nil {
		t.Error(err)
	}
	p.clock.Move(time.Hour) // the time of its next attempt has come
	_, err = p.st.Promote(ctx)
	p.must(err)
	session := worker(t, p.st, "t")
	seen := map[int64]bool{}
	for range 2 {
		ref := p.claim(session)
		if ref.Lease <= h.lost.Lease {
			t.Errorf("a lease has number %d, and %d was given before", ref.Lease, h.lost.Lease)
		}
		if f := p.finish(session, ref); f.Stale || f.State != job.Succeeded {
			t.Errorf("a finish afterwards: %+v", f)
		}
		seen[ref.JobID] = true
	}
	if !seen[h.kept.JobID] {
		t.Errorf("the job that was kept did not run again: %v", seen)
	}
	as, err := p.st.Attempts(ctx, core.AnyNamespace, h.kept.JobID)
	p.must(err)
	if len(as) != 2 || as[0].Outcome != job.OutcomeLost || !strings.Contains(as[0].Error, "promoted or restored") || as[1].Outcome != job.OutcomeOK {
		t.Errorf("attempts: %+v", as)
	}
}

// A standby that was behind is promoted. The old primary comes back afterwards, and some still reach it.
func TestPostgresFailoverToAStandbyThatWasBehind(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	standby := p.server.Standby(t, "one")
	h := p.begin(func() {
		p.must(p.server.Replicate("one"))
		enqueue(t, p.st, "other") // so that the standby has what was before
		p.must(p.server.Replicate(""))
		p.must(standby.CutOff())
	})
	p.must(standby.Promote())
	p.dns.to(standby)
	p.check(h)

	p.dns.to(p.server)
	_, err := p.st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}})
	wantCode(t, err, core.Unavailable, "the database is behind", "stop the old one")
	p.dns.to(standby)
	enqueue(t, p.st, "t")
}

// Of two standbys that are promoted both, a node stays with the one that it has seen.
func TestPostgresFailoverToTwoStandbys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one, two := p.server.Standby(t, "one"), p.server.Standby(t, "two")
	p.must(p.server.Stop())
	p.must(two.Promote())
	p.dns.to(two)
	other := p.open()
	enqueue(t, other, "t")
	p.must(one.Promote())
	p.dns.to(one)
	enqueue(t, p.st, "t")
	p.dns.to(two)
	_, err := p.st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}})
	wantCode(t, err, core.Unavailable, "the database is behind")
}

// A volume goes back to a snapshot below running nodes. The server itself knows nothing of it.
func TestPostgresFailoverToASnapshot(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var restore func() error
	h := p.begin(func() {
		var err error
		restore, err = p.server.Snapshot()
		p.must(err)
	})
	p.must(restore())
	p.check(h)
}

// A dump is restored to another server before the nodes start.
func TestPostgresFailoverToAnotherServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h := p.begin(func() {})
	exec(t, p.url, `update belfry.epoch set system = '7'`)
	p.st = p.open()
	p.st.Close() // once
	p.st = p.open()
	if f := p.finish(h.session, h.kept); !f.Stale {
		t.Errorf("the finish of an attempt from before: %+v", f)
	}
	if n := number(t, p.st, `select count(*) from belfry.sessions where ended_at > 0 and lost = 1`); n != 1 {
		t.Errorf("%d sessions were lost", n)
	}
}

// With synchronous commit nothing that was acknowledged is lost, whenever the standby is promoted. What is not answered
// is unknown or not done, and asked again under its key.
func TestPostgresFailoverToASynchronousStandby(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	standby := p.server.Standby(t, "one")
	p.must(p.server.Replicate("one"))
	const clients, before, after = 4, 50, 10
	var mu sync.Mutex
	known, half := map[int64]bool{}, make(chan struct{})
	var all sync.WaitGroup
	promoted := make(chan struct{})
	for range clients {
		all.Go(func() {
			for n := 0; n < after; {
				es, err := p.st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}})
				if err != nil {
					if code := core.CodeOf(err); code != core.Unavailable && code != core.Unknown {
						t.Error(err)
						return
					}
					select {
					case <-promoted:
					case <-t.Context().Done():
						return
					}
					continue
				}
				mu.Lock()
				if known[es[0].Job.ID] {
					t.Errorf("job %d was made twice", es[0].Job.ID)
				}
				known[es[0].Job.ID] = true
				if len(known) == before {
					close(half)
				}
				mu.Unlock()
				select {
				case <-promoted:
					n++
				default:
				}
			}
		})
	}
	<-half
	p.must(p.server.Kill())
	p.must(standby.Promote())
	p.dns.to(standby)
	close(promoted)
	all.Wait()
	conn, err := pgx.Connect(t.Context(), standby.URL("postgres"))
	p.must(err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), `select id from belfry.jobs`)
	p.must(err)
	there, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	p.must(err)
	for _, id := range there {
		delete(known, id)
	}
	if len(known) > 0 {
		t.Errorf("%d jobs that were acknowledged are not there: %v", len(known), known)
	}
}

// A server that is no primary says so, and several hosts find the one that is.
func TestPostgresFailoverAmongSeveralHosts(t *testing.T) {
	t.Parallel()
	primary := pgtest.NewServer(t, pgtest.Options{})
	st := openAt(t, primary.URL("postgres"), postgres.Options{Wakeups: "poll"})
	enqueue(t, st, "t")
	standby := primary.Standby(t, "one")
	_, err := postgres.Open(t.Context(), standby.URL("postgres"), postgres.Options{})
	wantCode(t, err, core.Unavailable, "takes no writes: it is a standby", "target_session_attrs=read-write")

	both := "postgres://postgres@" + standby.Addr() + "," + primary.Addr() + "/postgres?sslmode=disable&target_session_attrs=read-write"
	st = openAt(t, both, postgres.Options{Wakeups: "poll"})
	enqueue(t, st, "t")
	if err := errors.Join(primary.Stop(), standby.Promote()); err != nil {
		t.Fatal(err)
	}
	enqueue(t, st, "t")
}
