package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// feed is events under growing cursors, which are their numbers.
type feed struct {
	mu     sync.Mutex
	events []view.Event
	grown  chan struct{}
}

func newFeed(b *bench) *feed {
	f := &feed{grown: make(chan struct{})}
	b.when("Events", func(ctx context.Context, args []any) (any, error) {
		return f.since(ctx, args[1].(string), args[2].(time.Duration))
	})
	return f
}

func (f *feed) add(types ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, typ := range types {
		f.events = append(f.events, view.Event{Type: typ, At: apitest.Filled[time.Time](), Job: &job.Job{ID: int64(len(f.events) + 1)}})
	}
	close(f.grown)
	f.grown = make(chan struct{})
}

func (f *feed) since(ctx context.Context, cursor string, wait time.Duration) (any, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		f.mu.Lock()
		from, err := strconv.Atoi(cursor)
		if cursor == "" {
			from, err = len(f.events), nil
		}
		if err != nil || from > len(f.events) {
			f.mu.Unlock()
			return nil, core.InvalidField("cursor", cursor, "is not a cursor", "")
		}
		page := wire.EventPage{Events: slices.Clone(f.events[from:]), Next: strconv.Itoa(len(f.events))}
		grown := f.grown
		f.mu.Unlock()
		if len(page.Events) > 0 || wait == 0 {
			return page, nil
		}
		select {
		case <-grown:
		case <-timer.C:
			return page, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestEventsAreResumedWhereTheyBrokeOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := newFeed(b)
	f.add("job", "job") // before anybody looks
	resp := b.open(t, "/v1/events")
	r := wire.NewSSEReader(resp.Body, func() {})
	first, err := r.Next()
	if err != nil || first.ID != "2" || first.Data != nil {
		t.Fatalf("a stream begins with %+v, %v; want the id it begins at", first, err)
	}
	f.add("job", "change")
	third, _ := r.Next()
	fourth, err := r.Next()
	if err != nil || third.Name != "job" || third.HasID || fourth.Name != "change" || fourth.ID != "4" {
		t.Fatalf("%+v %+v %v", third, fourth, err)
	}
	resp.Body.Close()
	f.add("job")
	for _, resumed := range []*http.Response{b.open(t, "/v1/events?cursor=4"), b.open(t, "/v1/events?cursor=1", "Last-Event-ID", "4")} {
		e, err := wire.NewSSEReader(resumed.Body, func() {}).Next()
		if err != nil || e.ID != "5" || !bytes.Contains(e.Data, []byte(`"id":5`)) {
			t.Errorf("resumed with %+v %s, %v", e, e.Data, err)
		}
		resumed.Body.Close()
	}
	b.refused(t, 422, "GET", "/v1/events?cursor=nonsense", "")
}

func TestAQuietStreamBeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	newFeed(b)
	resp := b.open(t, "/v1/events")
	defer resp.Body.Close()
	buf, beats := make([]byte, 4096), 0
	for beats < 3 {
		n, err := resp.Body.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		beats += bytes.Count(buf[:n], []byte(": beat\n\n"))
	}
}

func TestWatchReconnectsAndLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := newFeed(b)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("seen enough")
	var got []int64
	started := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- b.client.Watch(ctx, "*", func(e view.Event) error {
			got = append(got, e.Job.ID)
			switch len(got) {
			case 1:
				started <- struct{}{}
			case 3:
				return enough
			}
			return nil
		})
	}()
	// The watcher is there once the service is asked with a cursor.
	b.await(t.Context(), "Events", 2)
	f.add("job")
	<-started
	b.cut()
	f.add("job", "job")
	if err := <-done; !errors.Is(err, enough) {
		t.Errorf("ended with %v", err)
	}
	cancel(nil)
	if !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}

func TestWatchEndsWithItsContextAndWithRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	newFeed(b)
	why := errors.New("the user pressed ^C")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.client.Watch(ctx, "*", func(view.Event) error { return nil }) }()
	b.await(t.Context(), "Events", 2)
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("ended with %v", err)
	}
	if err := b.as(t, "nobody").Watch(t.Context(), "*", nil); core.CodeOf(err) != core.Unauthorized {
		t.Errorf("without a token: %v", err)
	}
	// An error in the middle of a stream is told, not guessed from its end.
	b.when("Events", func(_ context.Context, args []any) (any, error) {
		if args[1] == "" {
			return wire.EventPage{Next: "1"}, nil
		}
		return nil, core.Errorf(core.Conflict, "too far behind").WithHint("begin anew")
	})
	err := b.client.Watch(t.Context(), "*", func(view.Event) error { return nil })
	if core.CodeOf(err) != core.Conflict || !strings.Contains(err.Error(), "begin anew") {
		t.Errorf("an error in the stream came as %v", err)
	}
}

func TestStreamsAreCountedAndGivenBack(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.MaxStreams = 1 })
	newFeed(b)
	one := b.open(t, "/v1/events")
	b.refused(t, 503, "GET", "/v1/events", "")
	b.refused(t, 503, "GET", "/v1/jobs/1/logs?follow=true", "")
	b.server.Close()
	_, _ = io.Copy(io.Discard, one.Body)
	one.Body.Close()
	if n := b.server.Streams(); n != 0 {
		t.Errorf("%d streams are still counted", n)
	}
}

// logbook is the log of one job, in pages of two. The last has a cursor for
// what comes after it, as the store's has, only when asked for.
type logbook struct {
	always bool
	mu     sync.Mutex
	lines  []job.LogLine
	job    job.Job
	reads  int
}

func newLogbook(b *bench) *logbook {
	l := &logbook{job: job.Job{ID: 9, State: job.Running, Attempt: 1}}
	b.when("Job", func(context.Context, []any) (any, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.job, nil
	})
	b.when("Logs", func(_ context.Context, args []any) (any, error) { return l.page(args[2].(job.LogFilter)) })
	return l
}

func (l *logbook) page(f job.LogFilter) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	from := 0
	if f.Cursor != "" {
		if _, err := fmt.Sscanf(f.Cursor, "after.%d", &from); err != nil {
			return nil, core.InvalidField("cursor", f.Cursor, "is not a cursor", "")
		}
	}
	var p core.Page[job.LogLine]
	for i := from; i < len(l.lines); i++ {
		if f.Attempt > 0 && l.lines[i].Attempt != f.Attempt {
			continue
		}
		if len(p.Items) == 2 {
			p.Next = fmt.Sprintf("after.%d", i)
			break
		}
		p.Items = append(p.Items, l.lines[i])
		if l.always {
			p.Next = fmt.Sprintf("after.%d", i+1)
		}
	}
	if l.always && p.Next == "" {
		p.Next = f.Cursor
	}
	return p, nil
}

func (l *logbook) write(attempt int, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		seq := 0
		for _, line := range l.lines {
			if line.Attempt == attempt {
				seq++
			}
		}
		l.lines = append(l.lines, job.LogLine{
			LogPiece: job.LogPiece{Ref: job.Ref{JobID: 9, Lease: int64(attempt * 100)}, Seq: seq, Stream: job.Stdout, Text: text},
			Attempt:  attempt,
		})
	}
}

func (l *logbook) become(s job.State, attempt int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.job.State, l.job.Attempt = s, attempt
}

func TestALogIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	t.Run("pages end without a cursor", func(t *testing.T) { t.Parallel(); followToTheEnd(t, false) })
	t.Run("pages end with a cursor", func(t *testing.T) { t.Parallel(); followToTheEnd(t, true) })
}

func followToTheEnd(t *testing.T, always bool) {
	b := setup(t)
	l := newLogbook(b)
	l.always = always
	l.write(1, "a", "b", "c")
	var got []string
	err := b.client.FollowLogs(t.Context(), "ns", 9, func(line job.LogLine) error {
		got = append(got, line.Text)
		switch line.Text {
		case "c":
			l.write(1, "d")
		case "d":
			l.become(job.Scheduled, 1)
			b.cut() // the reader comes back with the last id
			l.write(2, "e", "f")
		case "f":
			l.write(2, "g")
			l.become(job.Succeeded, 2)
		}
		return nil
	})
	if err != nil || strings.Join(got, "") != "abcdefg" {
		t.Errorf("followed %v, %v", got, err)
	}
	stop := errors.New("stop")
	if err := b.client.FollowLogs(t.Context(), "ns", 9, func(job.LogLine) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("ended with %v", err)
	}
}

