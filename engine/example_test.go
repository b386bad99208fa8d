package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/worker"
)

// A program runs its own schedules: the schedule runner creates jobs of due
// schedules, and the queue runner runs the jobs.
func ExampleNewRunner() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "belfry")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	st, err := sqlite.Open(ctx, filepath.Join(dir, "app.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer st.Close() //nolint:errcheck // the program ends

	var handlers worker.Handlers
	worker.Handle(&handlers, "report", func(ctx context.Context, _ struct{}) (string, error) {
		job, _ := worker.JobFrom(ctx)
		fmt.Println("report for", job.Schedule)
		return "done", nil
	})
	if err := st.EnsureFuncs(ctx, belfry.DefaultNamespace, handlers.Names()); err != nil {
		panic(err)
	}
	if _, err := st.CreateSchedule(ctx, belfry.Schedule{
		Name: "soon", Task: "report", Rules: []belfry.Rule{{Every: belfry.Duration(time.Hour), Anchor: schedule.AnchorFinish}},
	}); err != nil {
		panic(err)
	}

	schedules, err := engine.NewRunner(engine.Options{Store: st})
	if err != nil {
		panic(err)
	}
	queue, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: &handlers})
	if err != nil {
		panic(err)
	}
	// A service calls Start and Stop on both runners. A test, or a program that cron
	// starts, runs each once.
	fired, err := schedules.RunOnce(ctx)
	if err != nil {
		panic(err)
	}
	ran, err := queue.RunOnce(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(fired, "fired,", ran, "ran, running:", schedules.IsRunning())
	// Output:
	// report for soon
	// 1 fired, 1 ran, running: false
}
