package view

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// MonitorView is a monitor and how its target is.
type MonitorView struct {
	monitor.Monitor
	Status monitor.Status `json:"status" enum:"new,up,down,paused"`
	State  monitor.State  `json:"state"`
	NextAt time.Time      `json:"next_at,omitzero" doc:"When it is checked next"`
	Beat   string         `json:"beat,omitempty" doc:"Of a heartbeat: the path to be called, which holds its key"`
}

// MonitorFilter selects monitors, by name.
type MonitorFilter struct {
	core.Paging
	Namespace string // * for all
	Status    monitor.Status
	Kind      task.Kind
	Tag       string
	Search    string // part of the name or title, whatever its case
}

// MaxMonitorSearch bounds the search of a [MonitorFilter], in bytes.
const MaxMonitorSearch = 200

// MonitorCount is how many monitors a filter finds, as far as [core.CountLimit].
type MonitorCount struct {
	core.Counted
	Statuses map[monitor.Status]int `json:"statuses" doc:"Of those that were counted"`
}

// MonitorResult is a check as it is kept.
type MonitorResult struct {
	At         time.Time              `json:"at" doc:"Its nominal time"`
	Outcome    task.CheckOutcome      `json:"outcome" enum:"ok,degraded,fail,error"`
	Code       task.CheckCode         `json:"code,omitempty"`
	Message    string                 `json:"message,omitempty"`
	Latency    core.Duration          `json:"latency,omitempty"`
	Phases     task.Phases            `json:"phases,omitzero"`
	QueueDelay core.Duration          `json:"queue_delay,omitempty" doc:"From its time to its start; no part of the latency"`
	Status     int                    `json:"status,omitempty"`
	IP         string                 `json:"ip,omitempty"`
	Starved    bool                   `json:"starved,omitempty"`
	JobID      int64                  `json:"job_id,omitempty"`
	Conditions []task.ConditionResult `json:"conditions,omitempty"`
	Hops       []task.Hop             `json:"hops,omitempty"`
}

// ResultFilter selects results of one monitor, newest first.
type ResultFilter struct {
	core.Paging
	Namespace string
	Monitor   string
	Outcome   task.CheckOutcome
	Since     time.Time
	Until     time.Time
}

// SeriesQuery asks for a monitor's latencies and outcomes over time.
type SeriesQuery struct {
	Namespace string
	Monitor   string
	From      time.Time
	To        time.Time     // default: now
	Step      core.Duration // default: chosen so that about 200 points come
}

// UptimeReport is how much of several spans a target was up.
type UptimeReport struct {
	Monitor string         `json:"monitor"`
	Spans   []UptimeWindow `json:"spans"`
}

// UptimeWindow is one of them.
type UptimeWindow struct {
	Name string `json:"name" enum:"24h,7d,30d,90d,1y"`
	monitor.Uptime
	P50 core.Duration `json:"p50,omitempty" doc:"Latency of good checks"`
	P95 core.Duration `json:"p95,omitempty"`
	P99 core.Duration `json:"p99,omitempty"`
}

// IncidentFilter selects incidents, newest first.
type IncidentFilter struct {
	core.Paging
	Namespace string // * for all
	Monitor   string
	Open      bool   // only those that are
	Over      bool   // only those that are not; with Open: none
	Assigned  string // only those of this person, as the name was written
}

// AnnouncementFilter selects announcements of a status page, the newest first.
type AnnouncementFilter struct {
	core.Paging
	Namespace  string
	StatusPage string // by name
	Current    bool   // only those that are not over
}

// SubscriberFilter selects subscribers of a status page, the newest first.
type SubscriberFilter struct {
	core.Paging
	Namespace  string
	StatusPage string // by name
}

// SubscriberCounts is how many subscribers a status page has.
type SubscriberCounts struct {
	Mail    int `json:"mail" doc:"Confirmed, by mail"`
	Webhook int `json:"webhook" doc:"Confirmed, by webhook"`
	Pending int `json:"pending" doc:"Not confirmed yet"`
}

// VersionFilter selects versions of a monitor's page, newest first.
type VersionFilter struct {
	core.Paging
	Namespace string
	Monitor   string
}

// DocumentFilter selects channels, alert rules, windows or status pages, by
// name.
type DocumentFilter struct {
	core.Paging
	Namespace string // * for all
}

// Beaten is the answer to a heartbeat's call.
type Beaten struct {
	Monitor string         `json:"monitor"`
	Status  monitor.Status `json:"status"`
}

// Lapsed is the answer to a pass over monitors for which time alone changed
// something.
type Lapsed struct {
	Now      time.Time
	Monitors int
	NextAt   time.Time // zero: nothing to do until something happens
}

// TakenAlerts is what a node is to tell now.
type TakenAlerts struct {
	Now      time.Time
	Messages []TakenAlert
	NextAt   time.Time // when the next one is due; zero: none waits
}

// TakenAlert is a message on its way: its channel with all secrets, and the
// alerts that it tells.
type TakenAlert struct {
	Channel alert.Channel
	Message alert.Message
	Alerts  []int64
	Tries   int // before this one
	// Of events: until when they are this node's, and the hook that they go to, as it was defined then.
	Until            time.Time
	Hook, Generation int64
}

// DeliveryResult is what came of a try to send a message.
type DeliveryResult struct {
	Error      string        // empty: it was taken
	Permanent  bool          // no further try can mend it
	Gone       bool          // the receiver answered 410: it wants no more
	RetryAfter core.Duration // asked for by the receiver; 0: as usual
	Took       core.Duration
}

// Times of telling.
const (
	// AlertTimeout bounds one try.
	AlertTimeout = 30 * time.Second
	// AlertTaken is how long a message is a node's own. It is longer than a try
	// and what comes with it.
	AlertTaken = 2 * time.Minute
)
