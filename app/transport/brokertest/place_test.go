package brokertest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
)

// place is a queue or stream of a real server, which is the test's own.
type place struct {
	*gate
	log *logs
	// client opens a client that goes through the gate.
	client func(t *testing.T) transport.Carrier
	// send puts a message there that Belfry did not write.
	send func(t *testing.T, body string)
	// giveUpAfter changes after how many deliveries a message is given up.
	giveUpAfter func(t *testing.T, n int)
	// dead counts what was put aside.
	dead func(t *testing.T) int
	// refuse lets the server refuse one message of the next batch.
	refuse func(t *testing.T)
}

// How long messages are kept from others: longer than a test takes on a slow
// machine, or as shortly as SQS can.
const (
	long  = transport.Hold
	brief = time.Second
)

// patience is how long a test waits for what must come, on any machine.
const patience = 2 * time.Minute

// places makes an empty place at each kind of broker. It is not set up.
var places = map[string]func(t *testing.T, hold time.Duration) *place{"sqs": newSQS, "nats": newNATS}

var named atomic.Int32

func newName() string { return fmt.Sprintf("render-%d", named.Add(1)) }

// onEach runs a test at each kind of broker, by one client of a place that is
// set up.
func onEach(t *testing.T, hold time.Duration, test func(t *testing.T, p *place, c transport.Carrier)) {
	t.Helper()
	t.Parallel()
	for kind, newPlace := range places {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, hold)
			c := p.client(t)
			must(t, c.Setup(t.Context()))
			test(t, p, c)
		})
	}
}

// logs is a handler's output.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func tickets(from, to int64) (ts []job.Ticket) {
	for id := from; id <= to; id++ {
		ts = append(ts, job.Ticket{JobID: id, Secret: fmt.Sprintf("secret-%d", id)})
	}
	return ts
}

// receive waits for n messages.
func receive(t *testing.T, c transport.Source, n int) (deliveries []job.Delivery) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(deliveries) < n {
		got, err := c.Receive(ctx, n-len(deliveries), 5*time.Second)
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(deliveries), n, err)
		}
		deliveries = append(deliveries, got...)
	}
	return deliveries
}

// wantNone fails when there is a message that can be had now.
func wantNone(t *testing.T, c transport.Source) {
	t.Helper()
	got, err := c.Receive(t.Context(), 10, 0)
	must(t, err)
	if len(got) > 0 {
		t.Errorf("there is %+v", got)
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal("never:", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, want core.Code) {
	t.Helper()
	if got := core.CodeOf(err); got != want {
		t.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	for _, start := range []func() (stop func(), err error){startSQS, startNATS} {
		stop, err := start()
		if err != nil {
			fmt.Fprintln(os.Stderr, "server of the tests:", err)
			return 1
		}
		defer stop()
	}
	return pgtest.Main(m)
}
