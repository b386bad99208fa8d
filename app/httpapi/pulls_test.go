package httpapi

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// queue is events of a pulled hook whose cursors are their numbers.
type queue struct {
	mu     sync.Mutex
	n      int
	missed int64
	grown  chan struct{}
}

func newQueue(b *bench) *queue {
	q := &queue{grown: make(chan struct{})}
	b.when("PullEvents", func(ctx context.Context, args []any) (any, error) {
		return q.since(ctx, args[2].(string), args[3].(time.Duration))
	})
	return q
}

func (q *queue) add(n int, missed int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n, q.missed = q.n+n, missed
	close(q.grown)
	q.grown = make(chan struct{})
}

func (q *queue) since(ctx context.Context, after string, wait time.Duration) (any, error) {
	for {
		q.mu.Lock()
		from, err := strconv.Atoi(core.Or(after, "0"))
		if err != nil || from > q.n {
			q.mu.Unlock()
			return nil, core.InvalidField("after", after, "is not a cursor", "")
		}
		p := hook.Pulled{Next: strconv.Itoa(q.n), Missed: q.missed}
		for i := from; i < q.n; i++ {
			p.Events = append(p.Events, hook.Numbered{Cursor: strconv.Itoa(i + 1), Event: hook.Event{ID: int64(i + 1), Type: "job.failed", At: apitest.Filled[time.Time]()}})
		}
		q.missed = 0
		grown := q.grown
		q.mu.Unlock()
		if len(p.Events) > 0 || wait == 0 {
			return p, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestAPulledHookIsStreamedAndResumed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := newQueue(b)
	q.add(2, 0)
	resp := b.open(t, "/v1/hooks/n/stream")
	r := wire.NewSSEReader(resp.Body, func() {})
	for i := range 2 {
		e, err := r.Next()
		if err != nil || e.ID != strconv.Itoa(i+1) || e.Name != "job.failed" || !strings.Contains(string(e.Data), `"id":`+e.ID+",") || strings.Contains(string(e.Data), "cursor") {
			t.Fatalf("%+v %s, %v", e, e.Data, err)
		}
	}
	q.add(1, 7)
	missed, _ := r.Next()
	e, err := r.Next()
	if err != nil || missed.Name != "missed" || missed.HasID || string(missed.Data) != `{"missed":7}` || e.ID != "3" {
		t.Errorf("%+v %s %+v, %v", missed, missed.Data, e, err)
	}
	resp.Body.Close()
	resp = b.open(t, "/v1/hooks/n/stream?after=0", "Last-Event-ID", "2")
	defer resp.Body.Close()
	if e, err := wire.NewSSEReader(resp.Body, func() {}).Next(); err != nil || e.ID != "3" {
		t.Errorf("resumed with %+v, %v", e, err)
	}
	b.refused(t, 422, "GET", "/v1/hooks/n/stream?after=nonsense", "")
	b.refused(t, 422, "GET", "/v1/hooks/n/pull?wait=soon", "")
}

func TestPollsOfAPulledHookThatWaitAreStreams(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.MaxStreams = 1 })
	q := newQueue(b)
	q.add(1, 0)
	stream := b.open(t, "/v1/hooks/n/stream")
	defer stream.Body.Close()
	b.refused(t, 503, "GET", "/v1/hooks/n/pull?wait=30s", "")
	if p, err := b.client.PullEvents(t.Context(), "default", "n", "", 0); err != nil || len(p.Events) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestListenReconnectsAndLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := newQueue(b)
	q.add(1, 3)
	enough := errors.New("seen enough")
	var got, missed []int64
	started, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		done <- b.client.ListenHook(t.Context(), "default", "n", "", func(e hook.Numbered) error {
			if got = append(got, e.ID); strconv.FormatInt(e.ID, 10) != e.Cursor {
				t.Errorf("event %d has the cursor %s", e.ID, e.Cursor)
			}
			switch len(got) {
			case 1:
				started <- struct{}{}
			case 3:
				return enough
			}
			return nil
		}, func(n int64) { missed = append(missed, n) })
	}()
	<-started
	b.cut()
	q.add(2, 0)
	if err := <-done; !errors.Is(err, enough) || !slices.Equal(got, []int64{1, 2, 3}) || !slices.Equal(missed, []int64{3}) {
		t.Errorf("ended with %v after %v, missed %v", err, got, missed)
	}
}
