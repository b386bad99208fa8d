package exchange_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// switching is a server that answers every request with 101 and holds the connection
// until the client has closed it.
func switching(t *testing.T) (s *httptest.Server, gone chan struct{}) {
	t.Helper()
	gone = make(chan struct{}, 10)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
		gone <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s, gone
}

func client(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: exchange.Transport{RoundTripper: http.DefaultTransport.(*http.Transport).Clone()}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func request(t *testing.T, ctx context.Context, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestASwitchOfProtocolsUnaskedIsRefused(t *testing.T) {
	t.Parallel()
	s, gone := switching(t)
	resp, err := client(t).Do(request(t, t.Context(), s.URL))
	if !errors.Is(err, exchange.ErrSwitched) {
		_ = resp.Body.Close()
		t.Errorf("got %v", err)
	}
	<-gone
}

func TestTheEndOfTheContextEndsAnUpgrade(t *testing.T) {
	t.Parallel()
	s, gone := switching(t)
	var resp *http.Response
	for wait := 300 * time.Millisecond; resp == nil; wait *= 8 { // a busy machine may not have switched by then
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		req := request(t, ctx, s.URL)
		req.Header.Set("Upgrade", "foo")
		var err error
		if resp, err = client(t).Do(req); err != nil && wait > time.Minute {
			t.Fatal(err)
		}
	}
	defer func() { _ = resp.Body.Close() }()
	if _, writes := resp.Body.(io.Writer); !writes {
		t.Error("the connection cannot be written to")
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	<-gone
}

func TestTheEndOfTheContextEndsABody(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := client(t).Do(request(t, ctx, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAWholeBodyIsRead(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "all") }))
	t.Cleanup(s.Close)
	resp, err := client(t).Do(request(t, t.Context(), s.URL))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != "all" || resp.Body.Close() != nil {
		t.Errorf("%q, %v", got, err)
	}
}
