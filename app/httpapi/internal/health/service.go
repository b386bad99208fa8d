package health

import (
	"context"

	"github.com/belfry-run/belfry/view"
)

// Health returns the state of the database.
type Health interface {
	Health(ctx context.Context) (view.Health, error)
	// DatabaseHealth returns figures of the database that explain slow jobs.
	DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error)
}
