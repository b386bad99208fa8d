//go:build unix

package process_test

import (
	"io"
	"testing"

	"github.com/belfry-run/belfry/app/worker/process"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// BenchmarkTrue measures a command that does nothing.
func BenchmarkTrue(b *testing.B) {
	ex := map[task.Kind]worker.Executor{task.KindCommand: process.New(process.Options{Allow: true})}
	task := task.Task{Name: "x", Command: &task.Command{Argv: []string{"true"}}}
	for b.Loop() {
		if f := worker.Direct(b.Context(), ex, task, nil, io.Discard, io.Discard); f.Outcome != job.OutcomeOK {
			b.Fatal(f)
		}
	}
}
