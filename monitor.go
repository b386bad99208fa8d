package belfry

import (
	"fmt"
	"time"
)

// Monitor is a check that runs again and again, and a verdict on what it sees.
type Monitor struct {
	Namespace   string   `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string   `json:"name" doc:"Unique in the namespace"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty" doc:"For people, filters and alert rules"`

	Check     Task       `json:"check,omitzero" doc:"What is done each time: a task of any kind, without name and retries"`
	Heartbeat *Heartbeat `json:"heartbeat,omitempty" doc:"Instead of check: wait to be called"`

	Every    Duration `json:"every,omitempty" doc:"Time between two checks; default: 1m; at least 1s"`
	Rules    []Rule   `json:"rules,omitempty" doc:"Instead of every: when it is checked, or when a heartbeat is to come"`
	Zone     string   `json:"zone,omitempty" doc:"Of the rules; default: UTC"`
	Within   []string `json:"within,omitempty" doc:"Calendars in whose times alone it is checked"`
	Blackout []string `json:"blackout,omitempty" doc:"Calendars in whose times it is not checked"`

	Confirm    Confirm  `json:"confirm,omitzero" doc:"When a failing target counts as down"`
	Recover    Recover  `json:"recover,omitzero" doc:"When a target that is down counts as up"`
	Flap       Flap     `json:"flap,omitzero" doc:"When a target changes too often for an alert each time"`
	Slow       Slow     `json:"slow,omitzero" doc:"When a target is slower than it uses to be"`
	StaleAfter int      `json:"stale_after,omitempty" doc:"Checks in a row that could not be made until the monitor is stale; default: 3"`
	DependsOn  []string `json:"depends_on,omitempty" doc:"Monitors of the namespace: while one is down, nobody is told of this one"`
	Muted      bool     `json:"muted,omitempty" doc:"Nobody is told anything"`
	Public     bool     `json:"public,omitempty" doc:"Its badges can be seen by everyone"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true" doc:"Grows with every edit"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Heartbeat is a monitor that waits to be called: by a cron job elsewhere, a
// backup, a device. Its URL holds a key that is made when it is created.
type Heartbeat struct {
	Grace      Duration `json:"grace,omitempty" doc:"How long after its time a call may come; default: a fifth of every, at least 10s, at most 1h"`
	MaxRuntime Duration `json:"max_runtime,omitempty" doc:"Longest time from a start to its end; default: no limit"`
	// TokenDigest is made by [PushDigest] or [ExternalDigest].
	TokenDigest string `json:"token_digest,omitempty" doc:"SHA-256 of a token of Uptime Kuma or Gatus whose calls count too, as belfry import writes it"`
}

// Confirm is when a failing target counts as down: after so many failures in a
// row, or after failing for so long, whichever is given; both must be reached
// when both are.
type Confirm struct {
	Failures int      `json:"failures,omitempty" doc:"Default: 2, unless for is given"`
	For      Duration `json:"for,omitempty" doc:"Time since the first failure"`
	Retry    Duration `json:"retry,omitempty" doc:"How soon a failure is looked at again until it is confirmed or gone; default: a third of the time between checks, at least 1s and at most 20s; negative: only when it is due"`
}

// Recover is when a target that was down counts as up again.
type Recover struct {
	Passes int      `json:"passes,omitempty" doc:"Default: 2, unless for is given"`
	For    Duration `json:"for,omitempty" doc:"Time since the first success"`
}

// Flap is when a target changes too often: it went down or came up three times
// in 12 checks, until it has not for 6, unless it is checked less often than
// every 5 minutes or by rules. Or the last 21 outcomes changed too often, the
// newest weighing most. Single changes are not told while it flaps.
type Flap struct {
	Off  bool `json:"off,omitempty"`
	High int  `json:"high,omitempty" doc:"Per cent of changes at which flapping begins; default: 50"`
	Low  int  `json:"low,omitempty" doc:"Per cent of changes below which it ends; default: 25"`
}

// Slow is when a target is slower than it uses to be. The baseline is made of
// its own good checks.
type Slow struct {
	Off     bool     `json:"off,omitempty"`
	Sigma   float64  `json:"sigma,omitempty" doc:"Standard deviations above the mean; default: 3"`
	Samples int      `json:"samples,omitempty" doc:"Good checks before anything is judged; default: 20"`
	Checks  int      `json:"checks,omitempty" doc:"Slow checks in a row until somebody is told, and quick ones until it is over; default: 5"`
	AtLeast Duration `json:"at_least,omitempty" doc:"What takes less is never slow; default: 50ms"`
}

// Defaults and limits of a monitor.
const (
	DefaultCheckEvery   = Duration(time.Minute)
	DefaultCheckTimeout = Duration(10 * time.Second)
	MaxCheckTimeout     = Duration(10 * time.Minute)
	DefaultFailures     = 2
	DefaultPasses       = 2
	MaxThreshold        = 100
	DefaultStaleAfter   = 3
	MaxDepends          = 20
)

// Kind is what the monitor does.
func (m Monitor) Kind() Kind {
	if m.Heartbeat != nil {
		return KindHeartbeat
	}
	return m.Check.Kind
}

// owned is how a name of what belongs to a monitor begins. No name that a
// person gives can hold the colon.
const owned = "monitor:"

// OwnedName is the name of the task and of the schedule that belong to a
// monitor.
func OwnedName(monitor string) string { return owned + monitor }

// OwnerOf is the monitor that a task or schedule of this name belongs to.
func OwnerOf(name string) (monitor string, isOwned bool) {
	if len(name) > len(owned) && name[:len(owned)] == owned {
		return name[len(owned):], true
	}
	return "", false
}

// WithDefaults fills what was left out.
func (m Monitor) WithDefaults() Monitor {
	m.Namespace = or(m.Namespace, DefaultNamespace)
	m.Zone = or(m.Zone, "UTC")
	if m.Every == 0 && len(m.Rules) == 0 {
		m.Every = DefaultCheckEvery
	}
	m.Rules = ruleDefaults(m.Rules)
	if m.Heartbeat != nil {
		h := *m.Heartbeat
		h.Grace = or(h.Grace, min(max(m.pace()/5, Duration(10*time.Second)), Duration(time.Hour)))
		m.Heartbeat = &h
		m.Confirm.Failures, m.Recover.Passes = or(m.Confirm.Failures, 1), or(m.Recover.Passes, 1)
	} else {
		m.Check = m.Check.checkDefaults()
		if m.Confirm.Retry = or(m.Confirm.Retry, confirmRetry(m.pace())); m.Confirm.Retry < 0 {
			m.Confirm.Retry = -Duration(time.Second) // any is as good
		}
	}
	if m.Confirm.For == 0 {
		m.Confirm.Failures = or(m.Confirm.Failures, DefaultFailures)
	}
	if m.Recover.For == 0 {
		m.Recover.Passes = or(m.Recover.Passes, DefaultPasses)
	}
	m.Flap.High, m.Flap.Low = or(m.Flap.High, 50), or(m.Flap.Low, 25)
	m.Slow.Sigma, m.Slow.Samples = or(m.Slow.Sigma, 3), or(m.Slow.Samples, 20)
	m.Slow.Checks, m.Slow.AtLeast = or(m.Slow.Checks, 5), or(m.Slow.AtLeast, Duration(50*time.Millisecond))
	m.StaleAfter = or(m.StaleAfter, DefaultStaleAfter)
	return m
}

// confirmRetry is a third of the time between two checks, in whole seconds.
func confirmRetry(pace Duration) Duration {
	return min(max((pace/3)/Duration(time.Second)*Duration(time.Second), Duration(time.Second)), Duration(20*time.Second))
}

// checkDefaults are a task's, with those of a check: it is quick, and what
// failed is looked at again by the monitor and not by the queue.
func (t Task) checkDefaults() Task {
	t.Queue = or(t.Queue, ChecksQueue)
	t.Timeout = or(t.Timeout, DefaultCheckTimeout)
	t.Retry = Retry{MaxAttempts: 1, OnLost: OnLostFail}
	t = t.WithDefaults()
	t.Namespace = ""
	return t
}

// pace is the time between two checks, or a minute for one with rules.
func (m Monitor) pace() Duration { return or(m.Every, DefaultCheckEvery) }

// Task is the task that the monitor runs.
func (m Monitor) Task() Task {
	t := m.Check
	t.Namespace, t.Name = m.Namespace, OwnedName(m.Name)
	return t.WithDefaults()
}

// Schedule is when the monitor runs. The phase of an interval comes from its
// name, so that many monitors spread by themselves.
func (m Monitor) Schedule() Schedule {
	s := Schedule{
		Namespace: m.Namespace, Name: OwnedName(m.Name), Task: OwnedName(m.Name), Rules: m.Rules, Zone: m.Zone,
		Within: m.Within, Blackout: m.Blackout, Catchup: CatchupLatest, Overlap: OverlapSkip,
	}
	if len(s.Rules) == 0 {
		s.Rules = []Rule{{Every: m.Every}}
	}
	return s.WithDefaults()
}

// Validate says everything that is wrong with a monitor that has its defaults.
func (m Monitor) Validate(now time.Time) error {
	var p problems
	checkName(&p, "name", m.Name)
	if len(m.Name) > MaxMonitorName {
		p.addf("name", len(m.Name), "has more than %d bytes", MaxMonitorName)
	}
	checkName(&p, "namespace", m.Namespace)
	checkTags(&p, m.Tags)
	if len(m.Description) > MaxDescription {
		p.addf("description", len(m.Description), "has more than %d bytes", MaxDescription)
	}
	m.validateCheck(&p)
	m.validateTimes(&p, now)
	m.validatePolicy(&p)
	for i, name := range m.DependsOn {
		path := fmt.Sprintf("depends_on[%d]", i)
		checkName(&p, path, name)
		if name == m.Name {
			p.add(path, name, "is the monitor itself", "")
		}
	}
	if len(m.DependsOn) > MaxDepends {
		p.addf("depends_on", len(m.DependsOn), "has more than %d entries", MaxDepends)
	}
	return p.err(fmt.Sprintf("monitor %q", m.Name))
}

// MaxMonitorName leaves room for what the names of its task and schedule begin
// with.
const MaxMonitorName = 100

func (m Monitor) validateCheck(p *problems) {
	if m.Heartbeat != nil {
		if m.Check.Kind != "" || len(m.Check.given()) > 0 {
			p.add("check", string(m.Check.Kind), "cannot stand beside heartbeat", "a heartbeat is called, and calls nobody")
		}
		if m.Heartbeat.Grace < Duration(time.Second) || m.Heartbeat.Grace > Duration(30*24*time.Hour) {
			p.addf("heartbeat.grace", m.Heartbeat.Grace, "is outside 1s to 30d")
		}
		if m.Heartbeat.MaxRuntime < 0 || m.Heartbeat.MaxRuntime > MaxTimeout {
			p.addf("heartbeat.max_runtime", m.Heartbeat.MaxRuntime, "is outside 0s to %s", MaxTimeout)
		}
		if d := m.Heartbeat.TokenDigest; d != "" && !isDigest(d) {
			p.add("heartbeat.token_digest", d, "is not a SHA-256 in hex", "import the monitor: belfry import uptime-kuma or gatus writes it")
		}
		return
	}
	if m.Check.Name != "" {
		p.add("check.name", m.Check.Name, "cannot be given", "the check is named after its monitor")
	}
	if m.Check.Kind == KindCycle {
		p.add("check.kind", string(m.Check.Kind), "cannot be a check", "")
		return
	}
	if m.Check.Kind == KindFunc {
		p.add("check", "", "has no settings of any kind", "such as check: {http: {url: https://example.com}}, or heartbeat: {}")
		return
	}
	t := m.Task()
	t.Name = "check" // its own name is not one that a person may give
	p.nest("check", t.Validate())
	if m.Check.Timeout > MaxCheckTimeout {
		p.addf("check.timeout", m.Check.Timeout, "is over %s", MaxCheckTimeout)
	}
}

func (m Monitor) validateTimes(p *problems, now time.Time) {
	if m.Every != 0 && len(m.Rules) > 0 {
		p.add("every", m.Every.String(), "cannot stand beside rules", "keep one of them")
		return
	}
	if m.Every != 0 && (m.Every < MinEvery || m.Every > MaxEvery) {
		p.addf("every", m.Every, "is outside %s to %s", MinEvery, MaxEvery)
		return
	}
	s := m.Schedule()
	s.Name, s.Task = "check", "check"
	p.nest("", s.Validate(now))
}

func (m Monitor) validatePolicy(p *problems) {
	threshold := func(field string, n int, span Duration) {
		if n < 0 || n > MaxThreshold {
			p.addf(field, n, "is outside 0 to %d", MaxThreshold)
		}
		if span < 0 || span > Duration(24*time.Hour) {
			p.addf(field, span, "is outside 0s to 24h")
		}
	}
	threshold("confirm", m.Confirm.Failures, m.Confirm.For)
	threshold("recover", m.Recover.Passes, m.Recover.For)
	if m.Confirm.Retry > 0 && m.Confirm.Retry < Duration(time.Second) || m.Confirm.Retry > Duration(time.Hour) {
		p.addf("confirm.retry", m.Confirm.Retry, "is outside 1s to 1h")
	}
	if m.Flap.Low < 1 || m.Flap.High > 100 || m.Flap.Low >= m.Flap.High {
		p.addf("flap", fmt.Sprintf("%d to %d", m.Flap.Low, m.Flap.High), "is not a range of per cents in which low is below high")
	}
	if m.Slow.Sigma < 1 || m.Slow.Sigma > 100 || m.Slow.Samples < 5 || m.Slow.Samples > 1000 || m.Slow.Checks < 1 || m.Slow.Checks > MaxThreshold || m.Slow.AtLeast < 0 {
		p.add("slow", "", "has a number that is out of range", "sigma 1 to 100, samples 5 to 1000, checks 1 to 100")
	}
	if m.StaleAfter < 1 || m.StaleAfter > MaxThreshold {
		p.addf("stale_after", m.StaleAfter, "is outside 1 to %d", MaxThreshold)
	}
}

// Redacted is the monitor as it is shown: without its secrets.
func (m Monitor) Redacted() Monitor {
	m.Check = m.Check.Redacted()
	return m
}
