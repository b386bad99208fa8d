package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

func TestAWorkerServesOtherQueuesInItsSession(t *testing.T) {
	inBubble(t, func(f *fixture) {
		begun, end := make(chan struct{}, 9), make(chan struct{})
		f.handle("a", func(context.Context) error {
			begun <- struct{}{}
			<-end
			return nil
		})
		w, err := worker.New(f.options)
		if err != nil {
			f.Fatal(err)
		}
		ctx, cancel := context.WithCancel(f.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		first := f.enqueue("a")
		<-begun
		if err := w.Serve(map[string]int{"late": 2}); err != nil {
			f.Fatal(err)
		}
		late := f.leaser.Enqueue(job.NewJob{Task: "a", Queue: "late"}).ID
		<-begun
		time.Sleep(time.Second)
		left := f.enqueue("a") // in a queue that is no longer served
		synctest.Wait()
		f.wantState(first, job.Running)
		close(end)
		time.Sleep(time.Minute)
		f.wantState(first, job.Succeeded)
		f.wantState(late, job.Succeeded)
		f.wantState(left, job.Ready)
		if err := w.Serve(map[string]int{"default": 4, "late": 2}); err != nil {
			f.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.wantState(left, job.Succeeded)
		if n := f.leaser.Calls("open"); n != 1 {
			f.Errorf("%d sessions, want one", n)
		}
		f.leaser.Lose() // the next session begins with the current queues
		time.Sleep(time.Minute)
		again := f.leaser.Enqueue(job.NewJob{Task: "a", Queue: "late"}).ID
		time.Sleep(time.Minute)
		f.wantState(again, job.Succeeded)
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
}

func TestAWorkerServesNothingWrong(t *testing.T) {
	inBubble(t, func(f *fixture) {
		w, err := worker.New(f.options)
		if err != nil {
			f.Fatal(err)
		}
		for _, queues := range []map[string]int{nil, {"bad name": 1}, {"default": -1}} {
			if err := w.Serve(queues); core.CodeOf(err) != core.Invalid {
				f.Errorf("%v: %v", queues, err)
			}
		}
	})
}
