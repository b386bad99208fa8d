package apitest

import (
	"context"
	"fmt"
	"sync"

	"github.com/belfry-run/belfry/access"
)

// Audit keeps the rows that a server records. The zero value is empty.
type Audit struct {
	mu   sync.Mutex
	rows []access.Audit
}

// RecordAudit keeps rows.
func (a *Audit) RecordAudit(_ context.Context, rows []access.Audit) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows = append(a.rows, rows...)
	return nil
}

// Lines returns the rows as texts.
func (a *Audit) Lines() (lines []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.rows {
		lines = append(lines, fmt.Sprintf("%s: %s %s %s %s (%s)", r.Namespace, r.Actor, r.Action, r.Noun, r.Name, r.Note))
	}
	return lines
}
