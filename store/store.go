// Package store keeps Belfry's state in SQL. Each exported method is one whole transition: it reads facts, asks the package of
// the noun for a decision, and writes the decision, in one transaction.
//
// Store is thin. Each noun has a package of its own, based on package base, which has the transaction, the dialect and the
// clock. The packages are listed in Store in the order in which they depend on each other. A later package acts in the
// transitions of an earlier one by hooks, which join connects.
//
// The SQL stands beside its method and is one text for SQLite and PostgreSQL. The differences go through [base.Dialect].
//
// Guarantees: a nominal time of a schedule becomes at most one job, whatever crashes. A lost lease cannot write. An ended job
// has its attempt, its end and the consequences for its schedule in the same transaction.
package store

import (
	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/announcements"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/bounds"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/definitions"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/hooks"
	"github.com/belfry-run/belfry/store/incidents"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/quotas"
	"github.com/belfry-run/belfry/store/remote"
	"github.com/belfry-run/belfry/store/samples"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/search"
	"github.com/belfry-run/belfry/store/shifts"
	"github.com/belfry-run/belfry/store/steps"
	"github.com/belfry-run/belfry/store/subscribers"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/titles"
	"github.com/belfry-run/belfry/store/tokens"
	"github.com/belfry-run/belfry/store/trials"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/store/uptime"
	"github.com/belfry-run/belfry/store/views"
	"github.com/belfry-run/belfry/store/workers"
	"github.com/belfry-run/belfry/store/workflows"
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

// The parts of a store. Their names differ from those of methods, which an embedded field would hide.
type (
	titleStore      = titles.Store
	tokenStore      = tokens.Store
	quotaStore      = quotas.Store
	queueStore      = queues.Store
	boundStore      = bounds.Store
	turnStore       = turns.Store
	taskStore       = tasks.Store
	limitStore      = limits.Store
	jobStore        = jobs.Store
	leftoverStore   = leftovers.Store
	stepStore       = steps.Store
	workerStore     = workers.Store
	programStore    = programs.Store
	remoteStore     = remote.Store
	cycleStore      = cycles.Store
	workflowStore   = workflows.Store
	scheduleStore   = schedules.Store
	searchStore     = search.Store
	historyStore    = history.Store
	sampleStore     = samples.Store
	monitorStore    = monitors.Store
	subscriberStore = subscribers.Store
	trialStore      = trials.Store
	incidentStore   = incidents.Store
	announceStore   = announcements.Store
	uptimeStore     = uptime.Store
	alertStore      = alerts.Store
	hookStore       = hooks.Store
	zoneStore       = zones.Store
	viewStore       = views.Store
	definitionStore = definitions.Store
)

// Store is Belfry's state. It is safe for concurrent use.
type Store struct {
	*base.Store
	*titleStore
	*tokenStore
	*quotaStore
	*queueStore
	*boundStore
	*turnStore
	*taskStore
	*limitStore
	*jobStore
	*leftoverStore
	*stepStore
	*workerStore
	*programStore
	*remoteStore
	*cycleStore
	*workflowStore
	*scheduleStore
	*searchStore
	*historyStore
	*sampleStore
	*monitorStore
	*subscriberStore
	*trialStore
	*incidentStore
	*announceStore
	*uptimeStore
	*alertStore
	*hookStore
	*zoneStore
	*viewStore
	*definitionStore
}

// New wraps an open database. Packages sqlite and postgres call it.
func New(db base.DB, o Options) *Store {
	s := &Store{Store: base.New(db, o)}
	shifts.New(s.Store)
	s.titleStore = titles.New(s.Store)
	s.tokenStore = tokens.New(s.Store)
	s.quotaStore = quotas.New(s.Store)
	s.queueStore = queues.New(s.Store)
	s.boundStore = bounds.New(s.Store, s.queueStore, s.quotaStore)
	s.turnStore = turns.New(s.Store, s.queueStore)
	s.taskStore = tasks.New(s.Store, s.quotaStore, s.queueStore)
	s.limitStore = limits.New(s.Store, s.queueStore, s.taskStore, s.turnStore)
	s.jobStore = jobs.New(s.Store, s.queueStore, s.boundStore, s.turnStore, s.taskStore, s.limitStore)
	s.leftoverStore = leftovers.New(s.Store, s.jobStore, s.taskStore)
	s.stepStore = steps.New(s.Store, s.jobStore)
	s.trialStore = trials.New(s.Store, s.taskStore, s.jobStore)
	s.workerStore = workers.New(s.Store, s.jobStore, s.taskStore, s.tokenStore)
	s.programStore = programs.New(s.Store, s.jobStore, s.quotaStore, s.taskStore)
	s.remoteStore = remote.New(s.Store, s.jobStore, s.programStore, s.taskStore, s.workerStore)
	s.cycleStore = cycles.New(s.Store, s.jobStore, s.taskStore)
	s.workflowStore = workflows.New(s.Store, s.jobStore, s.stepStore, s.taskStore)
	s.scheduleStore = schedules.New(s.Store, s.boundStore, s.jobStore, s.leftoverStore, s.quotaStore, s.taskStore)
	s.searchStore = search.New(s.Store, s.cycleStore, s.jobStore, s.leftoverStore, s.programStore, s.queueStore, s.quotaStore, s.stepStore, s.taskStore, s.workflowStore)
	s.historyStore = history.New(s.Store, s.jobStore, s.limitStore, s.queueStore, s.scheduleStore, s.taskStore, s.workflowStore)
	s.sampleStore = samples.New(s.Store)
	s.monitorStore = monitors.New(s.Store, s.jobStore, s.scheduleStore, s.taskStore)
	s.subscriberStore = subscribers.New(s.Store, s.monitorStore)
	s.incidentStore = incidents.New(s.Store, s.subscriberStore)
	s.announceStore = announcements.New(s.Store, s.subscriberStore)
	s.uptimeStore = uptime.New(s.Store, s.historyStore, s.monitorStore)
	s.alertStore = alerts.New(s.Store, s.monitorStore, s.subscriberStore)
	s.hookStore = hooks.New(s.Store, s.alertStore)
	s.zoneStore = zones.New(s.Store, s.alertStore, s.monitorStore, s.scheduleStore)
	s.viewStore = views.New(s.Store, s.historyStore, s.hookStore, s.monitorStore, s.scheduleStore, s.searchStore, s.stepStore, s.taskStore, s.trialStore, s.turnStore, s.uptimeStore, s.workerStore, s.workflowStore, s.zoneStore)
	s.definitionStore = definitions.New(s.Store, s.monitorStore, s.programStore, s.queueStore, s.scheduleStore, s.taskStore)
	s.join()
	return s
}
