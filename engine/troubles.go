package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// mostReasons is the most error texts that are remembered.
const mostReasons = 100

// troubles logs failures of loops. A fault such as an unreachable database stops most loops, and each tries again every
// few seconds. So each reason is logged once until all loops work again; the recovery is logged as well.
type troubles struct {
	log     *slog.Logger
	mu      sync.Mutex
	since   time.Time
	failing map[string]bool // names of failing loops
	reasons map[string]bool // error texts that were logged
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
