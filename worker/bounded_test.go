package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// narrow is an executor with room for one job.
type narrow struct {
	mu      sync.Mutex
	running int
	refused int
	begun   chan int64
	refuses chan int64
	end     chan struct{}
}

func (n *narrow) Full() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused > 0 && n.running > 0
}

func (n *narrow) Execute(_ context.Context, r *worker.Run) job.Finish {
	n.mu.Lock()
	if n.running > 0 {
		n.refused++
		n.mu.Unlock()
		n.refuses <- r.Job.ID
		return r.NoRoom(errors.New("one runs already"))
	}
	n.running++
	n.mu.Unlock()
	n.begun <- r.Job.ID
	<-n.end
	n.mu.Lock()
	n.running--
	n.mu.Unlock()
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK}
}

// A job without room is handed back without using an attempt. It is not claimed again while there is no room, the kind is not
// unwell, and other kinds run on.
func TestAJobWithoutRoomWaitsAtTheServer(t *testing.T) {
	t.Parallel()
	b := leasertest.New()
	b.AddTask(task.Task{Name: "large", Command: &task.Command{Shell: "x"}, Retry: task.Retry{MaxAttempts: 1}})
	b.AddTask(task.Task{Name: "other", Kind: task.KindFunc})
	n := &narrow{begun: make(chan int64), refuses: make(chan int64, 100), end: make(chan struct{})}
	handlers := &worker.Handlers{}
	ran := make(chan struct{}, 1)
	worker.Handle(handlers, "other", func(context.Context, struct{}) (struct{}, error) { ran <- struct{}{}; return struct{}{}, nil })
	w, err := worker.New(worker.Options{Leaser: b, Grace: -1, Handlers: handlers, Executors: map[task.Kind]worker.Executor{task.KindCommand: n}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { _ = w.Run(ctx) })
	defer ended.Wait()
	defer cancel()
	first, second := b.Enqueue(job.NewJob{Task: "large"}).ID, b.Enqueue(job.NewJob{Task: "large"}).ID
	runs, refused := <-n.begun, <-n.refuses
	if !slices.Equal(slices.Sorted(slices.Values([]int64{runs, refused})), []int64{first, second}) {
		t.Errorf("job %d runs and %d was refused", runs, refused)
	}
	b.Enqueue(job.NewJob{Task: "other"})
	<-ran
	if unwell := w.Unwell(); len(unwell) > 0 {
		t.Error(unwell)
	}
	n.end <- struct{}{}
	if got := <-n.begun; got != refused {
		t.Errorf("job %d begins", got)
	}
	n.end <- struct{}{}
	as := b.Attempts(refused)
	if len(as) == 0 || as[0].Outcome != job.OutcomeHandedBack {
		t.Errorf("%+v", as)
	}
	if j, _ := b.Job(t.Context(), "", refused); j.Failures != 0 || j.Infra != 0 {
		t.Errorf("it cost something: %+v", j)
	}
}
