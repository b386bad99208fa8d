package postgres_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// commits does something to the next that is sent.
type commits struct {
	next, last atomic.Pointer[func(c *cuttable, sent []byte) (int, error)]
}

func (s *commits) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &cuttable{Conn: conn, of: s}, err
}

// cuttable is a connection to the server that can be cut.
type cuttable struct {
	net.Conn
	of   *commits
	deaf atomic.Bool // what is answered is lost, and the connection with it
}

func (c *cuttable) Write(p []byte) (int, error) {
	if do := c.of.next.Swap(nil); do != nil {
		return (*do)(c, p)
	}
	return c.Conn.Write(p)
}

func (c *cuttable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.deaf.Load() {
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// A connection that is cut while a commit is under way leaves it open whether it
// was carried out. That is said, and nothing is done twice.
func TestACommitThatIsCutOff(t *testing.T) {
	t.Parallel()
	var cut commits
	st, err := postgres.OpenDialed(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll"}, cut.dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	insert := `insert into belfry.queues (name, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at)
		select $1, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at from belfry.queues where name = 'default'`
	for form, write := range map[string]func(ctx context.Context, tx base.Tx, name string, last func()) error{
		"commit": func(ctx context.Context, tx base.Tx, name string, last func()) error {
			_, err := tx.Exec(ctx, insert, name)
			last()
			return err
		},
		"commit behind a statement": func(ctx context.Context, tx base.Tx, name string, last func()) error {
			last()
			return base.ExecSoon(ctx, tx, insert, name)
		},
	} {
		for moment, c := range map[string]struct {
			do   func(leave func(), c *cuttable, sent []byte) (int, error)
			code core.Code
			made int64
		}{
			"before it arrives": {func(_ func(), c *cuttable, _ []byte) (int, error) {
				_ = c.Close()
				return 1, io.ErrUnexpectedEOF
			}, core.Unknown, 0},
			"before it is answered": {func(_ func(), c *cuttable, sent []byte) (int, error) {
				c.deaf.Store(true)
				return c.Conn.Write(sent)
			}, core.Unknown, 1},
			"and then its caller leaves": {func(leave func(), c *cuttable, sent []byte) (int, error) {
				leave()
				return c.Conn.Write(sent)
			}, "", 1},
		} {
			name, tries := form+" "+moment, 0
			ctx, leave := context.WithCancel(t.Context())
			do := func(conn *cuttable, sent []byte) (int, error) { return c.do(leave, conn, sent) }
			before := func(tx base.Tx, _ base.Moment) error { return write(ctx, tx, name+", prepared", func() {}) }
			if err := st.DB().Write(ctx, before); err != nil { // after which the statements travel alone
				t.Fatal(err)
			}
			err := st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error {
				tries++
				return write(ctx, tx, name, func() { cut.next.Store(&do) })
			})
			leave()
			if core.CodeOf(err) != c.code || tries != 1 || cut.next.Load() != nil {
				t.Errorf("%s: %v, code %q, after %d tries", name, err, core.CodeOf(err), tries)
			}
			if err != nil && !strings.Contains(err.Error(), "unknown") {
				t.Errorf("%s: it says %q", name, err)
			}
			if n := number(t, st, `select count(*) from belfry.queues where name = $1`, name); n != c.made {
				t.Errorf("%s: %d rows", name, n)
			}
		}
	}
}

// Asked again under its key, what was cut off is answered with the job that was made.
func TestAnEnqueueThatIsCutOffIsAskedAgain(t *testing.T) {
	t.Parallel()
	var cut commits
	st, err := postgres.OpenDialed(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll", SimpleProtocol: true}, cut.dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	lose := func(c *cuttable, sent []byte) (int, error) {
		if !bytes.Contains(sent, []byte("commit")) {
			c.of.next.Store(c.of.last.Load())
			return c.Conn.Write(sent)
		}
		c.deaf.Store(true)
		return c.Conn.Write(sent)
	}
	cut.last.Store(&lose)
	ask := []job.NewJob{{Task: "t", Kind: task.KindFunc, Key: "k"}}
	cut.next.Store(&lose)
	_, err = st.Enqueue(t.Context(), ask)
	wantCode(t, err, core.Unknown, "one with an idempotency key can be repeated")
	again, err := st.Enqueue(t.Context(), ask)
	if err != nil || !again[0].Existing || number(t, st, `select count(*) from belfry.jobs`) != 1 {
		t.Errorf("asked again: %+v, %v", again, err)
	}
}
