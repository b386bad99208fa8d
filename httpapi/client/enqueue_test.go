package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// bell is a server that holds its requests until it is told to answer them.
type bell struct {
	t       *testing.T
	mu      sync.Mutex
	batches [][]string // tasks of each request, in order of arrival
	ring    chan struct{}
}

func (b *bell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in wire.NewJobBatch
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		b.t.Error(err)
	}
	var tasks []string
	for _, n := range in.Jobs {
		tasks = append(tasks, n.Task)
	}
	b.mu.Lock()
	b.batches = append(b.batches, tasks)
	b.mu.Unlock()
	select {
	case <-b.ring:
	case <-r.Context().Done():
		return
	}
	if slices.Contains(tasks, "short") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jobs":[]}`))
		return
	}
	if slices.Contains(tasks, "bad") {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"not_found","detail":"there is no task bad"}`))
		return
	}
	var out wire.EnqueuedBatch
	for _, name := range tasks {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			b.t.Error(err)
		}
		out.Jobs = append(out.Jobs, job.Enqueued{Job: job.Job{ID: id}})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

// callers starts all calls in order while the server holds the first requests, and then makes the server answer.
func (b *bell) callers(ctx context.Context, c *Client, all []job.NewJob) (ids []int64, errs []error) {
	ids, errs = make([]int64, len(all)), make([]error, len(all))
	var each sync.WaitGroup
	for i, n := range all {
		each.Go(func() {
			out, err := c.Enqueue(ctx, []job.NewJob{n})
			if errs[i] = err; err == nil {
				ids[i] = out[0].Job.ID
			}
		})
		synctest.Wait()
	}
	close(b.ring)
	each.Wait()
	return ids, errs
}

func numberedJobs(n int) (all []job.NewJob) {
	for i := range n {
		all = append(all, job.NewJob{Task: fmt.Sprint(i)})
	}
	return all
}

// Calls that are made while a request is under way share the next one, and each gets its own job.
func TestCallsThatComeMeanwhileShareARequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options Options
		change  func(all []job.NewJob)
		want    int // number of requests
	}{
		{"together", Options{}, func([]job.NewJob) {}, 2},
		{"apart", Options{Apart: true}, func([]job.NewJob) {}, 20},
		{"keys are repeated, and others are not", Options{}, func(all []job.NewJob) {
			for i := range 10 {
				all[i].Key = "key"
			}
		}, 4},
		{"large inputs", Options{}, func(all []job.NewJob) {
			for i := range all {
				all[i].Input = slices.Repeat([]byte("1"), smallInput+1)
			}
		}, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &bell{t: t, ring: make(chan struct{})}
				c := dialPipes(t, b.ServeHTTP, test.options)
				all := numberedJobs(20)
				test.change(all)
				ids, errs := b.callers(t.Context(), c, all)
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				for i, id := range ids {
					if id != int64(i) {
						t.Errorf("call %d got job %d", i, id)
					}
				}
				if len(b.batches) != test.want {
					t.Errorf("requests: %v, want %d", b.batches, test.want)
				}
			})
		})
	}
}

// A refused call does not affect the others, and gets the same error as alone.
func TestACallThatIsRefusedHarmsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bell{t: t, ring: make(chan struct{})}
		all := numberedJobs(8)
		all[5].Task = "bad"
		ids, errs := b.callers(t.Context(), dialPipes(t, b.ServeHTTP, Options{}), all)
		for i, err := range errs {
			if i == 5 {
				if core.CodeOf(err) != core.NotFound {
					t.Errorf("the bad one: %v", err)
				}
			} else if err != nil || ids[i] != int64(i) {
				t.Errorf("call %d: job %d, %v", i, ids[i], err)
			}
		}
		if want := 1 + 1 + 7; len(b.batches) != want {
			t.Errorf("requests: %v, want %d", b.batches, want)
		}
	})
}

// A caller that gives up does not affect the others, whether its request was sent or not.
func TestACallerThatLeavesHarmsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bell{t: t, ring: make(chan struct{})}
		c := dialPipes(t, b.ServeHTTP, Options{})
		var each sync.WaitGroup
		call := func(ctx context.Context, name string, want error) {
			each.Go(func() {
				if _, err := c.Enqueue(ctx, []job.NewJob{{Task: name}}); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			})
			synctest.Wait()
		}
		ctx, leave := context.WithCancel(t.Context())
		call(t.Context(), "1", nil)
		time.Sleep(shareBeside)
		call(ctx, "2", context.Canceled) // sent alone: it is cut off and frees its place
		call(ctx, "3", context.Canceled) // waits, and is not sent
		call(t.Context(), "4", nil)
		leave()
		time.Sleep(shareBeside)
		synctest.Wait()
		another, leave := context.WithCancel(t.Context())
		call(another, "5", context.Canceled)
		call(t.Context(), "6", nil)
		b.ring <- struct{}{} // 5 and 6 are sent together
		time.Sleep(shareBeside)
		synctest.Wait()
		leave()
		synctest.Wait()
		close(b.ring)
		each.Wait()
		if got := fmt.Sprint(b.batches); got != "[[1] [2] [4] [5 6]]" {
			t.Error("requests: ", got)
		}
	})
}

// The server may be another program, or another version of Belfry.
func TestAnAnswerWithoutTheJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bell{t: t, ring: make(chan struct{})}
		all := numberedJobs(4)
		all[3].Task = "short"
		_, errs := b.callers(t.Context(), dialPipes(t, b.ServeHTTP, Options{}), all)
		if core.CodeOf(errs[2]) != core.Unknown || core.CodeOf(errs[3]) != core.Unknown {
			t.Error(errs)
		}
	})
}

// A second request begins beside one that takes long. Both connections may be dead: a call that is made meanwhile goes alone
// after a while, once.
func TestACallDoesNotWaitForOthersForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bell{t: t, ring: make(chan struct{})}
		c := dialPipes(t, b.ServeHTTP, Options{})
		var each sync.WaitGroup
		call := func(n job.NewJob) {
			each.Go(func() {
				if out, err := c.Enqueue(t.Context(), []job.NewJob{n}); err != nil || fmt.Sprint(out[0].Job.ID) != n.Task {
					t.Errorf("%s: %+v, %v", n.Task, out, err)
				}
			})
			synctest.Wait()
		}
		all := numberedJobs(3)
		call(all[0])
		call(all[1])
		time.Sleep(shareBeside - time.Millisecond)
		synctest.Wait()
		if got := fmt.Sprint(b.batches); got != "[[0]]" {
			t.Error("at once: ", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		call(all[2])
		time.Sleep(sharePatience - time.Millisecond)
		synctest.Wait()
		if got := fmt.Sprint(b.batches); got != "[[0] [1]]" {
			t.Error("before: ", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := fmt.Sprint(b.batches); got != "[[0] [1] [2]]" {
			t.Error("after: ", got)
		}
		close(b.ring)
		each.Wait()
		if len(b.batches) != 3 {
			t.Error("in all: ", b.batches)
		}
	})
}
