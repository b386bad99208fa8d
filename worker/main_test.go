//go:build unix

package worker_test

import (
	"os"
	"testing"

	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/internal/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(diesIn) != "" {
		runUntilKilled()
	}
	leaks.Main(withPostgres{m})
}

// withPostgres ends the server of the tests before the search for leaks.
type withPostgres struct{ *testing.M }

func (w withPostgres) Run() int { return pgtest.Main(w.M) }