func TestAFollowedLogOfOneAttemptEndsWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := newLogbook(b)
	l.write(1, "a")
	l.write(2, "b")
	l.become(job.Running, 2)
	resp := b.open(t, "/v1/jobs/9/logs?follow=true&attempt=1")
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(body), `"text":"b"`) || !strings.HasSuffix(string(body), "event: end\ndata: {\"state\":\"running\"}\n\n") {
		t.Errorf("%v\n%s", err, body)
	}
	b.when("Job", func(context.Context, []any) (any, error) { return nil, core.Errorf(core.NotFound, "no job 9") })
	b.refused(t, 404, "GET", "/v1/jobs/9/logs?follow=true", "")
	if err := b.client.FollowLogs(t.Context(), "ns", 9, nil); core.CodeOf(err) != core.NotFound {
		t.Errorf("no such job: %v", err)
	}
}

func TestAClaimEndsWhenItsWorkerLeaves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	arrived, left := make(chan struct{}), make(chan error, 1)
	b.when("Claim", func(ctx context.Context, _ []any) (any, error) {
		close(arrived)
		<-ctx.Done()
		left <- ctx.Err()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.client.Claim(ctx, job.ClaimRequest{Session: "s", Wait: job.MaxClaimWait})
		done <- err
	}()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the service got %v", err)
	}
}

func TestAClaimIsAnsweredEmptyWhenTheServerStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	arrived := make(chan struct{})
	b.when("Claim", func(ctx context.Context, _ []any) (any, error) {
		close(arrived)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	go func() {
		<-arrived
		b.server.Close()
	}()
	claim, err := b.client.Claim(t.Context(), job.ClaimRequest{Session: "s", Wait: job.MaxClaimWait})
	if err != nil || len(claim.Jobs) > 0 {
		t.Errorf("%+v, %v", claim, err)
	}
}

func TestAClaimOutlivesTheTimeToReadABody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.api.Body = 50 * time.Millisecond
	b.when("Claim", func(ctx context.Context, _ []any) (any, error) {
		return job.Claim{Lease: 5}, wire.Pause(ctx, 4*b.server.api.Body)
	})
	// The second one comes on the connection of the first.
	for range 2 {
		claim, err := b.client.Claim(t.Context(), job.ClaimRequest{Session: "s", Wait: job.MaxClaimWait})
		if err != nil || claim.Lease != 5 {
			t.Errorf("%+v, %v", claim, err)
		}
	}
}

func TestABodyThatDoesNotArriveIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.api.Body = 20 * time.Millisecond
	body, never := io.Pipe()
	defer never.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/v1/tasks", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer root")
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%s", resp.Status)
	}
}

func TestAPollEndsWhenTheServerStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	newFeed(b)
	go func() {
		b.await(t.Context(), "Events", 1)
		b.server.Close()
	}()
	evs, next, err := b.client.Events(t.Context(), "*", "0", 30*time.Second)
	if err != nil || len(evs) > 0 || next != "0" {
		t.Errorf("%v %q %v", evs, next, err)
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add([]byte("id: 1\nevent: log\ndata: {}\n\n: beat\n\n"), "x")
	f.Add([]byte("data\n\ndata:a\r\ndata: b\r\n\r\n"), "multi\nline")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		r := wire.NewSSEReader(bytes.NewReader(raw), func() {})
		for n := 0; ; n++ {
			if _, err := r.Next(); err != nil {
				break
			}
			if n > len(raw) {
				t.Fatal("more events than bytes")
			}
		}
		// What the server writes is read as it was.
		w := &streamBuffer{}
		if err := api.NewSSE(w).Send("log", "7", text); err != nil {
			t.Fatal(err)
		}
		e, err := wire.NewSSEReader(&w.Buffer, func() {}).Next()
		if err != nil || e.ID != "7" || e.Name != "log" {
			t.Errorf("%q came as %+v, %v", text, e, err)
		}
	})
}

// streamBuffer is a response writer that keeps what it gets.
type streamBuffer struct{ bytes.Buffer }

func (b *streamBuffer) Header() http.Header { return http.Header{} }

func (b *streamBuffer) WriteHeader(int) {}

func (b *streamBuffer) Flush() {}
