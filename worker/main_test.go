//go:build unix

package worker_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/belfry-run/belfry/internal/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(diesIn) != "" {
		runUntilKilled()
	}
	goleak.VerifyTestMain(withPostgres{m})
}

// withPostgres ends the server of the tests before the search for leaks.
type withPostgres struct{ *testing.M }

func (w withPostgres) Run() int { return pgtest.Main(w.M) }
