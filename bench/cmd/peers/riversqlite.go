//go:build linux

package main

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/belfry-run/belfry/bench/load"
)

// riverOnSQLite is in another module, so it runs in another process.
func riverOnSQLite(c class) contender {
	return contender{
		name: "River tuned, " + c.synchronous(), class: c, needs: "river-sqlite",
		settings: "as in `river bench`: 2,000 workers, FetchCooldown 2 ms, poll 20 ms", history: "kept for 24 hours, as by default",
		open: func(_ context.Context, s *site) (*seat, error) {
			program, err := s.riverSQLite()
			if err != nil {
				return nil, err
			}
			return s.onFile(func(dir string) (load.Driver, error) {
				return load.StartRemote(exec.Command(program, "-file", filepath.Join(dir, "river.db"), "-synchronous", c.synchronous()))
			})
		},
	}
}
