package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// dial returns a client of a server.
func dial(t *testing.T, base string, o Options) *Client {
	t.Helper()
	o.RetryWait = cmp.Or(o.RetryWait, time.Millisecond)
	c, err := New(base, "root", o)
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

func TestAddressesAndTokensThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, token, field string }{
		{"", "x", "server"}, {"localhost:8350", "x", "server"}, {"ftp://host", "x", "server"}, {"http://", "x", "server"},
		{"http://user:secret@host", "x", "server"}, {"http://host?x=1", "x", "server"}, {"http://host", "a\nb", "token"},
	} {
		_, err := New(c.base, c.token, Options{})
		var e *core.Error
		if !errors.As(err, &e) || e.Fields[0].Field != c.field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q %q: %v", c.base, c.token, err)
		}
	}
	if _, err := New("http://host", "", Options{CAFile: filepath.Join(t.TempDir(), "none.pem")}); core.CodeOf(err) != core.Invalid {
		t.Errorf("a missing authority: %v", err)
	}
	c := dial(t, "http://host", Options{})
	for _, name := range []string{"", "..", "a/b", "a?b", "*"} {
		if _, err := c.Task(t.Context(), "ns", name); core.CodeOf(err) != core.Invalid {
			t.Errorf("the name %q: %v", name, err)
		}
	}
}

func TestTimesOfCallsFitIntoASession(t *testing.T) {
	t.Parallel()
	if claimMargin >= job.ClaimSettled {
		t.Error("a claim's answer may come after it is said to have settled")
	}
	if tries*renewTimeout >= job.DefaultSessionTTL.D()/2 {
		t.Error("the tries of one renewal leave no room in a session")
	}
}

func TestAServerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1" // a fixed port: a port that was free may be in use by another test now
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := serveFunc(t, http.NotFound)
	stuck := make(chan struct{})
	slow := serveFunc(t, func(http.ResponseWriter, *http.Request) { <-stuck })
	defer close(stuck)
	hang := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	})
	proxy := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "upstream", http.StatusBadGateway) })
	website := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>")
	})
	moved := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	big := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"`+strings.Repeat("x", 2000)+`"}`)
	})
	garbage := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":7}`)
	})
	for _, c := range []struct {
		base string
		code core.Code
		says string
	}{
		{nobody, core.Unavailable, "nothing listens at " + nobody + "; start it with belfry serve"},
		{secure.URL, core.Unavailable, "not trusted; name its authority with --ca-file"},
		{strings.Replace(plain.URL, "http:", "https:", 1), core.Unavailable, "write http:// instead of https://"},
		{slow.URL, core.Unavailable, "did not answer within"},
		{hang.URL, core.Unavailable, "cannot reach the server at " + hang.URL},
		{proxy.URL, core.Unavailable, "answered 502 Bad Gateway, and not as Belfry does"},
		{plain.URL, core.NotFound, "answered 404 Not Found, and not as Belfry does"},
		{website.URL, core.Unavailable, "is not Belfry"},
		{moved.URL, core.Internal, "it points to https://elsewhere.example/"},
		{big.URL, core.TooLarge, "the answer is over the limit of 1 KiB"},
		{garbage.URL, core.Internal, "of the same version?"},
	} {
		var err error
		for _, patience := range []time.Duration{50 * time.Millisecond, 5 * time.Second} { // a busy machine needs more to connect
			o := Options{MaxResponse: 1 << 10}
			if c.base == slow.URL {
				o.Timeout, c.says = patience, "did not answer within "+patience.String()
			}
			if _, err = dial(t, c.base, o).Task(t.Context(), "ns", "n"); strings.Contains(err.Error(), c.says) {
				break
			}
		}
		if core.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s:\n got %s: %v\nwant %s: %s", c.base, core.CodeOf(err), err, c.code, c.says)
		}
	}
	dns := &net.DNSError{Err: "no such host", Name: "belfry.example", IsNotFound: true}
	if err := dial(t, nobody, Options{}).server.unreachable(t.Context(), dns, 0); core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "does not resolve") {
		t.Error(err)
	}
}

// A connection that timed out is tried once more, for a machine that stood still meanwhile. Another fault is not.
func TestAConnectionThatTimedOutIsTriedAgain(t *testing.T) {
	t.Parallel()
	late := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		fails []error
		want  error
		tries int
	}{
		{t.Context(), []error{late}, nil, 2},
		{t.Context(), []error{late, late}, late, 2},
		{t.Context(), []error{syscall.ECONNREFUSED}, syscall.ECONNREFUSED, 1},
		{gone, []error{late}, late, 1},
	} {
		tries := 0
		_, err := dialAgain(func(context.Context, string, string) (net.Conn, error) {
			if tries++; tries > len(c.fails) {
				return nil, nil
			}
			return nil, c.fails[tries-1]
		})(c.ctx, "tcp", "host:1")
		if err != c.want || tries != c.tries { //nolint:errorlint // it is handed on as it is
			t.Errorf("after %v: %v in %d tries, want %v in %d", c.fails, err, tries, c.want, c.tries)
		}
	}
	err := dial(t, "http://host", Options{}).server.unreachable(t.Context(), late, time.Minute)
	if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "the server at http://host accepted no connection in time") {
		t.Errorf("without a connection: %v", err)
	}
}

