package monitor

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/schedule"
)

// Window is a maintenance window. Failures in it are recorded, not
// notified, and do not count for uptime.
type Window struct {
	Namespace   string   `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string   `json:"name" doc:"Unique in the namespace"`
	Title       string   `json:"title,omitempty" doc:"What people call it, in any script; one line of at most 200 bytes; default: the name is shown"`
	Description string   `json:"description,omitempty"`
	Monitors    []string `json:"monitors,omitempty" doc:"Monitors by name; with tags, those of either; default: all"`
	Tags        []string `json:"tags,omitempty"`

	From  time.Time       `json:"from,omitzero" doc:"Of a window that comes once"`
	To    time.Time       `json:"to,omitzero"`
	Rules []schedule.Rule `json:"rules,omitempty" doc:"When it begins, again and again: cron or rrule"`
	Lasts core.Duration   `json:"lasts,omitempty" doc:"With rules: how long; at most 7d"`
	Zone  string          `json:"zone,omitempty" doc:"Of the rules; default: UTC"`
	Off   bool            `json:"off,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Limits of a window of maintenance.
const (
	MinLasts         = core.Duration(time.Minute)
	MaxLasts         = core.Duration(7 * 24 * time.Hour)
	MaxOnce          = core.Duration(366 * 24 * time.Hour) // length of a single window
	MaxWindowTargets = 1000                                // monitors of one window
)

// WithDefaults returns a copy with the defaults of empty fields.
func (w Window) WithDefaults() Window {
	w.Namespace = core.Or(w.Namespace, core.DefaultNamespace)
	w.Zone = core.Or(w.Zone, "UTC")
	w.From, w.To = core.Micro(w.From), core.Micro(w.To)
	if len(w.Rules) > 0 {
		w.Rules = schedule.RuleDefaults(w.Rules)
	}
	return w
}

// Validate returns the problems of a window that has its defaults as one error, or
// nil. A window without an occurrence after now is refused. With a zero now, the
// time is ignored.
func (w Window) Validate(now time.Time) error {
	var p core.Problems
	core.CheckDocument(&p, w.Namespace, w.Name, w.Description)
	title.Check(&p, "title", w.Title)
	core.CheckNames(&p, "monitors", w.Monitors, MaxWindowTargets)
	core.CheckTags(&p, w.Tags)
	if len(w.Rules) == 0 {
		w.validateOnce(&p, now)
	} else {
		w.validateRules(&p, now)
	}
	return p.Err(fmt.Sprintf("window %q", w.Name))
}

func (w Window) validateOnce(p *core.Problems, now time.Time) {
	switch {
	case w.From.IsZero() && w.To.IsZero():
		p.Add("from", "", "is missing", "give from and to for a window that comes once, or rules and lasts for one that comes again")
	case w.From.IsZero():
		p.Add("from", "", "is missing", "when does it begin?")
	case w.To.IsZero():
		p.Add("to", "", "is missing", "when does it end?")
	case !w.To.After(w.From):
		p.Add("to", w.To.Format(time.RFC3339), "is not after from", "")
	case w.To.Sub(w.From) > MaxOnce.D():
		p.Addf("to", w.To.Format(time.RFC3339), "is more than %s after from", MaxOnce)
	case !w.To.After(now):
		p.Add("to", w.To.Format(time.RFC3339), "has passed", "")
	}
	if w.Lasts != 0 {
		p.Add("lasts", w.Lasts.String(), "belongs to a window with rules", "one that comes once ends at to")
	}
}

func (w Window) validateRules(p *core.Problems, now time.Time) {
	before := len(*p)
	if !w.From.IsZero() || !w.To.IsZero() {
		p.Add("from", "", "and to cannot stand beside rules", "keep one of them")
	}
	switch {
	case w.Lasts == 0:
		p.Add("lasts", "", "is missing", "how long does it last each time, such as 2h?")
	case w.Lasts < MinLasts || w.Lasts > MaxLasts:
		p.Addf("lasts", w.Lasts, "is outside %s to %s", MinLasts, MaxLasts)
	}
	if !p.AtMost("rules", len(w.Rules), schedule.MaxRules) {
		return
	}
	for i, r := range w.Rules {
		if r.Every != 0 || len(r.At) > 0 {
			p.Add(fmt.Sprintf("rules[%d]", i), r.String(), "does not say when a window begins", "a window begins by cron or rrule; one that comes once has from and to")
		}
	}
	plan := w.compile(p, now)
	if len(*p) > before {
		return
	}
	if now.IsZero() { // all windows are later than this time
		now = time.Unix(0, 0).UTC()
	}
	if first := plan.times.Next(now); first.IsZero() {
		p.Add("rules", "", "never match after "+core.Stamp(now), "check dates and years")
	} else if _, ends := plan.around(first); !ends {
		p.Add("lasts", w.Lasts.String(), "is so long that the window never ends", "to tell nobody at all, mute the monitors")
	}
}

// Concerns reports whether the window applies to a monitor.
func (w Window) Concerns(m Monitor) bool {
	if w.Namespace != m.Namespace {
		return false
	}
	return len(w.Monitors)+len(w.Tags) == 0 || slices.Contains(w.Monitors, m.Name) || core.Share(w.Tags, m.Tags)
}
