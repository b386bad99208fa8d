package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// dial makes a client of any server.
func dial(t *testing.T, base string, o client.Options) *client.Client {
	t.Helper()
	o.RetryWait = cmp.Or(o.RetryWait, time.Millisecond)
	c, err := client.New(base, "root", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func serveFunc(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestAnAuthorityOfOnesOwnIsTrusted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secure := httptest.NewTLSServer(b.server.Handler())
	defer secure.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, secure.URL, client.Options{CAFile: file}).Queues(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.New(secure.URL, "", client.Options{CAFile: file}); core.CodeOf(err) != core.Invalid {
		t.Error(err)
	}
}

func TestAMissingTokenIsExplainedAndALostSessionIsNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, secret := range []string{"", "nobody"} {
		_, err := b.as(t, secret).Queues(t.Context())
		if core.CodeOf(err) != core.Unauthorized || !strings.Contains(err.Error(), "--token, BELFRY_TOKEN or a token file") {
			t.Errorf("with the token %q: %v", secret, err)
		}
	}
	b.when("Claim", func(context.Context, []any) (any, error) {
		return nil, core.Errorf(core.Unauthorized, "the session is over")
	})
	_, err := b.client.Claim(t.Context(), job.ClaimRequest{Session: "s"})
	if core.CodeOf(err) != core.Unauthorized || strings.Contains(err.Error(), "token") {
		t.Errorf("a lost session: %v", err)
	}
}

func TestOnlyIdempotentCallsAreRepeated(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		api.WriteProblem(w, api.Describe(core.Errorf(core.Unavailable, "not now"), "id"))
	})
	c := dial(t, s.URL, client.Options{})
	ctx := t.Context()
	for name, call := range map[string]struct {
		tries int64
		do    func() error
	}{
		"get":             {3, func() error { _, err := c.Task(ctx, "ns", "n"); return err }},
		"create":          {1, func() error { _, err := c.CreateTask(ctx, task.Task{Name: "t"}); return err }},
		"delete":          {1, func() error { return c.DeleteTask(ctx, "ns", "n") }},
		"claim":           {1, func() error { _, err := c.Claim(ctx, job.ClaimRequest{Session: "s"}); return err }},
		"open":            {1, func() error { _, err := c.OpenSession(ctx, job.WorkerInfo{}); return err }},
		"renew":           {3, func() error { _, err := c.Renew(ctx, "s", job.Held()); return err }},
		"finish":          {3, func() error { _, err := c.Finish(ctx, "s", make([]job.Finish, 1)); return err }},
		"append":          {3, func() error { return c.Append(ctx, "s", make([]job.LogPiece, 1)) }},
		"close":           {3, func() error { return c.CloseSession(ctx, "s") }},
		"enqueue":         {1, func() error { _, err := c.Enqueue(ctx, make([]job.NewJob, 1)); return err }},
		"enqueue by key":  {3, func() error { _, err := c.Enqueue(ctx, []job.NewJob{{Key: "a"}, {Key: "b"}}); return err }},
		"enqueue by half": {1, func() error { _, err := c.Enqueue(ctx, []job.NewJob{{Key: "a"}, {}}); return err }},
		"retry":           {1, func() error { _, err := c.RetryJobs(ctx, "ns", view.Selection{IDs: []int64{1}}); return err }},
		"retry by key":    {3, func() error { _, err := c.RetryJobs(ctx, "ns", view.Selection{IDs: []int64{1}, Key: "k"}); return err }},
		"run retry":       {1, func() error { _, err := c.RetryWorkflow(ctx, "ns", 1, workflow.Retrying{}); return err }},
		"run retry, key":  {3, func() error { _, err := c.RetryWorkflow(ctx, "ns", 1, workflow.Retrying{Key: "k"}); return err }},
		"watch":           {1, func() error { return c.Watch(ctx, "ns", nil) }},
		"apply":           {1, func() error { _, err := c.Apply(ctx, view.Manifest{}, view.ApplyOptions{}); return err }},
		"dry run":         {3, func() error { _, err := c.Apply(ctx, view.Manifest{}, view.ApplyOptions{DryRun: true}); return err }},
	} {
		asked.Store(0)
		if err := call.do(); core.CodeOf(err) != core.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
		if n := asked.Load(); n != call.tries {
			t.Errorf("%s was asked %d times, want %d", name, n, call.tries)
		}
	}
}

func TestARepetitionThatSucceedsIsAllTheCallerSees(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var failures atomic.Int64
	b.when("Queue", func(context.Context, []any) (any, error) {
		if failures.Add(1) < 3 {
			return nil, core.Errorf(core.Unavailable, "the database restarts")
		}
		return job.QueueStats{Running: 5}, nil
	})
	if q, err := b.client.Queue(t.Context(), "q"); err != nil || q.Running != 5 {
		t.Errorf("%+v %v", q, err)
	}
}

func TestClientRetriesEndWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		api.WriteProblem(w, api.Describe(core.Errorf(core.Unavailable, "not now"), "id"))
	})
	c := dial(t, s.URL, client.Options{RetryWait: time.Hour})
	if _, err := c.Queues(ctx); err == nil {
		t.Error("no error")
	}
}

func TestLargeFinishesAndLogsGoInPartsThatTheServerTakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	var parts [][]job.Finish
	b.when("Finish", func(_ context.Context, args []any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		fs := args[1].([]job.Finish)
		parts = append(parts, fs)
		done := make([]job.Finished, len(fs))
		for i, f := range fs {
			done[i].Ref = f.Ref
		}
		return done, nil
	})
	output := json.RawMessage(`"` + strings.Repeat("x", core.MaxOutput-2) + `"`)
	fs := make([]job.Finish, 5)
	for i := range fs {
		fs[i] = job.Finish{Ref: job.Ref{JobID: int64(i), Lease: 5}, Outcome: job.OutcomeOK, Output: output}
	}
	done, err := b.client.Finish(t.Context(), "s", fs)
	if err != nil || len(done) != 5 || len(parts) < 3 {
		t.Fatalf("%d answers in %d parts: %v", len(done), len(parts), err)
	}
	for i := range done {
		if done[i].JobID != int64(i) {
			t.Errorf("answer %d is of job %d", i, done[i].JobID)
		}
	}
	files := make([]task.Output, task.MaxOutputs)
	for i := range files {
		files[i] = task.Output{Name: strconv.Itoa(i) + strings.Repeat("n", task.MaxOutputName-3), SHA256: strings.Repeat("0", 64)}
	}
	for name, f := range map[string]job.Finish{
		"pages": {Check: &task.CheckResult{Page: &task.PageSeen{Text: strings.Repeat("x", task.MaxPageText)}}},
		"files": {Sandboxed: &task.Sandboxed{Outputs: files}},
	} {
		for i := range fs {
			f.Ref, f.Outcome = fs[i].Ref, job.OutcomeOK
			fs[i] = f
		}
		many := slices.Repeat(fs, 6)
		if done, err := b.client.Finish(t.Context(), "s", many); err != nil || len(done) != len(many) {
			t.Errorf("%s: %d answers, %v", name, len(done), err)
		}
	}
	pieces := make([]job.LogPiece, 20)
	for i := range pieces {
		pieces[i] = job.LogPiece{Seq: i, Stream: job.Stdout, Text: strings.Repeat("\x01", job.MaxLogPiece)}
	}
	if err := b.client.Append(t.Context(), "s", pieces); err != nil {
		t.Error(err)
	}
	if _, err := b.client.Finish(t.Context(), "s", nil); err != nil {
		t.Errorf("nothing to finish: %v", err)
	}
}

func TestRenewalsHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	by := map[string]string{}
	s := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		by[r.RemoteAddr] += r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] + " "
		api.WriteJSON(w, 200, struct{}{})
	})
	c := dial(t, s.URL, client.Options{})
	for range 3 {
		_, errC := c.Claim(t.Context(), job.ClaimRequest{Session: "s"})
		_, errR := c.Renew(t.Context(), "s", job.Held())
		if errC != nil || errR != nil {
			t.Fatal(errC, errR)
		}
	}
	if len(by) != 2 {
		t.Errorf("%d connections: %v", len(by), by)
	}
	for _, paths := range by {
		if strings.Contains(paths, "claim") == strings.Contains(paths, "renew") {
			t.Errorf("a connection carried %s", paths)
		}
	}
}

// dialPipes makes a client of a handler whose connections stay in memory, so that a test may run in a synctest bubble.
func dialPipes(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return dial(t, "http://pipe", client.Options{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}})
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func TestASilentStreamIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		c := dialPipes(t, func(w http.ResponseWriter, r *http.Request) {
			out := api.NewSSE(w)
			if opened.Add(1) > 1 {
				if r.Header.Get("Last-Event-ID") != "1" {
					t.Errorf("came back with the id %q", r.Header.Get("Last-Event-ID"))
				}
				_ = out.Send("job", "2", view.Event{Type: "job"})
				return
			}
			_ = out.Mark("1")
			<-r.Context().Done() // and nothing more, not even a beat
		})
		began, enough := time.Now(), errors.New("enough")
		if err := c.Watch(t.Context(), "*", func(view.Event) error { return enough }); !errors.Is(err, enough) {
			t.Error(err)
		}
		if silent := time.Since(began); silent < 45*time.Second || silent > 46*time.Second {
			t.Errorf("the silent stream was left after %s", silent)
		}
	})
}