// A change whose answer is lost may have been made: the client reports that, and
// repeats the call if that does no harm. A read has no unknown outcome.
func TestAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	cutOff := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	})
	halfway := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("{"))
	})
	gateway := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no answer from upstream", http.StatusGatewayTimeout)
	})
	nobody := "http://127.0.0.1:1"
	for name, at := range map[string]string{"cut off": cutOff.URL, "cut off halfway": halfway.URL, "a proxy that waited in vain": gateway.URL, "nobody": nobody} {
		c := dial(t, at, Options{})
		ctx := t.Context()
		for call, want := range map[string]struct {
			do   func() error
			code core.Code
			asks int64
			hint string // after a lost answer
		}{
			"read":   {func() error { _, err := c.Queue(ctx, "q"); return err }, core.Unavailable, 3, ""},
			"create": {func() error { _, err := c.CreateTask(ctx, task.Task{Name: "t"}); return err }, core.Unknown, 1, "look whether it was before you repeat the request"},
			"cancel": {func() error {
				_, err := c.CancelJobs(ctx, "default", view.Selection{IDs: []int64{1}})
				return err
			}, core.Unknown, 1, "repeat the request: jobs that have ended are left as they are"},
			"pause":          {func() error { _, err := c.PauseQueue(ctx, "q", ""); return err }, core.Unknown, 1, "it does no harm"},
			"update":         {func() error { _, err := c.UpdateTask(ctx, task.Task{Name: "t"}); return err }, core.Unknown, 1, "repeat the same request"},
			"delete":         {func() error { return c.DeleteTask(ctx, "default", "t") }, core.Unknown, 1, "what is not found then is deleted"},
			"enqueue":        {func() error { _, err := c.Enqueue(ctx, make([]job.NewJob, 1)); return err }, core.Unknown, 1, "look whether it was before you repeat the request" + wire.RepeatWithKey},
			"enqueue by key": {func() error { _, err := c.Enqueue(ctx, []job.NewJob{{Key: "a"}}); return err }, core.Unknown, 3, "repeat the same request"},
			"signal":         {func() error { _, err := c.SendSignal(ctx, "default", 7, workflow.Signal{Name: "go"}); return err }, core.Unknown, 1, "look whether it was before you repeat the request" + wire.RepeatWithID},
			"signal with id": {func() error {
				_, err := c.SendSignal(ctx, "default", 7, workflow.Signal{Name: "go", ID: "a"})
				return err
			}, core.Unknown, 3, "repeat the same request"},
			"signal to a job": {func() error { _, err := c.SignalJob(ctx, "default", 7, job.Signal{Name: "go"}); return err }, core.Unknown, 3, "repeat the same request"},
			"finish":          {func() error { _, err := c.Finish(ctx, "s", make([]job.Finish, 1)); return err }, core.Unknown, 3, "repeat the same request"},
		} {
			switch at {
			case nobody:
				want.code, want.asks, want.hint = core.Unavailable, 0, ""
			case gateway.URL:
				want.hint = ""
			}
			asked.Store(0)
			err := want.do()
			if core.CodeOf(err) != want.code {
				t.Errorf("%s, %s: %v, code %s, want %s", name, call, err, core.CodeOf(err), want.code)
			}
			var e *core.Error
			if !errors.As(err, &e) || !strings.Contains(e.Hint, want.hint) {
				t.Errorf("%s, %s: %v, want the hint %q", name, call, err, want.hint)
			}
			if (call == "create" || call == "cancel") && e != nil && strings.Contains(e.Hint, "key") {
				t.Errorf("%s, %s: the hint %q names a key, which the call does not take", name, call, e.Hint)
			}
			if n := asked.Load(); n < want.asks || want.asks == 1 && n > 1 {
				t.Errorf("%s, %s: asked %d times, want %d", name, call, n, want.asks)
			}
		}
	}
}

// A call whose first answer was lost may have made its change, even if the server cannot be reached for the repeated calls.
func TestALostAnswerIsNotForgottenWhenTheServerIsAway(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := serveFunc(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_ = r.Context().Value(http.ServerContextKey).(*http.Server).Close() // cuts this call and accepts no other
	})
	_, err := dial(t, s.URL, Options{}).Enqueue(t.Context(), []job.NewJob{{Key: "a"}})
	if core.CodeOf(err) != core.Unknown || asked.Load() != 1 {
		t.Errorf("asked %d times: %s: %v", asked.Load(), core.CodeOf(err), err)
	}
}

// dialPipes returns a client of a handler with connections in memory, so that a test can run in a synctest bubble.
func dialPipes(t *testing.T, h http.HandlerFunc, o Options) *Client {
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
	o.Transport = &http.Transport{DialContext: l.dial, DisableKeepAlives: true}
	return dial(t, "http://pipe", o)
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

func TestAServerThatNeverOpensAStreamIsSaidToBeSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dialPipes(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Options{})
		err := c.Watch(t.Context(), "*", func(view.Event) error { return nil })
		if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "did not answer within 45s") {
			t.Error(err)
		}
	})
}

func TestTheHintOfALostCommitIsThatOfTheCall(t *testing.T) {
	t.Parallel()
	s := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(wire.StatusOf(core.Unknown))
		_, _ = io.WriteString(w, `{"code":"unknown","detail":"lost","hint":"look`+wire.RepeatWithKey+`"}`)
	})
	c := dial(t, s.URL, Options{})
	for call, err := range map[string]error{
		"the change may have been made; look whether it was before you repeat the request": func() error { _, err := c.CreateTask(t.Context(), task.Task{Name: "t"}); return err }(),
		"the change may have been made; repeat the same request: the change is made once": func() error {
			_, err := c.RetryWorkflow(t.Context(), "default", 7, workflow.Retrying{Key: "k"})
			return err
		}(),
	} {
		var e *core.Error
		if !errors.As(err, &e) || e.Code != core.Unknown || e.Hint != call {
			t.Errorf("got %v, want the hint %q", err, call)
		}
	}
}
