package worker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/brokertest"
	"github.com/belfry-run/belfry/worker"
)

// newBroker stands for a store, such as sqlite.Open returns.
func newBroker() *brokertest.Broker { return brokertest.New() }

func ExampleHandle() {
	type Order struct{ Item, Size string }
	type Receipt struct{ Text string }

	var handlers worker.Handlers
	brew := worker.Handle(&handlers, "brew", func(ctx context.Context, o Order) (Receipt, error) {
		worker.Logger(ctx).Info("brewing", "item", o.Item)
		return Receipt{"one " + o.Size + " " + o.Item}, nil
	})

	store := newBroker()
	job, _ := brew.New(Order{Item: "coffee", Size: "large"})
	asked := store.Enqueue(job)

	runner, err := worker.NewRunner(worker.RunnerOptions{Broker: store, Handlers: &handlers, Concurrency: 2})
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
	store := newBroker()
	for _, name := range []string{"Ann", "Bob"} {
		job, _ := hello.New(name)
		store.Enqueue(job)
	}
	runner, _ := worker.NewRunner(worker.RunnerOptions{Broker: store, Handlers: &handlers})
	n, err := runner.RunOnce(context.Background())
	fmt.Println(n, err)
	// Output: 2 <nil>
}

func ExampleNoRetry() {
	var handlers worker.Handlers
	parse := worker.Handle(&handlers, "parse", func(_ context.Context, text string) (int, error) {
		return 0, worker.NoRetry(fmt.Errorf("%q will never be a number", text))
	})
	store := newBroker()
	job, _ := parse.New("seven")
	asked := store.Enqueue(job)
	runner, _ := worker.NewRunner(worker.RunnerOptions{Broker: store, Handlers: &handlers})
	_, _ = runner.RunOnce(context.Background())
	_, err := parse.Wait(context.Background(), store, asked)
	fmt.Println(err)
	// Output: job 1 (parse) is failed (attempt 1): no_retry: "seven" will never be a number
}
