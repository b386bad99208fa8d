package console

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/view"
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
	Whoami(ctx context.Context) (access.Token, error)
}

type watchAPI interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error)
}

// Sessions keeps who is signed in.
type Sessions interface {
	OpenWebSession(ctx context.Context, w access.WebSession, l access.WebSessionLimits) (access.WebSession, error)
	// WebSession answers a NotFound error for one that has ended.
	WebSession(ctx context.Context, hash string, l access.WebSessionLimits) (access.WebSession, error)
	CloseWebSession(ctx context.Context, hash string) error
}
