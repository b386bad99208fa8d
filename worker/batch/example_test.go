package batch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/batch"
)

func ExampleHandle() {
	type Reading struct {
		Sensor string
		Value  float64
	}
	insert := func(rows []Reading) (ids []int, err error) { // stands for one statement with many rows
		for i := range rows {
			ids = append(ids, i+1)
		}
		return ids, nil
	}

	var handlers worker.Handlers
	record := batch.Handle(&handlers, "record", batch.Options{Size: 100, Wait: 200 * time.Millisecond},
		func(ctx context.Context, jobs []*batch.Job[Reading, int]) error {
			var rows []Reading
			var of []*batch.Job[Reading, int]
			for _, j := range jobs {
				if j.In.Sensor == "" {
					j.Fail(worker.NoRetry(errors.New("no sensor")))
					continue
				}
				rows, of = append(rows, j.In), append(of, j)
			}
			ids, err := insert(rows)
			if err != nil {
				return err // jobs without a result fail with it and are retried
			}
			for i, id := range ids {
				of[i].Succeed(id)
			}
			return nil
		})

	leaser := leasertest.New() // stands for a store, such as sqlite.Open returns
	var asked []job.Job
	for _, r := range []Reading{{"a", 1}, {"", 2}, {"c", 3}} {
		n, _ := record.New(r)
		asked = append(asked, leaser.Enqueue(n))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	runner, err := worker.NewRunner(worker.RunnerOptions{Leaser: leaser, Handlers: &handlers, Concurrency: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunOnce(ctx); err != nil {
		fmt.Println(err)
	}
	for _, j := range asked {
		j, _ = leaser.Job(ctx, "default", j.ID)
		fmt.Printf("%d %t %q\n", j.ID, j.State == job.Succeeded, j.Error)
	}
	// Output:
	// 1 true ""
	// 2 false "no sensor"
	// 3 true ""
}
