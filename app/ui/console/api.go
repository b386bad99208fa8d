package console

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/alerting"
	"github.com/belfry-run/belfry/app/ui/console/audit"
	"github.com/belfry-run/belfry/app/ui/console/calendars"
	"github.com/belfry-run/belfry/app/ui/console/cycles"
	"github.com/belfry-run/belfry/app/ui/console/find"
	"github.com/belfry-run/belfry/app/ui/console/home"
	"github.com/belfry-run/belfry/app/ui/console/jobs"
	"github.com/belfry-run/belfry/app/ui/console/monitors"
	"github.com/belfry-run/belfry/app/ui/console/programs"
	"github.com/belfry-run/belfry/app/ui/console/queues"
	"github.com/belfry-run/belfry/app/ui/console/schedules"
	"github.com/belfry-run/belfry/app/ui/console/settings"
	"github.com/belfry-run/belfry/app/ui/console/statuspages"
	"github.com/belfry-run/belfry/app/ui/console/tasks"
	"github.com/belfry-run/belfry/app/ui/console/windows"
	"github.com/belfry-run/belfry/app/ui/console/workers"
	"github.com/belfry-run/belfry/view"
)

// API is how pages read and change things: the API of the node itself,
// called with the token of the person. So a page can do nothing that the
// API cannot, and rights, namespaces, limits and the audit are the API's.
//
// Each part is declared in the area that uses it.
type API interface {
	whoAPI
	watchAPI
	home.API
	find.API
	queues.API
	cycles.API
	workers.API
	settings.API
	programs.API
	jobs.API
	audit.API
	tasks.API
	schedules.API
	calendars.API
	monitors.API
	statuspages.API
	alerting.API
	windows.API
}

// PageDiff is the difference of two versions of a page that a monitor watches.
type PageDiff = monitors.PageDiff

type whoAPI interface {
	// Whoami answers the token itself.
	Whoami(ctx context.Context) (access.Token, error)
	// AllNamespaces lists those that the token may see.
	AllNamespaces(ctx context.Context) ([]access.Namespace, error)
}

type watchAPI interface {
	Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error)
}

// Sessions keeps the sign-ins of people.
type Sessions interface {
	OpenWebSession(ctx context.Context, w access.WebSession, l access.WebSessionLimits) (access.WebSession, error)
	// WebSession answers a NotFound error for one that has ended.
	WebSession(ctx context.Context, hash string, l access.WebSessionLimits) (access.WebSession, error)
	CloseWebSession(ctx context.Context, hash string) error
}
