package monitor

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Monitor is a check that runs repeatedly, with a verdict on its target.
type Monitor struct {
	Namespace   string   `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string   `json:"name" doc:"Unique in the namespace"`
	Title       string   `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty" doc:"For people, filters and alert rules"`

	Check     task.Task  `json:"check,omitzero" doc:"What is done each time: a task of any kind, without name and retries"`
	Heartbeat *Heartbeat `json:"heartbeat,omitempty" doc:"Instead of check: wait to be called"`

	Every    core.Duration   `json:"every,omitempty" doc:"Time between two checks; default: 1m, or 1d for a domain; at least 1s"`
	Rules    []schedule.Rule `json:"rules,omitempty" doc:"Instead of every: when it is checked, or when a heartbeat is to come"`
	Zone     string          `json:"zone,omitempty" doc:"Of the rules; default: UTC"`
	Within   []string        `json:"within,omitempty" doc:"It is checked only during these calendars"`
	Blackout []string        `json:"blackout,omitempty" doc:"Calendars during which it is not checked"`

	Confirm    Confirm  `json:"confirm,omitzero" doc:"When a failing target counts as down"`
	Recover    Recover  `json:"recover,omitzero" doc:"When a target that is down counts as up"`
	Flap       Flap     `json:"flap,omitzero" doc:"When a target changes too often for an alert each time"`
	Slow       Slow     `json:"slow,omitzero" doc:"When a target is slower than usual"`
	StaleAfter int      `json:"stale_after,omitempty" doc:"Checks in a row that could not be made until the monitor is stale; default: 3"`
	DependsOn  []string `json:"depends_on,omitempty" doc:"Monitors of the namespace: while one is down, no notification is sent for this one"`
	Muted      bool     `json:"muted,omitempty" doc:"No notification is sent"`
	Public     bool     `json:"public,omitempty" doc:"Its badges can be seen by everyone"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true" doc:"Grows with every edit"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Heartbeat is a monitor that expects calls: from a cron job elsewhere, a backup,
// a device. Its URL contains a key that is generated with the monitor.
type Heartbeat struct {
	Grace      core.Duration `json:"grace,omitempty" doc:"How long after its time a call may come; default: a fifth of every, at least 10s, at most 1h"`
	MaxRuntime core.Duration `json:"max_runtime,omitempty" doc:"Longest time from a start to its end; default: no limit"`
	// TokenDigest is a result of [PushDigest] or [ExternalDigest].
	TokenDigest string `json:"token_digest,omitempty" doc:"SHA-256 of a token of Uptime Kuma or Gatus whose calls count too, as belfry import writes it"`
}

// Confirm sets when a failing target counts as down: after a number of failures in
// a row, or after failing for a time. If both are set, both must be reached.
type Confirm struct {
	Failures int           `json:"failures,omitempty" doc:"Default: 2, unless for is given"`
	For      core.Duration `json:"for,omitempty" doc:"Time since the first failure"`
	Retry    core.Duration `json:"retry,omitempty" doc:"How soon a failure is looked at again until it is confirmed or gone; default: a third of the time between checks, at least 1s and at most 20s; negative: only when it is due"`
}

// Recover sets when a target that was down counts as up again.
type Recover struct {
	Passes int           `json:"passes,omitempty" doc:"Default: 2, unless for is given"`
	For    core.Duration `json:"for,omitempty" doc:"Time since the first success"`
}

// Flap sets when a target flaps. It does after 3 changes between down and up in 12
// checks, until 6 checks show none; this rule is only for intervals of at most 5
// minutes. It also does if the last 21 outcomes changed too often, with the newest
// weighing most. While a target flaps, single changes are not notified.
type Flap struct {
	Off  bool `json:"off,omitempty"`
	High int  `json:"high,omitempty" doc:"Per cent of changes at which flapping begins; default: 50"`
	Low  int  `json:"low,omitempty" doc:"Per cent of changes below which it ends; default: 25"`
}

// Slow sets when a target is slower than usual. Its own good checks are the
// baseline.
type Slow struct {
	Off     bool          `json:"off,omitempty"`
	Sigma   float64       `json:"sigma,omitempty" doc:"Standard deviations above the mean; default: 3"`
	Samples int           `json:"samples,omitempty" doc:"Good checks before anything is judged; default: 20"`
	Checks  int           `json:"checks,omitempty" doc:"Slow checks in a row until a notification is sent, and quick ones until it is over; default: 5"`
	AtLeast core.Duration `json:"at_least,omitempty" doc:"What takes less is never slow; default: 50ms"`
}

const DefaultCheckEvery = core.Duration(time.Minute)

const MaxCheckTimeout = core.Duration(10 * time.Minute)

const DefaultFailures = 2

const DefaultPasses = 2

const MaxThreshold = 100

const DefaultStaleAfter = 3

const MaxDepends = 20

// Kind returns the kind of the monitor.
func (m Monitor) Kind() task.Kind {
	if m.Heartbeat != nil {
		return task.KindHeartbeat
	}
	return m.Check.Kind
}

// Settings replaces the settings of a kind in the monitor by a copy, or by new ones, and returns a pointer to them.
func (m *Monitor) Settings(kind task.Kind) any {
	if kind != task.KindHeartbeat {
		m.Check.Kind = kind
		return kind.Info().Edit(&m.Check)
	}
	heartbeat := Heartbeat{}
	if m.Heartbeat != nil {
		heartbeat = *m.Heartbeat
	}
	m.Heartbeat = &heartbeat
	return m.Heartbeat
}

// WithDefaults returns a copy with the defaults of empty fields.
func (m Monitor) WithDefaults() Monitor {
	m.Namespace = core.Or(m.Namespace, core.DefaultNamespace)
	m.Zone = core.Or(m.Zone, "UTC")
	if m.Every == 0 && len(m.Rules) == 0 {
		m.Every = core.Or(m.Check.CheckDefaults().Kind.Info().Every, DefaultCheckEvery)
	}
	m.Rules = schedule.RuleDefaults(m.Rules)
	if m.Heartbeat != nil {
		h := *m.Heartbeat
		h.Grace = core.Or(h.Grace, min(max(m.pace()/5, core.Duration(10*time.Second)), core.Duration(time.Hour)))
		m.Heartbeat = &h
		m.Confirm.Failures, m.Recover.Passes = core.Or(m.Confirm.Failures, 1), core.Or(m.Recover.Passes, 1)
	} else {
		m.Check = m.Check.CheckDefaults()
		if m.Confirm.Retry = core.Or(m.Confirm.Retry, confirmRetry(m.pace())); m.Confirm.Retry < 0 {
			m.Confirm.Retry = -core.Duration(time.Second) // all negative values mean the same
		}
	}
	if m.Confirm.For == 0 {
		m.Confirm.Failures = core.Or(m.Confirm.Failures, DefaultFailures)
	}
	if m.Recover.For == 0 {
		m.Recover.Passes = core.Or(m.Recover.Passes, DefaultPasses)
	}
	m.Flap.High, m.Flap.Low = core.Or(m.Flap.High, 50), core.Or(m.Flap.Low, 25)
	m.Slow.Sigma, m.Slow.Samples = core.Or(m.Slow.Sigma, 3), core.Or(m.Slow.Samples, 20)
	m.Slow.Checks, m.Slow.AtLeast = core.Or(m.Slow.Checks, 5), core.Or(m.Slow.AtLeast, core.Duration(50*time.Millisecond))
	m.StaleAfter = core.Or(m.StaleAfter, DefaultStaleAfter)
	return m
}

// confirmRetry returns a third of the time between two checks, in whole seconds.
func confirmRetry(pace core.Duration) core.Duration {
	return min(max((pace/3)/core.Duration(time.Second)*core.Duration(time.Second), core.Duration(time.Second)), core.Duration(20*time.Second))
}

// pace returns the time between two checks, or one minute for a monitor with rules.
func (m Monitor) pace() core.Duration { return core.Or(m.Every, DefaultCheckEvery) }

// Task returns the task that the monitor runs.
func (m Monitor) Task() task.Task {
	t := m.Check
	t.Namespace, t.Name = m.Namespace, task.OwnedName(m.Name)
	return t.WithDefaults()
}

// Schedule returns the schedule of the monitor. The phase of an interval depends on
// the name, so that many monitors are spread evenly.
func (m Monitor) Schedule() schedule.Schedule {
	s := schedule.Schedule{
		Namespace: m.Namespace, Name: task.OwnedName(m.Name), Task: task.OwnedName(m.Name), Rules: m.Rules, Zone: m.Zone,
		Within: m.Within, Blackout: m.Blackout, Catchup: schedule.CatchupLatest, Overlap: schedule.OverlapSkip,
	}
	if len(s.Rules) == 0 {
		s.Rules = []schedule.Rule{{Every: m.Every}}
	}
	return s.WithDefaults()
}

// Validate returns the problems of a monitor that has its defaults as one error, or nil.
func (m Monitor) Validate(now time.Time) error {
	var p core.Problems
	core.CheckName(&p, "name", m.Name)
	if len(m.Name) > MaxMonitorName {
		p.Addf("name", m.Name, "has more than %d bytes", MaxMonitorName)
	}
	core.CheckName(&p, "namespace", m.Namespace)
	core.CheckTags(&p, m.Tags)
	title.Check(&p, "title", m.Title)
	if len(m.Description) > core.MaxDescription {
		p.Addf("description", m.Description, "has more than %d bytes", core.MaxDescription)
	}
	m.validateCheck(&p)
	m.validateTimes(&p, now)
	m.validatePolicy(&p)
	for i, name := range m.DependsOn {
		path := fmt.Sprintf("depends_on[%d]", i)
		core.CheckName(&p, path, name)
		if name == m.Name {
			p.Add(path, name, "is the monitor itself", "")
		}
	}
	p.AtMost("depends_on", len(m.DependsOn), MaxDepends)
	return p.Err(fmt.Sprintf("monitor %q", m.Name))
}

// MaxMonitorName is the longest name of a monitor. It leaves room for the prefixes
// of the names of its task and schedule.
const MaxMonitorName = 100

func (m Monitor) validateCheck(p *core.Problems) {
	if m.Heartbeat != nil {
		if m.Check.Kind != "" || len(m.Check.Given()) > 0 {
			p.Add("check", string(m.Check.Kind), "cannot stand beside heartbeat", "a heartbeat is called, and calls nobody")
		}
		if m.Heartbeat.Grace < core.Duration(time.Second) || m.Heartbeat.Grace > core.Duration(30*24*time.Hour) {
			p.Addf("heartbeat.grace", m.Heartbeat.Grace, "is outside 1s to 30d")
		}
		if m.Heartbeat.MaxRuntime < 0 || m.Heartbeat.MaxRuntime > task.MaxTimeout {
			p.Addf("heartbeat.max_runtime", m.Heartbeat.MaxRuntime, "is outside 0s to %s", task.MaxTimeout)
		}
		if d := m.Heartbeat.TokenDigest; d != "" && !isDigest(d) {
			p.Add("heartbeat.token_digest", d, "is not a SHA-256 in hex", "import the monitor: belfry import uptime-kuma or gatus writes it")
		}
		return
	}
	if m.Check.Title != "" {
		p.Add("check.title", m.Check.Title, "cannot be given", "give the monitor a title")
	}
	if m.Check.Name != "" {
		p.Add("check.name", m.Check.Name, "cannot be given", "the check is named after its monitor")
	}
	if m.Check.Kind == task.KindCycle || m.Check.Kind == task.KindWorkflow {
		p.Add("check.kind", string(m.Check.Kind), "cannot be a check", "")
		return
	}
	if m.Check.Kind == task.KindFunc {
		p.Add("check", "", "has no settings of any kind", "such as check: {http: {url: https://example.com}}, or heartbeat: {}")
		return
	}
	t := m.Task()
	t.Name = "check" // the actual name is reserved and would be refused
	p.Nest("check", t.Validate())
	if m.Check.Timeout > MaxCheckTimeout {
		p.Addf("check.timeout", m.Check.Timeout, "is over %s", MaxCheckTimeout)
	}
}

func (m Monitor) validateTimes(p *core.Problems, now time.Time) {
	if m.Every != 0 && len(m.Rules) > 0 {
		p.Add("every", m.Every.String(), "cannot stand beside rules", "keep one of them")
		return
	}
	if m.Every != 0 && (m.Every < task.MinEvery || m.Every > task.MaxEvery) {
		p.Addf("every", m.Every, "is outside %s to %s", task.MinEvery, task.MaxEvery)
		return
	}
	s := m.Schedule()
	s.Name, s.Task = "check", "check"
	p.Nest("", s.Validate(now))
}

func (m Monitor) validatePolicy(p *core.Problems) {
	threshold := func(field string, n int, span core.Duration) {
		if n < 0 || n > MaxThreshold {
			p.Addf(field, n, "is outside 0 to %d", MaxThreshold)
		}
		if span < 0 || span > core.Duration(24*time.Hour) {
			p.Addf(field, span, "is outside 0s to 24h")
		}
	}
	threshold("confirm", m.Confirm.Failures, m.Confirm.For)
	threshold("recover", m.Recover.Passes, m.Recover.For)
	if m.Confirm.Retry > 0 && m.Confirm.Retry < core.Duration(time.Second) || m.Confirm.Retry > core.Duration(time.Hour) {
		p.Addf("confirm.retry", m.Confirm.Retry, "is outside 1s to 1h")
	}
	if m.Flap.Low < 1 || m.Flap.High > 100 || m.Flap.Low >= m.Flap.High {
		p.Addf("flap", fmt.Sprintf("%d to %d", m.Flap.Low, m.Flap.High), "is not a range of per cents in which low is below high")
	}
	if m.Slow.Sigma < 1 || m.Slow.Sigma > 100 || m.Slow.Samples < 5 || m.Slow.Samples > 1000 || m.Slow.Checks < 1 || m.Slow.Checks > MaxThreshold || m.Slow.AtLeast < 0 {
		p.Add("slow", "", "has a number that is out of range", "sigma 1 to 100, samples 5 to 1000, checks 1 to 100")
	}
	if m.StaleAfter < 1 || m.StaleAfter > MaxThreshold {
		p.Addf("stale_after", m.StaleAfter, "is outside 1 to %d", MaxThreshold)
	}
}

// Redacted returns the monitor for display, without its secrets.
func (m Monitor) Redacted() Monitor {
	m.Check = m.Check.Redacted()
	return m
}

// Version returns the version of the monitor's definition.
func (m Monitor) Version() string { return core.Version(m.Generation, m.UpdatedAt) }

// Version returns the version of the maintenance window.
func (w Window) Version() string { return core.Version(w.Generation, w.UpdatedAt) }

// MapSecrets returns a copy of the monitor with every secret replaced by the result of f.
func (m Monitor) MapSecrets(f func(path string, s core.Secret) core.Secret) Monitor {
	m.Check = m.Check.MapSecrets(func(path string, s core.Secret) core.Secret { return f("check."+path, s) })
	return m
}
