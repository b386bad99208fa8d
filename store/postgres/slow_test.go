package postgres_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// slowConn sends 2 MB a second, as a busy machine or a narrow network does.
type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (n int, err error) {
	const piece = 64 << 10
	for err == nil && n < len(p) {
		if len(p)-n >= piece { // short messages cost nothing
			time.Sleep(piece * time.Second / 2_000_000)
		}
		var sent int
		sent, err = c.Conn.Write(p[n:min(n+piece, len(p))])
		n += sent
	}
	return n, err
}

// PostgreSQL ends a transaction whose node says nothing for 5 s, and this batch takes longer to send. The node is not frozen.
func TestALargeBatchIsSentSlowly(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := postgres.OpenDialed(ctx, pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll"}, func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return slowConn{conn}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	input := json.RawMessage(`"` + strings.Repeat("x", 250_000) + `"`)
	ns := make([]job.NewJob, 56)
	for i := range ns {
		ns[i] = job.NewJob{Task: "t", Kind: task.KindFunc, Input: input}
	}
	es, err := st.Enqueue(ctx, ns)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range es {
		if j, err := st.Job(ctx, "default", e.Job.ID); err != nil || len(j.Input) != len(input) || i > 0 && e.Job.ID <= es[i-1].Job.ID {
			t.Fatalf("job %d of the batch: got %d with %d bytes, error %v", i, e.Job.ID, len(j.Input), err)
		}
	}
}
