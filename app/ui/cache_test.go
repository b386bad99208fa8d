package ui_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// database answers as it is told, and counts.
type database struct {
	mu    sync.Mutex
	board view.Board
	err   error
	takes time.Duration
	reads atomic.Int64
	most  atomic.Int64 // at the same time
	busy  atomic.Int64
}

func (d *database) Board(ctx context.Context, _, _ string) (view.Board, error) {
	d.reads.Add(1)
	if n := d.busy.Add(1); n > d.most.Load() {
		d.most.Store(n)
	}
	defer d.busy.Add(-1)
	d.mu.Lock()
	b, err, takes := d.board, d.err, d.takes
	d.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return view.Board{}, ctx.Err()
	}
	b.At = time.Now()
	return b, err
}

func (d *database) now(takes time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takes, d.err = takes, err
}

func TestAFloodCostsOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{board: fullBoard(), takes: 2 * time.Second}
		h := handler(t, ui.Options{Board: d.Board})
		flood := func() {
			var wg sync.WaitGroup
			for i := range 500 {
				path := []string{"/status/main", "/status/default/main", "/status/main.json", "/status/main/feed.atom"}[i%4]
				wg.Go(func() {
					if a := ask(h, http.MethodGet, path); a.status != http.StatusOK {
						t.Errorf("%d", a.status)
					}
				})
			}
			wg.Wait()
		}
		flood()
		flood()
		if n := d.reads.Load(); n != 1 {
			t.Errorf("%d reads for 1000 visitors", n)
		}
		time.Sleep(59 * time.Second)
		flood()
		if n := d.reads.Load(); n != 1 {
			t.Errorf("%d reads within a minute", n)
		}
		time.Sleep(time.Second)
		flood()
		if n := d.reads.Load(); n != 2 {
			t.Errorf("%d reads after a minute", n)
		}
	})
}

func TestTheFirstVisitorMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{board: fullBoard(), takes: 2 * time.Second}
		h := handler(t, ui.Options{Board: d.Board})
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { askAs(ctx, h, "/status/main") })
		synctest.Wait()
		wg.Go(func() {
			if a := ask(h, http.MethodGet, "/status/main"); a.status != http.StatusOK {
				t.Errorf("%d for who stayed", a.status)
			}
		})
		synctest.Wait()
		leave()
		wg.Wait()
		if n := d.reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
}

func askAs(ctx context.Context, h http.Handler, path string) answer {
	return ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(ctx)) }), http.MethodGet, path)
}

func TestTheLastPageStaysWhileTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &database{board: fullBoard()}
		h := handler(t, ui.Options{Board: d.Board, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		fresh := ask(h, http.MethodGet, "/status/main")
		began := time.Now()

		d.now(0, errors.New("dial tcp 10.1.2.3:5432: secret"))
		time.Sleep(time.Minute)
		for range 100 {
			stale := ask(h, http.MethodGet, "/status/main")
			if stale.status != http.StatusOK || !strings.Contains(stale.body, "could not be refreshed") || !strings.Contains(stale.body, "Last known: api is down") {
				t.Fatalf("%d\n%s", stale.status, stale.body)
			}
			if !strings.Contains(stale.body, began.UTC().Format(time.RFC3339)) {
				t.Error("it does not say how old it is")
			}
			if strings.Contains(stale.body, "secret") || stale.header.Get("ETag") == fresh.header.Get("ETag") || stale.header.Get("Cache-Control") != "public, max-age=5" {
				t.Errorf("%v", stale.header)
			}
		}
		if body := get(t, h, "/status/main.json"); !strings.Contains(body, `"stale":true`) {
			t.Error("the JSON does not say so")
		}
		if n := d.reads.Load(); n != 2 {
			t.Errorf("%d reads: it is asked again and again", n)
		}
		if !strings.Contains(log.String(), "cannot read a status page") || !strings.Contains(log.String(), "secret") {
			t.Errorf("the log says %q", log.String())
		}

		time.Sleep(5 * time.Second)
		if a := ask(h, http.MethodGet, "/status/main"); !strings.Contains(a.body, "could not be refreshed") || d.reads.Load() != 3 {
			t.Errorf("%d reads", d.reads.Load())
		}
		d.now(0, nil)
		time.Sleep(5 * time.Second)
		if a := ask(h, http.MethodGet, "/status/main"); strings.Contains(a.body, "could not be refreshed") || a.header.Get("Cache-Control") != "public, max-age=60" {
			t.Error("it still says so")
		}
	})
}

func TestAPageThatIsGoneIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{board: fullBoard()}
		h := handler(t, ui.Options{Board: d.Board})
		get(t, h, "/status/main")
		d.now(0, core.Errorf(core.NotFound, "no status page"))
		time.Sleep(time.Minute)
		if a := ask(h, http.MethodGet, "/status/main"); a.status != http.StatusNotFound {
			t.Errorf("%d", a.status)
		}
		d.now(0, errors.New("away"))
		time.Sleep(time.Minute)
		if a := ask(h, http.MethodGet, "/status/main"); a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "Acme") {
			t.Errorf("%d\n%s", a.status, a.body)
		}
		d.now(0, nil)
		time.Sleep(5 * time.Second)
		get(t, h, "/status/main")
	})
}

func TestErrorsSayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{err: core.Errorf(core.Unavailable, "dial tcp 10.1.2.3:5432: connection refused")}
		h := handler(t, ui.Options{Board: d.Board})
		for _, path := range []string{"/status/main", "/status/main.json", "/status/main/feed.atom"} {
			a := ask(h, http.MethodGet, path)
			if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("ETag") != "" {
				t.Errorf("%s: %d %v", path, a.status, a.header)
			}
			if strings.Contains(a.body, "10.1.2.3") {
				t.Errorf("%s: %s", path, a.body)
			}
		}
		if n := d.reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestPageReadersWaitBrieflyForAHangingDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{takes: 24 * time.Hour}
		h := handler(t, ui.Options{Board: d.Board})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if a := ask(h, http.MethodGet, fmt.Sprintf("/status/p%d", i)); a.status != http.StatusServiceUnavailable {
					t.Errorf("%d", a.status)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("waited for %s", took)
		}
		if n := d.most.Load(); n > 4 {
			t.Errorf("%d reads at the same time", n)
		}
	})
}

func TestAPanicReleasesAllWaitingReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, ui.Options{Board: func(context.Context, string, string) (view.Board, error) {
			time.Sleep(time.Second)
			panic("oh")
		}})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				defer func() { _ = recover() }()
				if a := ask(h, http.MethodGet, "/status/main"); a.status != http.StatusServiceUnavailable {
					t.Errorf("%d", a.status)
				}
			})
		}
		wg.Wait()
	})
}

func TestMadeUpNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{err: core.Errorf(core.NotFound, "no")}
		h := handler(t, ui.Options{Board: d.Board})
		for i := range 10_000 {
			if a := ask(h, http.MethodGet, fmt.Sprintf("/status/x%d", i)); a.status != http.StatusNotFound {
				t.Fatalf("%d", a.status)
			}
		}
		d.now(0, nil)
		for i := range 400 {
			get(t, h, fmt.Sprintf("/status/y%d", i))
			time.Sleep(time.Millisecond)
		}
		before := d.reads.Load()
		get(t, h, "/status/y399")
		if d.reads.Load() != before {
			t.Error("the last page was dropped")
		}
		get(t, h, "/status/y0")
		if d.reads.Load() != before+1 {
			t.Error("all pages are kept")
		}
	})
}
