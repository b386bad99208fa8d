package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// mostReasons bounds what is remembered of errors.
const mostReasons = 100

// troubles logs failures of loops. What stops one of them, such as a database that is away, stops most, and they try
// again every few seconds: each reason is logged once until all loops work again, and that they do.
type troubles struct {
	log     *slog.Logger
	mu      sync.Mutex
	since   time.Time
	failing map[string]bool // loops
	reasons map[string]bool // that were logged
}

func (t *troubles) failed(ctx context.Context, loop string, failures int, rest time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failing) == 0 {
		t.since, t.failing, t.reasons = time.Now(), map[string]bool{}, map[string]bool{}
	}
	t.failing[loop] = true
	level, reason := slog.LevelDebug, err.Error()
	if !t.reasons[reason] {
		level = slog.LevelWarn
	}
	if len(t.reasons) < mostReasons {
		t.reasons[reason] = true
	}
	t.log.Log(ctx, level, "engine loop failed, trying again", "loop", loop, "failures", failures, "rest", rest, "error", err)
}

func (t *troubles) works(loop string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.failing[loop] {
		return
	}
	if delete(t.failing, loop); len(t.failing) == 0 {
		t.log.Info("engine loops work again", "after", time.Since(t.since))
	}
}
