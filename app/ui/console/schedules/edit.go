package schedules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// review is the preview of an edit: the changes that it makes.
type review struct {
	Name    string
	Title   string
	Hidden  []parts.Fact
	Changes []change
	Same    bool // no time changes
	Diff    []diffRow
	Cmd     parts.Command
}

type change struct{ Name, Before, After string }

type diffRow struct {
	Change string
	When   parts.Moment
}

// changeSchedule shows the changes of an edit, and saves it once the person has confirmed.
func changeSchedule(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	saved, err := p.api.Schedule(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	f, shown := p.readPosted(&saved)
	if shown && f.Err != nil {
		return p.showForm(f, f.Err)
	}
	do, seen := p.R.PostFormValue("do"), p.R.PostFormValue("seen")
	if changed := f.Version != "" && f.Version != saved.Version(); changed && (do == "review" || do == "save") && f.Err == nil {
		return p.overtaken(f, saved, core.CheckVersion(forms.Expecting(p.Page), "schedule", saved.Name, saved.Version(), saved.UpdatedAt, p.Now))
	}
	switch {
	case do == "review" || do == "save" && seen != saved.Version():
		return p.reviewEdit(f)
	case do == "save":
		refused := f.Err
		if refused == nil {
			_, refused = p.api.UpdateSchedule(forms.Expecting(p.Page), f.draft)
		}
		if refused != nil {
			if now, err := p.api.Schedule(p.R.Context(), p.Namespace, saved.Name); err == nil && f.Version != "" && f.Version != now.Version() {
				return p.overtaken(f, now, refused)
			}
			return p.showForm(f, refused)
		}
		return p.Done(p.Link("schedules", saved.Name), "Schedule %s is saved.", saved.Name)
	}
	if err := p.previewForm(f); err != nil {
		return err
	}
	return p.showForm(f, nil)
}

// overtaken shows the form again when the schedule was changed after the form was opened, with those changes. The next save
// counts as confirmed.
func (p *page) overtaken(f *scheduleForm, now schedule.Schedule, refused error) error {
	var both *schedule.Schedule
	f.Edit, both = forms.Clashing(p.Page, p.api, f.Version, "schedule", now.Name, p.Link("schedules", now.Name, "edit"), now, f.draft)
	f.Saved = &now
	if both != nil {
		forms.Rewrite(p.Page, &f.AsText, *both)
		f.Values, f.draft = formOf(*both), *both
		if !f.AsText.Here {
			f.readForm(p.Namespace)
		}
	}
	return p.showForm(f, refused)
}

func (p *page) reviewEdit(f *scheduleForm) error {
	if f.Err != nil {
		return p.showForm(f, f.Err)
	}
	look, err := p.api.Look(p.R.Context(), schedule.LookQuery{Namespace: p.Namespace, Name: f.Saved.Name, Draft: &f.draft, N: diffComing})
	if core.CodeOf(err) == core.Invalid {
		return p.showForm(f, err)
	}
	if err != nil {
		return err
	}
	after := f.draft.WithDefaults()
	d := review{Name: f.Saved.Name, Title: f.Saved.Title, Same: f.Saved.SameTimes(after), Changes: changes(*f.Saved, after)}
	for name, values := range f.Values {
		if name == "do" || name == "seen" {
			continue
		}
		for _, v := range values {
			d.Hidden = append(d.Hidden, parts.Fact{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(d.Hidden, func(a, b parts.Fact) int { return strings.Compare(a.Name, b.Name) })
	d.Hidden = append(d.Hidden, parts.Fact{Name: "seen", Value: f.Saved.Version()})
	for _, s := range look.Diff {
		d.Diff = append(d.Diff, diffRow{s.Change, p.WhenIn(after.Zone, s.Nominal)})
	}
	body := f.draft
	body.Namespace = ""
	d.Cmd = p.Command("PUT", p.V1("schedules", d.Name), parts.JSONText(body), "schedule", "update", d.Name, "-f", "schedule.yaml")
	return p.Show("schedule-review", d)
}

// changes are the settings that differ.
func changes(before, after schedule.Schedule) (out []change) {
	if before.Title != after.Title {
		out = append(out, change{"Title", cmp.Or(before.Title, "none"), cmp.Or(after.Title, "none")})
	}
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
