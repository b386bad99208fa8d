package belfry

import (
	"fmt"
	"slices"
	"time"
)

// Window is a time of maintenance. What fails in it is recorded, told to
// nobody, and does not count for uptime.
type Window struct {
	Namespace   string   `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string   `json:"name" doc:"Unique in the namespace"`
	Description string   `json:"description,omitempty"`
	Monitors    []string `json:"monitors,omitempty" doc:"Monitors by name; with tags, those of either; default: all"`
	Tags        []string `json:"tags,omitempty"`

	From  time.Time `json:"from,omitzero" doc:"Of a window that comes once"`
	To    time.Time `json:"to,omitzero"`
	Rules []Rule    `json:"rules,omitempty" doc:"When it begins, again and again: cron or rrule"`
	Lasts Duration  `json:"lasts,omitempty" doc:"With rules: how long; at most 7d"`
	Zone  string    `json:"zone,omitempty" doc:"Of the rules; default: UTC"`
	Off   bool      `json:"off,omitempty"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// Limits of a window of maintenance.
const (
	MinLasts         = Duration(time.Minute)
	MaxLasts         = Duration(7 * 24 * time.Hour)
	MaxOnce          = Duration(366 * 24 * time.Hour) // of a window that comes once
	MaxWindowTargets = 1000                           // monitors that one window names
)

// WithDefaults fills what was left out.
func (w Window) WithDefaults() Window {
	w.Namespace = or(w.Namespace, DefaultNamespace)
	w.Zone = or(w.Zone, "UTC")
	w.From, w.To = Micro(w.From), Micro(w.To)
	if len(w.Rules) > 0 {
		w.Rules = ruleDefaults(w.Rules)
	}
	return w
}

// Validate says everything that is wrong with a window that has its defaults,
// as seen at now: one that can never come again is refused. A zero now judges
// it without regard to the time.
func (w Window) Validate(now time.Time) error {
	var p problems
	checkDocument(&p, w.Namespace, w.Name, w.Description)
	checkNames(&p, "monitors", w.Monitors, MaxWindowTargets)
	checkTags(&p, w.Tags)
	if len(w.Rules) == 0 {
		w.validateOnce(&p, now)
	} else {
		w.validateRules(&p, now)
	}
	return p.err(fmt.Sprintf("window %q", w.Name))
}

func (w Window) validateOnce(p *problems, now time.Time) {
	switch {
	case w.From.IsZero() && w.To.IsZero():
		p.add("from", "", "is missing", "give from and to for a window that comes once, or rules and lasts for one that comes again")
	case w.From.IsZero():
		p.add("from", "", "is missing", "when does it begin?")
	case w.To.IsZero():
		p.add("to", "", "is missing", "when does it end?")
	case !w.To.After(w.From):
		p.add("to", w.To.Format(time.RFC3339), "is not after from", "")
	case w.To.Sub(w.From) > MaxOnce.D():
		p.addf("to", w.To.Format(time.RFC3339), "is more than %s after from", MaxOnce)
	case !w.To.After(now):
		p.add("to", w.To.Format(time.RFC3339), "has passed", "")
	}
	if w.Lasts != 0 {
		p.add("lasts", w.Lasts.String(), "belongs to a window with rules", "one that comes once ends at to")
	}
}

func (w Window) validateRules(p *problems, now time.Time) {
	before := len(*p)
	if !w.From.IsZero() || !w.To.IsZero() {
		p.add("from", "", "and to cannot stand beside rules", "keep one of them")
	}
	switch {
	case w.Lasts == 0:
		p.add("lasts", "", "is missing", "how long does it last each time, such as 2h?")
	case w.Lasts < MinLasts || w.Lasts > MaxLasts:
		p.addf("lasts", w.Lasts, "is outside %s to %s", MinLasts, MaxLasts)
	}
	if len(w.Rules) > MaxRules {
		p.addf("rules", len(w.Rules), "has more than %d entries", MaxRules)
		return
	}
	for i, r := range w.Rules {
		if r.Every != 0 || len(r.At) > 0 {
			p.add(fmt.Sprintf("rules[%d]", i), r.String(), "does not say when a window begins", "a window begins by cron or rrule; one that comes once has from and to")
		}
	}
	if len(*p) > before {
		return
	}
	plan := w.compile(p, now)
	if len(*p) > before {
		return
	}
	if now.IsZero() { // nothing about windows is older than this
		now = time.Unix(0, 0).UTC()
	}
	if first := plan.times.Next(now); first.IsZero() {
		p.add("rules", "", "never match after "+now.UTC().Format(time.RFC3339), "check dates and years")
	} else if _, ends := plan.around(first); !ends {
		p.add("lasts", w.Lasts.String(), "is so long that the window never ends", "to tell nobody at all, mute the monitors")
	}
}

// Concerns reports whether the window is about a monitor.
func (w Window) Concerns(m Monitor) bool {
	if w.Namespace != m.Namespace {
		return false
	}
	return len(w.Monitors)+len(w.Tags) == 0 || slices.Contains(w.Monitors, m.Name) || share(w.Tags, m.Tags)
}

// share reports that two lists have something in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
