package view

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// MonitorView is a monitor with the state of its target.
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
	Search    string // part of the name or title, ignoring case
}

// MaxMonitorSearch is the longest search of a [MonitorFilter], in bytes.
const MaxMonitorSearch = 200

// MonitorCount is the number of monitors that a filter finds, counted up to [core.CountLimit].
type MonitorCount struct {
	core.Counted
	Statuses map[monitor.Status]int `json:"statuses" doc:"Of those that were counted"`
}

// MonitorResult is a stored check result.
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
	Step      core.Duration // default: one that gives about 200 points
}

// UptimeReport is the uptime of a target in several spans.
type UptimeReport struct {
	Monitor string         `json:"monitor"`
	Spans   []UptimeWindow `json:"spans"`
}

// UptimeWindow is the uptime in one span.
type UptimeWindow struct {
	Name string `json:"name" enum:"24h,7d,30d,90d,1y" doc:"24h is 48 half hours of the clock, the others are days of UTC. The present one counts and is not over yet"`
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
	Open      bool   // only open incidents
	Over      bool   // only ended incidents; with Open: none
	Assigned  string // only incidents of this person, by the exact name
}

// AnnouncementFilter selects announcements of a status page, the newest first.
type AnnouncementFilter struct {
	core.Paging
	Namespace  string
	StatusPage string // by name
	Current    bool   // only announcements that are not over
}

// SubscriberFilter selects subscribers of a status page, the newest first.
type SubscriberFilter struct {
	core.Paging
	Namespace  string
	StatusPage string // by name
}

// SubscriberCounts is the number of subscribers of a status page.
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

// DocumentFilter selects channels, alert rules, hooks, windows or status pages, by
// name.
type DocumentFilter struct {
	core.Paging
	Namespace string // * for all
	Part      string // part of the name or title, ignoring case; artifacts, cycles and secrets have none
}

// Beaten is the answer to a call of a heartbeat.
type Beaten struct {
	Monitor string         `json:"monitor"`
	Status  monitor.Status `json:"status"`
}

// Lapsed is the result of a pass over monitors whose state changes with time
// alone.
type Lapsed struct {
	Now      time.Time
	Monitors int
	NextAt   time.Time // when the next pass is due; zero: none until an event
}

// TakenAlerts are the messages that a node has claimed to send.
type TakenAlerts struct {
	Now      time.Time
	Messages []TakenAlert
	NextAt   time.Time // when the next message is due; zero: none waits
}

// TakenAlert is a claimed message, with its channel including all secrets, and its
// alerts.
type TakenAlert struct {
	Channel alert.Channel
	Message alert.Message
	Alerts  []int64
	Tries   int // earlier attempts
	// Until is the end of the claim.
	Until time.Time
	Hook  int64 // of events
}

// DeliveryResult is the result of an attempt to send a message.
type DeliveryResult struct {
	Error      string        // "": the receiver accepted the message
	Permanent  bool          // a retry cannot succeed
	Gone       bool          // the receiver answered 410: it wants no more messages
	RetryAfter core.Duration // requested by the receiver; 0: the usual delay
	Cut        bool          // the node stopped before the result was known: the attempt does not count, and other nodes may make it
	Took       core.Duration
}

// Times of delivery.
const (
	// AlertTimeout is the timeout of one attempt.
	AlertTimeout = 30 * time.Second
	// AlertTaken is how long the claim of a node on a message lasts. It is longer
	// than an attempt including its recording.
	AlertTaken = 2 * time.Minute
)
