package app

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/views"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Metric describes a metric of a node.
type Metric struct {
	Name   string
	Labels []string
	Help   string
	kind   string // counter, histogram or gauge
}

// Metrics lists the metrics of /metrics by name, without the metrics of Go and
// of the process.
func Metrics() []Metric {
	var c catalogue
	newObserver(&c)
	newRequests(&c)
	newGauges(&c, nil, nil)
	newStreams(&c, nil)
	newTicketNumbers(&c)
	slices.SortFunc(c.metrics, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return c.metrics
}

// catalogue creates metrics, and lists them for the reference and for registration.
type catalogue struct {
	metrics []Metric
	vecs    []prometheus.Collector
}

func (c *catalogue) add(kind, name, help string, labels []string) {
	c.metrics = append(c.metrics, Metric{Name: name, Labels: labels, Help: help, kind: kind})
}

func (c *catalogue) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c.add("counter", name, help, labels)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	c.vecs = append(c.vecs, v)
	return v
}

func (c *catalogue) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	c.add("histogram", name, help, labels)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	c.vecs = append(c.vecs, v)
	return v
}

func (c *catalogue) gauge(name, help string, labels ...string) *prometheus.Desc {
	c.add("gauge", name, help, labels)
	return prometheus.NewDesc(name, help, labels, nil)
}

// observer turns observations of the store into metrics.
type observer struct {
	all []prometheus.Collector

	claimed  *prometheus.CounterVec
	waited   *prometheus.HistogramVec
	released *prometheus.HistogramVec
	settled  *prometheus.CounterVec
	attempts *prometheus.CounterVec
	ran      *prometheus.HistogramVec
	fired    *prometheus.CounterVec
	lag      *prometheus.HistogramVec
	stale    *prometheus.CounterVec
	lost     *prometheus.CounterVec
	checked  *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	tried    *prometheus.CounterVec
	hooked   *prometheus.CounterVec
	over     *prometheus.CounterVec
	keptOut  *prometheus.CounterVec
	took     *prometheus.HistogramVec
	failed   *prometheus.CounterVec
}

// fast are the buckets of operations that take from 0.1 ms to some seconds.
var fast = []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10}

// startLags are the buckets of start latency, finest around 1 s, within which a job should start.
var startLags = []float64{.01, .03, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800}

// latencies are the buckets of checks: from a local target to a timeout.
var latencies = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// lostAfter are the buckets around 40 s, within which a lost job should start again.
var lostAfter = []float64{1, 5, 15, 30, 35, 40, 60, 120, 300, 600}

func newObserver(c *catalogue) *observer {
	before := len(c.vecs)
	o := &observer{
		claimed:  c.counter("belfry_jobs_claimed_total", "Jobs handed to workers.", "queue"),
		waited:   c.histogram("belfry_start_lag_seconds", "How long after its due time a job was claimed, a retry after that of the retry.", startLags, "queue", "kind"),
		released: c.histogram("belfry_lost_release_seconds", "How long after the last sign of a lost worker each of its jobs was released for another.", lostAfter),
		settled:  c.counter("belfry_jobs_settled_total", "Attempts recorded, by what the job became.", "queue", "state"),
		attempts: c.counter("belfry_attempts_total", "Attempts recorded, by how they ended.", "queue", "outcome"),
		ran:      c.histogram("belfry_attempt_seconds", "How long attempts ran.", []float64{.01, .1, 1, 10, 60, 300, 1800, 7200}, "queue"),
		fired:    c.counter("belfry_occurrences_total", "Nominal times decided.", "decision", "reason"),
		lag:      c.histogram("belfry_fire_lag_seconds", "How long after its nominal time an occurrence became a job.", fast),
		stale:    c.counter("belfry_stale_results_total", "Results refused because the lease was lost."),
		lost:     c.counter("belfry_sessions_lost_total", "Worker sessions given up because they did not renew."),
		checked:  c.counter("belfry_checks_total", "Checks of monitors judged, by outcome: ok, degraded, fail or error. Calls of heartbeats are not among them.", "kind", "outcome"),
		latency:  c.histogram("belfry_check_seconds", "Latency of checks, as their monitors show it. Checks without one are left out.", latencies, "kind"),
		tried:    c.counter("belfry_alert_tries_total", "Tries to deliver a message, by the kind of the channel and what its alerts became: sent, pending (tried again) or failed.", "channel", "state"),
		hooked:   c.counter("belfry_hook_events_total", "Events that were sent to hooks, once for each try, by what came of it: sent, failed (tried again) or disabled (the hook).", "result"),
		over:     c.counter("belfry_over_quota_total", "Requests that a quota of their namespace had no room for.", "namespace", "quota"),
		keptOut:  c.counter("belfry_jobs_kept_out_total", "Jobs that were refused by a full queue (queue_full), dropped from one (dropped), not made because of one in the window of a throttle (throttled), or taken by one in the window of a debounce (debounced).", "queue", "reason"),
		took:     c.histogram("belfry_store_seconds", "How long transitions of the store took.", fast, "transition"),
		failed:   c.counter("belfry_store_errors_total", "Transitions of the store that failed by a fault of the store, and not of what was asked.", "transition"),
	}
	o.all = c.vecs[before:]
	return o
}

