//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/pgtest"
)

// tiny has sizes that run every path once.
var tiny = sizes{
	rounds: 1, jobs: map[bool]int{true: 50, false: 50}, both: 20,
	insertFor: 20 * time.Millisecond, bothFor: time.Second, idleFor: 100 * time.Millisecond, halfFor: 50 * time.Millisecond,
	steps: 1, stepFor: 50 * time.Millisecond, patience: 20 * time.Second, phaseAtMost: 2 * time.Minute,
}

// TestEveryContenderRunsEveryPhase needs all tools of setup.sh, and fails without
// them. It checks nothing that depends on the speed of the machine.
func TestEveryContenderRunsEveryPhase(t *testing.T) {
	s, err := newSite()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.postgreSQL = pgtest.Options{} // in memory: a disk would show nothing more
	list := contenders()
	if err := s.check(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	m := measured{samples{}, map[string]string{}}
	if err := m.rounds(t.Context(), s, tiny, list, phases); err != nil {
		t.Fatal(err)
	}
	for name, why := range m.failed {
		t.Errorf("%s: %s", name, why)
	}
	for _, c := range list {
		for _, top := range topics {
			for _, col := range top.columns {
				wanted := 1
				switch onPostgres := c.class == servers && c.needs != "redis"; {
				case !onPostgres && (col.measure == "burn/wal" || col.measure == "burn/dead"),
					c.class != servers && col.measure == "burn/server":
					wanted = 0
				}
				if n := len(m.samples[c.name][col.measure]); n != wanted {
					t.Errorf("contender %s: got %d samples of %s, want %d", c.name, n, col.measure, wanted)
				}
			}
		}
	}
	doc := m.document(t.Context(), s, tiny, list, nil, time.Minute)
	for _, want := range append(strings.Fields(names(list)), "river v0.", "asynq v0.", "riversqlite v0.", "fsync off", "graphile-worker 0.", "Redis: ", "SQLite: 3") {
		if !strings.Contains(doc, want) {
			t.Errorf("document: %q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(doc)
	}
}
