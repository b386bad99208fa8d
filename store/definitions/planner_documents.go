package definitions

import (
	"fmt"
	"strconv"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/store/hooks"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/view"
)

// compared returns the form of a definition that a plan compares, and the secret fields that it must not compare. A caller that
// may not see a secret must not learn whether a guess at it is right. Such secrets count as unchanged.
func compared[T any](o view.ApplyOptions, d T, shown func(T) T) (fresh T, hidden []string) {
	if o.CompareSecrets {
		return d, nil
	}
	return shown(d), base.Differences(d, shown(d))
}

// planDocuments plans the documents that come before monitors, and planLast those that come after.
func (p *planner) planDocuments() error {
	there, err := namedDocs(p, alerts.Channels, p.m.Channels)
	if err != nil {
		return err
	}
	p.channels = map[base.TaskName]bool{}
	for _, d := range p.m.Channels {
		p.channels[base.TaskName{Namespace: d.Namespace, Name: d.Name}] = true
	}
	if err := planDocs(p, alerts.Channels, "channels", p.m.Channels, there, func(d alert.Channel, secrets bool) error {
		if secrets {
			return nil
		}
		return d.CheckSecrets()
	}); err != nil {
		return err
	}
	rules, err := namedDocs(p, alerts.AlertRules, p.m.AlertRules)
	if err != nil {
		return err
	}
	if err := planDocs(p, alerts.AlertRules, "alert_rules", p.m.AlertRules, rules, func(d alert.Rule, _ bool) error { return p.checkRule(d) }); err != nil {
		return err
	}
	known, err := namedDocs(p, hooks.Docs, p.m.Hooks)
	if err != nil {
		return err
	}
	return planDocs(p, hooks.Docs, "hooks", p.m.Hooks, known, func(d hook.Hook, secrets bool) error {
		if secrets {
			return nil
		}
		return d.CheckSecrets()
	})
}

func (p *planner) planLast() error {
	lapses, err := namedDocs(p, monitors.Windows, p.m.Windows)
	if err != nil {
		return err
	}
	if err := planDocs(p, monitors.Windows, "windows", p.m.Windows, lapses, nil); err != nil {
		return err
	}
	pages, err := namedDocs(p, monitors.StatusPages, p.m.StatusPages)
	if err != nil {
		return err
	}
	return planDocs(p, monitors.StatusPages, "status_pages", p.m.StatusPages, pages, nil)
}

// namedDocs reads the stored documents that a manifest defines.
func namedDocs[T documents.Document](p *planner, k documents.Kind[T], ds []T) (map[base.TaskName]T, error) {
	names := make([]base.TaskName, len(ds))
	for i := range ds {
		h := k.Head(&ds[i])
		names[i] = base.TaskName{Namespace: *h.Namespace, Name: *h.Name}
	}
	return readNamed(p, names, k.Scan, `select `+documents.Columns+` from belfry.documents where noun = '`+k.Noun+`' and `, func(d T) base.TaskName {
		h := k.Head(&d)
		return base.TaskName{Namespace: *h.Namespace, Name: *h.Name}
	})
}

func planDocs[T documents.Document](p *planner, k documents.Kind[T], list string, ds []T, there map[base.TaskName]T, check func(d T, secrets bool) error) error {
	for i, d := range ds {
		h := k.Head(&d)
		key := base.TaskName{Namespace: *h.Namespace, Name: *h.Name}
		old, exists := there[key]
		old = k.Open(p.s.Store, old)
		fresh, hidden := compared(p.o, d, k.Shown)
		if exists {
			fresh = k.Keep(fresh, old)
		}
		judged := fresh
		if len(hidden) > 0 {
			judged = d
		}
		err := k.Validate(judged, p.now)
		if err == nil && check != nil {
			err = check(judged, len(hidden) > 0)
		}
		if err != nil {
			return base.Under(list+"["+strconv.Itoa(i)+"]", err)
		}
		ch := base.Changed(k.Noun, key.Namespace, key.Name, !exists, k.Brief(old), k.Brief(fresh))
		if exists {
			ch = documents.WithSecrets(ch, base.Differences(k.Written(old), k.Written(fresh)), hidden)
		}
		p.changes = append(p.changes, ch)
	}
	return nil
}

// checkRule checks the objects that an alert rule refers to.
func (p *planner) checkRule(rule alert.Rule) error {
	by := fmt.Sprintf("alert rule %q", rule.Name)
	for i, name := range rule.Channels {
		p.use("channel", rule.Namespace, name, by)
		if p.channels[base.TaskName{Namespace: rule.Namespace, Name: name}] {
			continue
		}
		if _, err := alerts.Channels.Read(p.ctx, p.tx, rule.Namespace, name, ""); core.CodeOf(err) == core.NotFound {
			return core.InvalidField(fmt.Sprintf("channels[%d]", i), name, "is not a channel in namespace "+rule.Namespace, "create it first, or apply both in one file")
		} else if err != nil {
			return err
		}
		p.channels[base.TaskName{Namespace: rule.Namespace, Name: name}] = true
	}
	for i, name := range rule.Quiet {
		p.use("calendar", rule.Namespace, name, by)
		if _, there := p.calendars[base.TaskName{Namespace: rule.Namespace, Name: name}]; !there {
			return core.InvalidField(fmt.Sprintf("quiet[%d]", i), name, "is not a calendar in namespace "+rule.Namespace, "create it first, or apply both in one file")
		}
	}
	return nil
}

// planPrune adds the objects that the manifest does not name, in the order of their deletion.
func (p *planner) planPrune() error {
	named := map[string]bool{}
	for _, ch := range p.changes {
		named[ch.Noun+"/"+ch.Namespace+"/"+ch.Name] = true
	}
	ns := p.o.Namespace
	gone := func(noun string, names []string) error {
		for _, name := range names {
			if key := noun + "/" + ns + "/" + name; named[key] {
				continue
			} else if by := p.used[key]; by != "" {
				return core.Errorf(core.Conflict, "%s refers to %s %q, which the manifest does not name", by, documents.Spoken(noun), name).
					WithHint("name it in the manifest, or edit what refers to it")
			}
			p.changes = append(p.changes, view.Change{Action: view.ActionDelete, Noun: noun, Namespace: ns, Name: name})
		}
		return nil
	}
	list := func(query string) ([]string, error) { return base.Collect(p.ctx, p.tx, base.ScanString, query, ns) }
	names, err := p.s.childrenFirst(p.ctx, p.tx, ns)
	if err != nil {
		return err
	}
	if err := gone("monitor", names); err != nil {
		return err
	}
	for _, noun := range []string{"status_page", "window", "hook", "alert_rule", "channel"} {
		names, err := list(`select name from belfry.documents where noun = '` + noun + `' and namespace = $1 order by name`)
		if err == nil {
			err = gone(noun, names)
		}
		if err != nil {
			return err
		}
	}
	if names, err = list(`select name from belfry.schedules where namespace = $1 and substr(name, 1, 8) <> 'monitor:' order by name`); err != nil {
		return err
	}
	if err := gone("schedule", names); err != nil {
		return err
	}
	ts, err := p.s.holdersFirst(p.ctx, p.tx, ns, "")
	if err != nil {
		return err
	}
	names = nil
	for _, t := range ts {
		names = append(names, t.Name)
	}
	if err := gone("task", names); err != nil {
		return err
	}
	if names, err = list(`select name from belfry.calendars where namespace = $1 order by name`); err != nil {
		return err
	}
	return gone("calendar", names)
}
