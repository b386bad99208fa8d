//go:build linux

package main

import (
	"context"
	"encoding/json"
	"os/exec"

	"github.com/belfry-run/belfry/bench/load"
)

var (
	// graphile-worker's default of one job at a time is a placeholder; ten is Belfry's default.
	graphileDefault = graphileWith("graphile-worker default, PostgreSQL", "concurrentJobs 10, else default settings",
		map[string]any{"concurrentJobs": 10})
	// graphile-worker's documents advise this for throughput.
	graphileTuned = graphileWith("graphile-worker tuned, PostgreSQL", "localQueue 500, concurrentJobs 24, completeJobBatchDelay and failJobBatchDelay 0",
		map[string]any{
			"concurrentJobs": 24, "localQueue": map[string]any{"size": 500},
			"completeJobBatchDelay": 0, "failJobBatchDelay": 0,
		})
)

func graphileWith(name, settings string, preset map[string]any) contender {
	return contender{
		name: name, class: servers, needs: "graphile", settings: settings, history: "deleted",
		open: func(ctx context.Context, s *site) (*seat, error) {
			node, script, err := s.graphile()
			if err != nil {
				return nil, err
			}
			return s.onPostgres(ctx, func(url string) (load.Driver, error) {
				arg, err := json.Marshal(map[string]any{"database": url, "worker": preset})
				if err != nil {
					return nil, err
				}
				return load.StartRemote(exec.Command(node, script, string(arg)))
			})
		},
	}
}