func (o *observer) register(r prometheus.Registerer) error {
	// Created at zero, so that an alert on their increase sees the first event.
	o.lag.WithLabelValues()
	o.stale.WithLabelValues()
	o.lost.WithLabelValues()
	o.released.WithLabelValues()
	for _, c := range o.all {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) Claimed(queue string, jobs int) {
	o.claimed.WithLabelValues(queue).Add(float64(jobs))
}

func (o *observer) Waited(queue string, kind task.Kind, lag time.Duration) {
	o.waited.WithLabelValues(queue, string(kind)).Observe(max(lag, 0).Seconds())
}

func (o *observer) Released(jobs int, silent time.Duration) {
	for range jobs {
		o.released.WithLabelValues().Observe(silent.Seconds())
	}
}

func (o *observer) Settled(queue string, outcome job.Outcome, state job.State, ran time.Duration) {
	o.attempts.WithLabelValues(queue, string(outcome)).Inc()
	o.settled.WithLabelValues(queue, string(state)).Inc()
	if ran >= 0 {
		o.ran.WithLabelValues(queue).Observe(ran.Seconds())
	}
}

func (o *observer) Fired(decision schedule.Decision, reason core.Reason, times int, lag time.Duration) {
	o.fired.WithLabelValues(string(decision), string(reason)).Add(float64(times))
	if decision == schedule.DecidedJob {
		o.lag.WithLabelValues().Observe(max(lag, 0).Seconds())
	}
}

func (o *observer) Stale(jobs int)    { o.stale.WithLabelValues().Add(float64(jobs)) }
func (o *observer) Lost(sessions int) { o.lost.WithLabelValues().Add(float64(sessions)) }

func (o *observer) Checked(kind task.Kind, outcome task.CheckOutcome, latency time.Duration) {
	o.checked.WithLabelValues(string(kind), string(outcome)).Inc()
	if latency > 0 {
		o.latency.WithLabelValues(string(kind)).Observe(latency.Seconds())
	}
}

func (o *observer) Tried(channel string, became alert.State) {
	o.tried.WithLabelValues(channel, string(became)).Inc()
}

func (o *observer) Delivered(result string, events int) {
	o.hooked.WithLabelValues(result).Add(float64(events))
}

func (o *observer) KeptOut(queue string, why core.Reason, jobs int) {
	o.keptOut.WithLabelValues(queue, string(why)).Add(float64(jobs))
}

func (o *observer) OverQuota(namespace, quota string) {
	o.over.WithLabelValues(namespace, quota).Inc()
}

func (o *observer) Took(transition string, d time.Duration, failed bool) {
	o.took.WithLabelValues(transition).Observe(d.Seconds())
	if failed {
		o.failed.WithLabelValues(transition).Inc()
	}
}

// figures are the values of gauges.
type figures struct {
	health view.Health
	queues []job.QueueStats
	store  views.Gauges
}

// leftBehind counts the attempts and alerts on this node that still run after their time limit.
type leftBehind struct{ Attempts, Alerts int }

// gauges are read from the database at each scrape, within [gaugeTime]. The
// numbers of queues, channels and monitors are limited.
type gauges struct {
	read func(ctx context.Context) (figures, error)
	left func() leftBehind

	up, lag, skew, quiet, workers      *prometheus.Desc
	ready, scheduled, running, waiting *prometheus.Desc
	paused                             *prometheus.Desc
	monitors, monitorUp                *prometheus.Desc
	pending, oldest                    *prometheus.Desc
	behind                             *prometheus.Desc
}

const (
	maxQueueSeries   = 200
	maxChannelSeries = 200
	maxMonitorSeries = 1000
	gaugeTime        = 5 * time.Second
)

func newGauges(c *catalogue, read func(ctx context.Context) (figures, error), left func() leftBehind) *gauges {
	return &gauges{
		read: read, left: left,
		up:        c.gauge("belfry_database_up", "1 if the database answered."),
		lag:       c.gauge("belfry_schedule_lag_seconds", "How long the most overdue schedule waits to be fired."),
		quiet:     c.gauge("belfry_clock_quiet_seconds", "How long planned times and checks of monitors are quiet yet because the clock was set back."),
		skew:      c.gauge("belfry_clock_skew_seconds", "This node's clock less the one that decides."),
		workers:   c.gauge("belfry_workers", "Living worker sessions."),
		ready:     c.gauge("belfry_queue_ready", "Jobs that could start now, counted up to 10001.", "queue"),
		scheduled: c.gauge("belfry_queue_scheduled", "Jobs for later, counted up to 10001.", "queue"),
		running:   c.gauge("belfry_queue_running", "Jobs that run.", "queue"),
		waiting:   c.gauge("belfry_queue_oldest_seconds", "How long the oldest ready job has waited.", "queue"),
		paused:    c.gauge("belfry_queue_paused", "1 if the queue is paused.", "queue"),
		monitors:  c.gauge("belfry_monitors", "Monitors by status: new, up, down or paused.", "status"),
		monitorUp: c.gauge("belfry_monitor_up", "1 if the monitor is up, 0 if it is down; none while it is new or paused.", "namespace", "monitor"),
		pending:   c.gauge("belfry_alerts_pending", "Alerts of a channel that are not sent yet, those for later included.", "namespace", "channel"),
		oldest:    c.gauge("belfry_alerts_oldest_seconds", "Age of the channel's oldest alert that is due or was tried.", "namespace", "channel"),
		behind:    c.gauge("belfry_left_behind", "Attempts of jobs and tries of alerts on this node that run on though they had to stop.", "of"),
	}
}

func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.up, g.lag, g.skew, g.quiet, g.workers, g.ready, g.scheduled, g.running, g.waiting, g.paused,
		g.monitors, g.monitorUp, g.pending, g.oldest, g.behind} {
		ch <- d
	}
}

