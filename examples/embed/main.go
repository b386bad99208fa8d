// Command embed is Belfry inside a Go program: a store, a Go handler, a runner
// of its queue and a runner of its schedules. No server and no configuration.
//
//	go run ./examples/embed
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "belfry-embed-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(ctx, filepath.Join(dir, "app.db"), os.Stdout); err != nil {
		log.Fatal(err) //nolint:gocritic // the folder is a temporary one
	}
}

// Greeting is the input of the task greet, as JSON in each job.
type Greeting struct {
	Name string `json:"name"`
}

func run(ctx context.Context, path string, out io.Writer) error {
	// The store keeps everything in one file.
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()

	// A handler is a function. Its result is kept as the job's output,
	// and an error or a panic is a failed attempt, which is tried again.
	var handlers worker.Handlers
	greet := worker.Handle(&handlers, "greet", func(ctx context.Context, in Greeting) (string, error) {
		worker.Logger(ctx).Info("greeting", "name", in.Name) // kept in the attempt's log
		return "hello " + in.Name, nil
	})

	// One runner for each queue, and one for the schedules. Start returns at
	// once; Stop waits for what runs.
	jobs, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: &handlers, Queue: belfry.DefaultQueue, Concurrency: 4})
	if err != nil {
		return err
	}
	schedules, err := engine.NewRunner(engine.Options{Store: st})
	if err != nil {
		return err
	}
	if err := jobs.Start(ctx); err != nil {
		return err
	}
	defer jobs.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // safe twice; the one below is looked at
	if err := schedules.Start(ctx); err != nil {
		return err
	}
	defer schedules.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // likewise

	// Ask for one execution, and wait for what it returns.
	job, err := greet.New(Greeting{Name: "World"})
	if err != nil {
		return err
	}
	made, err := st.Enqueue(ctx, []belfry.NewJob{job})
	if err != nil {
		return err
	}
	text, err := greet.Wait(ctx, st, made[0].Job)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, text)

	// Or let a schedule ask, here twice and one second apart.
	// Apply creates what is missing, so that the program may start again.
	if _, err := st.Apply(ctx, belfry.Manifest{
		Tasks: []belfry.Task{{Name: "greet"}},
		Schedules: []belfry.Schedule{{
			Name: "twice", Task: "greet", MaxRuns: 2,
			Rules: []belfry.Rule{{Every: belfry.Duration(time.Second)}},
			Input: []byte(`{"name": "again"}`),
		}},
	}, belfry.ApplyOptions{}); err != nil {
		return err
	}
	if err := completed(ctx, st, "twice"); err != nil {
		return err
	}
	if err := jobs.Stop(ctx); err != nil {
		return err
	}
	done, err := st.Jobs(ctx, belfry.JobFilter{Namespace: belfry.DefaultNamespace, Schedule: "twice"})
	if err != nil {
		return err
	}
	for _, j := range done.Items {
		fmt.Fprintf(out, "%s: %s %s\n", j.Schedule, j.State, j.Output)
	}
	return nil
}

// scheduleReader is the part of a store that this program looks at.
type scheduleReader interface {
	Schedule(ctx context.Context, namespace, name string) (belfry.Schedule, error)
	Jobs(ctx context.Context, f belfry.JobFilter) (belfry.Page[belfry.Job], error)
}

// completed waits until a schedule has run as often as it may and its jobs
// have ended.
func completed(ctx context.Context, st scheduleReader, name string) error {
	for {
		s, err := st.Schedule(ctx, belfry.DefaultNamespace, name)
		if err != nil {
			return err
		}
		left, err := st.Jobs(ctx, belfry.JobFilter{
			Namespace: belfry.DefaultNamespace, Schedule: name,
			States: []belfry.JobState{belfry.JobScheduled, belfry.JobReady, belfry.JobRunning},
		})
		if err != nil {
			return err
		}
		if s.State == belfry.ScheduleCompleted && len(left.Items) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
