package health

import (
	"context"

	"github.com/belfry-run/belfry/view"
)

// Health says whether the database answers and what state it is in.
type Health interface {
	Health(ctx context.Context) (view.Health, error)
	// DatabaseHealth is what an operator asks when jobs get slow.
	DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error)
}