func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), gaugeTime)
	defer stop()
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	left := g.left()
	send(g.behind, float64(left.Attempts), "attempts")
	send(g.behind, float64(left.Alerts), "alerts")
	f, err := g.read(ctx)
	if err != nil {
		send(g.up, 0)
		return
	}
	send(g.up, 1)
	send(g.lag, f.health.ScheduleLag.Seconds())
	send(g.skew, f.health.ClockSkew.Seconds())
	quiet := time.Duration(0)
	if until := f.health.QuietUntil; !until.IsZero() {
		quiet = max(0, until.Sub(f.health.Now))
	}
	send(g.quiet, quiet.Seconds())
	send(g.workers, float64(f.health.Workers))
	for _, q := range f.queues[:min(len(f.queues), maxQueueSeries)] {
		send(g.ready, float64(q.Ready), q.Name)
		send(g.scheduled, float64(q.Scheduled), q.Name)
		send(g.running, float64(q.Running), q.Name)
		send(g.waiting, age(q.OldestAt, f.health.Now).Seconds(), q.Name)
		send(g.paused, one(!q.PausedAt.IsZero()), q.Name)
	}
	for _, status := range []monitor.Status{monitor.StatusNew, monitor.StatusUp, monitor.StatusDown, monitor.StatusPaused} {
		send(g.monitors, float64(f.store.Monitors[status]), string(status))
	}
	for _, m := range f.store.States {
		send(g.monitorUp, one(m.Up), m.Namespace, m.Name)
	}
	for _, c := range f.store.Channels {
		send(g.pending, float64(c.Pending), c.Namespace, c.Channel)
		send(g.oldest, age(c.OldestAt, f.store.Now).Seconds(), c.Namespace, c.Channel)
	}
}

func age(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(now.Sub(t), 0)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// requests measures the requests of the API.
type requests struct{ took *prometheus.HistogramVec }

func newRequests(c *catalogue) *requests {
	return &requests{c.histogram("belfry_http_seconds", "How long requests took, streams and long polls included.", fast, "route", "status")}
}

func (q *requests) observe(r httpapi.Request) {
	q.took.WithLabelValues(r.Route, strconv.Itoa(r.Status)).Observe(r.Duration.Seconds())
}
