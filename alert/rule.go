package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/schedule"
)

// Rule decides which notifications go to which channels. A notification goes to the channels
// of every rule that it fits, once to each channel.
//
// A rule without monitors, tasks and schedules applies to all of them. A rule
// with some applies only to these: a rule for a monitor does not apply to jobs.
type Rule struct {
	Namespace   string             `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string             `json:"name" doc:"Unique in the namespace"`
	Title       string             `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string             `json:"description,omitempty"`
	On          []NotificationType `json:"on,omitzero" doc:"Types of notifications; default: down, up, flapping, steady, stale, fresh, changed, certificate, job_failed, schedule_missed, hook_disabled. An empty list is refused"`
	Monitors    []string           `json:"monitors,omitempty" doc:"Monitors by name; default: all, unless tasks or schedules are named"`
	Tasks       []string           `json:"tasks,omitempty" doc:"Tasks by name, for job_failed and schedule_missed; default: all, unless monitors or schedules are named"`
	Schedules   []string           `json:"schedules,omitempty" doc:"Schedules by name, for job_failed and schedule_missed; default: all, unless monitors or tasks are named"`
	Tags        []string           `json:"tags,omitempty" doc:"Only of what has one of these tags"`
	Channels    []string           `json:"channels" doc:"Where to: channels by name"`
	Group       core.Duration      `json:"group,omitempty" doc:"How long to wait for more of the same channel, to tell it at once; default: 30s; negative: not at all. What is over is told at once"`
	Remind      core.Duration      `json:"remind,omitempty" doc:"While it is down: tell again after so long, then after twice as long, and so on; default: never"`
	RemindMax   int                `json:"remind_max,omitempty" doc:"Most reminders of one outage; default: 10"`
	Quiet       []string           `json:"quiet,omitempty" doc:"Calendars during which no notification is sent; what is still so afterwards is sent then"`
	Off         bool               `json:"off,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Defaults and limits of an alert rule.
const (
	DefaultGroup     = core.Duration(30 * time.Second)
	MaxGroup         = core.Duration(time.Hour)
	DefaultRemindMax = 10
	MaxRemindMax     = 100
	MinRemind        = core.Duration(time.Minute)
	MaxRemind        = core.Duration(7 * 24 * time.Hour)
	MaxRuleChannels  = 20
	MaxRuleTargets   = 1000 // monitors, tasks or schedules of one rule
)

// DefaultNotifications are the types of a rule that names none.
var DefaultNotifications = []NotificationType{NotificationDown, NotificationUp, NotificationFlapping, NotificationSteady, NotificationStale, NotificationFresh, NotificationChanged, NotificationCertificate, NotificationJobFailed, NotificationScheduleMissed, NotificationHookDisabled}

// WithDefaults returns a copy with the defaults of empty fields.
func (a Rule) WithDefaults() Rule {
	a.Namespace = core.Or(a.Namespace, core.DefaultNamespace)
	if a.On == nil {
		a.On = slices.Clone(DefaultNotifications)
	}
	a.Group = core.Or(a.Group, DefaultGroup)
	a.RemindMax = core.Or(a.RemindMax, DefaultRemindMax)
	return a
}

// Validate returns the problems of a rule that has its defaults as one error, or nil.
// It does not check that the channels and calendars exist.
func (a Rule) Validate(_ time.Time) error {
	var p core.Problems
	core.CheckDocument(&p, a.Namespace, a.Name, a.Description)
	title.Check(&p, "title", a.Title)
	a.validateOn(&p)
	core.CheckNames(&p, "monitors", a.Monitors, MaxRuleTargets)
	core.CheckNames(&p, "tasks", a.Tasks, MaxRuleTargets)
	core.CheckNames(&p, "schedules", a.Schedules, MaxRuleTargets)
	core.CheckTags(&p, a.Tags)
	if len(a.Channels) == 0 {
		p.Add("channels", "", "is missing", "name at least one channel")
	}
	core.CheckNames(&p, "channels", a.Channels, MaxRuleChannels)
	core.CheckNames(&p, "quiet", a.Quiet, schedule.MaxCalendars)
	if a.Group > MaxGroup {
		p.Addf("group", a.Group, "is over %s", MaxGroup)
	}
	if a.Remind != 0 && (a.Remind < MinRemind || a.Remind > MaxRemind) {
		p.Addf("remind", a.Remind, "is outside %s to %s", MinRemind, MaxRemind)
	}
	if a.RemindMax < 1 || a.RemindMax > MaxRemindMax {
		p.Addf("remind_max", a.RemindMax, "is outside 1 to %d", MaxRemindMax)
	}
	return p.Err(fmt.Sprintf("alert rule %q", a.Name))
}

func (a Rule) validateOn(p *core.Problems) {
	if len(a.On) == 0 {
		p.Add("on", "", "must name a type of notification", "leave it out for the default, or switch the rule off")
	}
	for i, n := range a.On {
		path := fmt.Sprintf("on[%d]", i)
		switch {
		case !slices.Contains(NotificationTypes, n):
			p.Add(path, string(n), "is not something that is notified", "one of "+notificationList())
		case slices.Contains(a.On[:i], n):
			p.Add(path, string(n), "is named twice", "")
		case n == NotificationReminder && a.Remind == 0:
			p.Add(path, string(n), "needs remind", "after how long is it repeated, such as remind: 1h?")
		}
	}
}

func notificationList() string {
	texts := make([]string, len(NotificationTypes))
	for i, n := range NotificationTypes {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}

// Version returns the version of the channel.
func (c Channel) Version() string { return core.Version(c.Generation, c.UpdatedAt) }

// Version returns the version of the alert rule.
func (a Rule) Version() string { return core.Version(a.Generation, a.UpdatedAt) }
