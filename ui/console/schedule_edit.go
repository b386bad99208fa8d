package console

import (
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// review is what an edit changes, shown before it is saved.
type review struct {
	Name    string
	Hidden  []pair
	Changes []change
	Same    bool // no time changes
	Diff    []diffRow
	Cmd     command
}

type change struct{ Name, Before, After string }

type diffRow struct {
	Change string
	When   moment
}

// changeSchedule shows what an edit changes, and saves it once that was seen.
func changeSchedule(p *page) error {
	saved, err := p.api.Schedule(p.r.Context(), p.Namespace, p.r.PathValue("name"))
	if err != nil {
		return err
	}
	f := p.readPosted(&saved)
	do, seen := f.Values.Get("do"), f.Values.Get("seen")
	if changed := f.Version != "" && f.Version != saved.Version(); changed && (do == "review" || do == "save") && f.Err == nil {
		return p.overtaken(f, saved, core.CheckVersion(p.expecting(), "schedule", saved.Name, saved.Version(), saved.UpdatedAt, p.Now))
	}
	switch {
	case do == "review" || do == "save" && seen != saved.Version():
		return p.reviewEdit(f)
	case do == "save":
		refused := f.Err
		if refused == nil {
			_, refused = p.api.UpdateSchedule(p.expecting(), f.draft)
		}
		if refused != nil {
			if now, err := p.api.Schedule(p.r.Context(), p.Namespace, saved.Name); err == nil && f.Version != "" && f.Version != now.Version() {
				return p.overtaken(f, now, refused)
			}
			return p.showForm(f, refused)
		}
		return p.done(p.Link("schedules", saved.Name), "Schedule %s is saved.", saved.Name)
	}
	if err := p.previewForm(f); err != nil {
		return err
	}
	return p.showForm(f, nil)
}

// overtaken shows the form with what was changed since it was filled. Who saves
// from there has seen what their edit changes.
func (p *page) overtaken(f *scheduleForm, now schedule.Schedule, refused error) error {
	f.edit = clashing(p, p.api, f.Version, "schedule", now.Name, p.Link("schedules", now.Name, "edit"), now, f.draft)
	f.Saved = &now
	return p.showForm(f, refused)
}

func (p *page) reviewEdit(f *scheduleForm) error {
	if f.Err != nil {
		return p.showForm(f, f.Err)
	}
	look, err := p.api.Look(p.r.Context(), schedule.LookQuery{Namespace: p.Namespace, Name: f.Saved.Name, Draft: &f.draft, N: diffComing})
	if core.CodeOf(err) == core.Invalid {
		return p.showForm(f, err)
	}
	if err != nil {
		return err
	}
	after := f.draft.WithDefaults()
	d := review{Name: f.Saved.Name, Same: f.Saved.SameTimes(after), Changes: changes(*f.Saved, after)}
	for name, values := range f.Values {
		if name == "do" || name == "seen" {
			continue
		}
		for _, v := range values {
			d.Hidden = append(d.Hidden, pair{name, v})
		}
	}
	slices.SortStableFunc(d.Hidden, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	d.Hidden = append(d.Hidden, pair{"seen", f.Saved.Version()})
	for _, s := range look.Diff {
		d.Diff = append(d.Diff, diffRow{s.Change, p.WhenIn(after.Zone, s.Nominal)})
	}
	body := f.draft
	body.Namespace = ""
	d.Cmd = p.Command("PUT", p.V1("schedules", d.Name), jsonText(body), "schedule", "update", d.Name, "-f", "schedule.yaml")
	return p.show("schedule-review", d)
}

// changes are the settings that differ.
func changes(before, after schedule.Schedule) (out []change) {
	was := map[string]string{}
	for _, f := range settings(before) {
		was[f.Name] = f.Value
	}
	for _, f := range settings(after) {
		if was[f.Name] != f.Value {
			out = append(out, change{f.Name, was[f.Name], f.Value})
		}
		delete(was, f.Name)
	}
	for _, f := range settings(before) {
		if value, gone := was[f.Name]; gone {
			out = append(out, change{f.Name, value, "–"})
		}
	}
	return out
}
