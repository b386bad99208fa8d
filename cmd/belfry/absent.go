package main

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/core"
)

// noteAbsent says what a saved thing names that is not there. It is about them
// once they are, so this is no mistake; a name that is mistyped looks the same.
func (c *cli) noteAbsent(ctx context.Context, s *conn, namespace string, monitors, tasks, schedules []string) {
	look := func(noun string, names []string, read func(name string) error) {
		for _, name := range names {
			if core.CodeOf(read(name)) == core.NotFound {
				fmt.Fprintf(c.stderr, "note: there is no %s %q yet\n", noun, name)
			}
		}
	}
	look("monitor", monitors, func(name string) error { _, err := s.Monitor(ctx, namespace, name); return err })
	look("task", tasks, func(name string) error { _, err := s.Task(ctx, namespace, name); return err })
	look("schedule", schedules, func(name string) error { _, err := s.Schedule(ctx, namespace, name); return err })
}
