package api

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/access"
)

type recorded struct {
	mu   sync.Mutex
	rows []access.Audit
}

func (r *recorded) RecordAudit(_ context.Context, rows []access.Audit) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, rows...)
	return nil
}

// lines are what was recorded, in words.
func (r *recorded) lines() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.rows {
		lines = append(lines, fmt.Sprintf("%s: %s %s %s %s (%s)", a.Namespace, a.Actor, a.Action, a.Noun, a.Name, a.Note))
	}
	return lines
}

func TestFloodOfRefusalsIsFewRows(t *testing.T) {
	t.Parallel()
	var kept recorded
	n := notes{To: &kept, Fail: func(err error) { t.Error(err) }}
	for i := range 10_000 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		n.Add(noted{Actor: "unknown", Action: "refuse", Noun: "token", Name: addressText(addr)}, 1, true)
		n.Add(noted{Actor: fmt.Sprint("token:", i), Action: "refuse", Noun: "request"}, 1, false)
	}
	n.Flush()
	got := kept.lines()
	if want := maxStrangers + 1 + maxNoted + 1; len(got) != want {
		t.Errorf("%d rows, want %d", len(got), want)
	}
	if text := strings.Join(got, "\n"); !strings.Contains(text, "9968 times within a minute") || !strings.Contains(text, "9744 more requests") {
		t.Errorf("the rest is not counted: %s", text)
	}
	n.Flush()
	if again := kept.lines(); len(again) != len(got) {
		t.Errorf("recorded twice: %s", again[len(got):])
	}
}
