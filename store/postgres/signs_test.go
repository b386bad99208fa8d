package postgres_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

const (
	refuseLength   = `revoke execute on function pg_current_wal_flush_lsn() from public`
	refuseTimeline = `revoke execute on function pg_walfile_name(pg_lsn) from public`
)

// narrow makes a server with a role that may ask little, and returns the role's address.
func narrow(t *testing.T, refuse ...string) (*pgtest.Server, string) {
	t.Helper()
	server := pgtest.NewServer(t, pgtest.Options{})
	exec(t, server.URL("postgres"), append([]string{`create role narrow login`, `grant create on database postgres to narrow`}, refuse...)...)
	return server, strings.Replace(server.URL("postgres"), "postgres@", "narrow@", 1)
}

// A server may refuse what tells of its history, or lack it. Jobs run there, the log says once what is missing, and the
// doctor says what follows.
func TestAServerThatTellsLittleOfItsHistory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse      []string
		signs       view.EpochSigns
		log, detail string
	}{
		"all is told":             {nil, view.SignsTimeline, "", "tells its timeline"},
		"the timeline is refused": {[]string{refuseTimeline}, view.SignsLog, "does not report its timeline", "may be missed"},
		"the timeline is missing": {[]string{`alter function pg_walfile_name(pg_lsn) rename to elsewhere`}, view.SignsLog, "does not report its timeline", "may be missed"},
		"nothing is told":         {[]string{refuseLength, refuseTimeline, `revoke execute on function pg_control_system() from public`, `revoke execute on function pg_current_wal_lsn() from public`}, view.SignsNone, "does not report its log position", "is not noticed"},
		"the length is missing":   {[]string{`alter function pg_current_wal_flush_lsn() rename to elsewhere`}, view.SignsNone, "does not report its log position", "is not noticed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := narrow(t, c.refuse...)
			var log bytes.Buffer
			st := openAt(t, url, postgres.Options{Options: store.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Wakeups: "poll"})
			session := worker(t, st, "t")
			enqueue(t, st, "t")
			got, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
			if err != nil || len(got.Jobs) != 1 {
				t.Fatalf("claimed %+v, %v", got, err)
			}
			tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.EnqueueTx(t.Context(), tx, []job.NewJob{{Task: "t", Kind: task.KindFunc}}); err != nil {
				t.Fatal(err)
			}
			if _, err := st.FinishTx(t.Context(), tx, job.Finish{Ref: job.Ref{JobID: got.Jobs[0].Job.ID, Lease: got.Lease}, Outcome: job.OutcomeOK}); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			d, err := st.DatabaseHealth(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d.Epoch == nil || d.Epoch.Number != 1 || d.Epoch.Signs != c.signs {
				t.Errorf("epoch %+v", d.Epoch)
			}
			if said := epochCheck(d); !said.OK || !strings.Contains(said.Detail, c.detail) || (said.Fix == "") != (c.signs == view.SignsTimeline) {
				t.Errorf("the check says %+v", said)
			}
			if n := strings.Count(log.String(), "server does not report"); n > 1 || (n == 1) != (c.log != "") || !strings.Contains(log.String(), c.log) {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}

func epochCheck(d view.DatabaseHealth) (found core.Check) {
	for _, c := range d.Checks {
		if c.Name == "epoch" {
			found = c
		}
	}
	return found
}

// Without a timeline the length of the log is left, and it shows a volume that went back.
func TestPostgresFailoverToASnapshotWithoutATimeline(t *testing.T) {
	t.Parallel()
	server, url := narrow(t, refuseTimeline)
	p := newPlaceAs(t, server, url)
	var restore func() error
	h := p.begin(func() {
		var err error
		restore, err = p.server.Snapshot()
		p.must(err)
	})
	p.must(restore())
	p.check(h)
	d, err := p.st.DatabaseHealth(t.Context())
	p.must(err)
	if d.Epoch == nil || d.Epoch.Number == 1 || d.Epoch.Since.IsZero() || !strings.Contains(epochCheck(d).Detail, d.Epoch.Since.UTC().Format("since 2006-01-02 ")) {
		t.Errorf("epoch %+v, %+v", d.Epoch, epochCheck(d))
	}
}

// Where nothing is told, a node goes on after a failover, and an operator begins the epoch.
func TestPostgresFailoverThatCannotBeNoticed(t *testing.T) {
	t.Parallel()
	server, url := narrow(t, refuseLength, refuseTimeline)
	p := newPlaceAs(t, server, url)
	standby := server.Standby(t, "one")
	h := p.begin(func() {
		p.must(server.Replicate("one"))
		enqueue(t, p.st, "other")
		p.must(server.Replicate(""))
		p.must(standby.CutOff())
	})
	p.must(standby.Promote())
	p.dns.to(standby)
	if id := enqueue(t, p.st, "other"); id > h.key+1000 { // a server skips some of a sequence when it is promoted
		t.Errorf("job %d after %d: an epoch has begun, and nothing could tell", id, h.key)
	}
	p.must(standby.Exec(`update belfry.epoch set timeline = 'restored'`))
	p.check(h)
}
