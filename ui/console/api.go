package console

import (
	"context"
	"time"

	"github.com/belfry-run/belfry"
)

// API is what the pages read and change through: the API of the node itself,
// called with the token of who signed in. So a page can do nothing that the
// API cannot, and rights, namespaces, limits and the audit are the API's.
//
// Each part stands beside the pages that use it.
type API interface {
	whoAPI
	watchAPI
	homeAPI
	queueAPI
	cycleAPI
	cycleFormAPI
	jobsAPI
	jobAPI
	auditAPI
	taskAPI
	schedulesAPI
	scheduleAPI
	scheduleFormAPI
	backfillsAPI
	forecastAPI
	calendarsAPI
	workerAPI
	settingsAPI
	databaseAPI
	joinTokenAPI
	tokenAPI
	secretAPI
	programAPI
	uploadAPI
	monitorsAPI
	incidentAPI
	versionAPI
	monitorFormAPI
	statusPageAPI
	channelAPI
	windowAPI
	alertAPI
}

type whoAPI interface {
	// Whoami answers the token itself.
	Whoami(ctx context.Context) (belfry.Token, error)
}

type watchAPI interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]belfry.Event, string, error)
}

// Sessions keeps who is signed in.
type Sessions interface {
	OpenWebSession(ctx context.Context, w belfry.WebSession, l belfry.WebSessionLimits) (belfry.WebSession, error)
	// WebSession answers a NotFound error for one that has ended.
	WebSession(ctx context.Context, hash string, l belfry.WebSessionLimits) (belfry.WebSession, error)
	CloseWebSession(ctx context.Context, hash string) error
}
