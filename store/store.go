// Package store keeps Belfry's state in SQL. Each exported method is one whole
// transition: it reads facts, asks the package of the noun what they mean, and
// writes the answer, in one transaction.
//
// Store is thin. Each noun has a package of its own on package base, which has
// the transaction, the dialect and the clock; they are listed in Store in the
// order in which they know each other. What one does within another's
// transition is plugged in by join.
//
// The SQL stands beside its method and is one text for SQLite and PostgreSQL.
// What differs goes through [base.Dialect].
//
// What it guarantees: a nominal time of a schedule becomes at most one job,
// whatever crashes; a lease that was lost cannot write any more; a job that
// ended has its attempt, its end and what follows from it for its schedule in
// the same transaction.
package store

import (
	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/definitions"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/remote"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/search"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/tokens"
	"github.com/belfry-run/belfry/store/uptime"
	"github.com/belfry-run/belfry/store/views"
	"github.com/belfry-run/belfry/store/workers"
	"github.com/belfry-run/belfry/store/zones"
)

// Names of package base that programs use.
type (
	Options  = base.Options
	Keep     = base.Keep
	Observer = base.Observer
	Claims   = base.Claims
	Bytes    = base.Bytes
	Sealer   = base.Sealer
)

// The parts of a store. Their names keep them from hiding methods that are
// called like them.
type (
	tokenStore      = tokens.Store
	queueStore      = queues.Store
	taskStore       = tasks.Store
	jobStore        = jobs.Store
	workerStore     = workers.Store
	programStore    = programs.Store
	remoteStore     = remote.Store
	cycleStore      = cycles.Store
	scheduleStore   = schedules.Store
	searchStore     = search.Store
	historyStore    = history.Store
	monitorStore    = monitors.Store
	uptimeStore     = uptime.Store
	alertStore      = alerts.Store
	zoneStore       = zones.Store
	viewStore       = views.Store
	definitionStore = definitions.Store
)

// Store is Belfry's state. It is safe for use by many goroutines.
type Store struct {
	*base.Store
	*tokenStore
	*queueStore
	*taskStore
	*jobStore
	*workerStore
	*programStore
	*remoteStore
	*cycleStore
	*scheduleStore
	*searchStore
	*historyStore
	*monitorStore
	*uptimeStore
	*alertStore
	*zoneStore
	*viewStore
	*definitionStore
}

// New wraps an open database. Packages sqlite and postgres call it.
func New(db base.DB, o Options) *Store {
	s := &Store{Store: base.New(db, o)}
	s.tokenStore = tokens.New(s.Store)
	s.queueStore = queues.New(s.Store)
	s.taskStore = tasks.New(s.Store, s.queueStore)
	s.jobStore = jobs.New(s.Store, s.queueStore, s.taskStore)
	s.workerStore = workers.New(s.Store, s.jobStore, s.taskStore, s.tokenStore)
	s.programStore = programs.New(s.Store, s.jobStore, s.taskStore)
	s.remoteStore = remote.New(s.Store, s.jobStore, s.programStore, s.taskStore, s.workerStore)
	s.cycleStore = cycles.New(s.Store, s.jobStore, s.taskStore)
	s.scheduleStore = schedules.New(s.Store, s.cycleStore, s.jobStore, s.taskStore)
	s.searchStore = search.New(s.Store, s.cycleStore, s.jobStore, s.programStore, s.queueStore, s.taskStore)
	s.historyStore = history.New(s.Store, s.jobStore, s.queueStore, s.scheduleStore, s.taskStore)
	s.monitorStore = monitors.New(s.Store, s.jobStore, s.scheduleStore, s.taskStore)
	s.uptimeStore = uptime.New(s.Store, s.historyStore, s.monitorStore)
	s.alertStore = alerts.New(s.Store, s.monitorStore)
	s.zoneStore = zones.New(s.Store, s.alertStore, s.monitorStore, s.scheduleStore)
	s.viewStore = views.New(s.Store, s.historyStore, s.monitorStore, s.scheduleStore, s.searchStore, s.taskStore, s.uptimeStore, s.workerStore, s.zoneStore)
	s.definitionStore = definitions.New(s.Store, s.monitorStore, s.programStore, s.queueStore, s.scheduleStore, s.taskStore)
	s.join()
	return s
}
