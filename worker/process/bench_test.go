//go:build unix

package process_test

import (
	"io"
	"testing"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/process"
)

// BenchmarkTrue is what a command costs that does nothing.
func BenchmarkTrue(b *testing.B) {
	ex := map[belfry.Kind]worker.Executor{belfry.KindCommand: process.New(process.Options{Allow: true})}
	task := belfry.Task{Name: "x", Command: &belfry.Command{Argv: []string{"true"}}}
	for b.Loop() {
		if f := worker.Direct(b.Context(), ex, task, nil, io.Discard, io.Discard); f.Outcome != belfry.OutcomeOK {
			b.Fatal(f)
		}
	}
}
