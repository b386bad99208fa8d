package worker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// newLeaser stands for a store, such as sqlite.Open returns.
func newLeaser() *leasertest.Leaser { return leasertest.New() }

func ExampleHandle() {
	type Order struct{ Item, Size string }
	type Receipt struct{ Text string }

	var handlers worker.Handlers
	brew := worker.Handle(&handlers, "brew", func(ctx context.Context, o Order) (Receipt, error) {
		worker.Logger(ctx).Info("brewing", "item", o.Item)
		return Receipt{"one " + o.Size + " " + o.Item}, nil
	})

	store := newLeaser()
	n, _ := brew.New(Order{Item: "coffee", Size: "large"})
	asked := store.Enqueue(n)

	runner, err := worker.NewRunner(worker.RunnerOptions{Leaser: store, Handlers: &handlers, Concurrency: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := runner.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := brew.Wait(ctx, store, asked)
	fmt.Println(receipt.Text, err)
	fmt.Println(runner.Stop(ctx), runner.IsRunning())
	// Output:
	// one large coffee <nil>
	// <nil> false
}

func ExampleRunner_RunOnce() {
	var handlers worker.Handlers
	hello := worker.Handle(&handlers, "hello", func(_ context.Context, name string) (string, error) {
		return "hello " + name, nil
	})
	store := newLeaser()
	for _, name := range []string{"Ann", "Bob"} {
		n, _ := hello.New(name)
		store.Enqueue(n)
	}
	runner, _ := worker.NewRunner(worker.RunnerOptions{Leaser: store, Handlers: &handlers})
	n, err := runner.RunOnce(context.Background())
	fmt.Println(n, err)
	// Output: 2 <nil>
}

func ExampleNoRetry() {
	var handlers worker.Handlers
	parse := worker.Handle(&handlers, "parse", func(_ context.Context, text string) (int, error) {
		return 0, worker.NoRetry(fmt.Errorf("%q will never be a number", text))
	})
	store := newLeaser()
	n, _ := parse.New("seven")
	asked := store.Enqueue(n)
	runner, _ := worker.NewRunner(worker.RunnerOptions{Leaser: store, Handlers: &handlers})
	_, _ = runner.RunOnce(context.Background())
	_, err := parse.Wait(context.Background(), store, asked)
	fmt.Println(err)
	// Output: job 1 (parse) is failed (attempt 1): no_retry: "seven" will never be a number
}

func ExampleWaitSignal() {
	type Answer struct{ By string }

	var handlers worker.Handlers
	order := worker.Handle(&handlers, "order", func(ctx context.Context, number int) (string, error) {
		answer, came, err := worker.WaitSignal[Answer](ctx, "approved", 7*24*time.Hour)
		if err != nil {
			return "", err // returned while it waits, too: the slot is free until the signal comes
		}
		if !came {
			return "nobody answered in a week", nil
		}
		return "approved by " + answer.By, nil
	})
	store := newLeaser()
	n, _ := order.New(17)
	asked := store.Enqueue(n)
	runner, _ := worker.NewRunner(worker.RunnerOptions{Leaser: store, Handlers: &handlers})
	_, _ = runner.RunOnce(context.Background())
	waiting, _ := store.Job(context.Background(), "default", asked.ID)
	fmt.Println(waiting.State, waiting.Error)

	store.SignalJob(asked.ID, job.Signal{Name: "approved", Input: []byte(`{"By": "finance"}`)})
	_, _ = runner.RunOnce(context.Background())
	said, err := order.Wait(context.Background(), store, asked)
	fmt.Println(said, err)
	// Output:
	// scheduled waits for signal "approved"
	// approved by finance <nil>
}
