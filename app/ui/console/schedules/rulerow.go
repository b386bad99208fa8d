package schedules

import (
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// ruleRow is one rule as typed into the form.
type ruleRow struct {
	N          int // from 1
	Kind, Text string
	Faults     []core.FieldError
}

// OwnFaults are the faults shown at the row.
func (r ruleRow) OwnFaults() []core.FieldError { return r.Faults }

// ruleKinds are the ways to write a rule.
var ruleKinds = func() (kinds []ruleKind) {
	kinds = []ruleKind{{"every", "Every", "5 minutes"}, {"finish", "Every, after the previous run has ended", "5 minutes"}}
	for _, p := range presets {
		kinds = append(kinds, ruleKind{p.Value, p.Name, p.Like})
	}
	return append(kinds, ruleKind{"at", "Once at", "2026-12-24 18:00, one in each line"},
		ruleKind{"cron", "Cron", "*/10 8-18 * * MON-FRI"}, ruleKind{"rrule", "RRULE (RFC 5545)", "FREQ=MONTHLY;BYDAY=-1FR"})
}()

type ruleKind struct{ Value, Name, Like string }

// firstKind is that of an empty row.
const firstKind = "daily"

// Like is the placeholder of the row: an example of its kind.
func (r ruleRow) Like() string {
	for _, k := range ruleKinds {
		if k.Value == r.Kind {
			return k.Like
		}
	}
	return ""
}

// writeRule makes a row of a rule.
func writeRule(r schedule.Rule, zone string) (kind, text string) {
	switch {
	case r.Cron != "":
		for _, p := range presets {
			if text, ok := p.write(r.Cron); ok {
				return p.Value, text
			}
		}
		return "cron", r.Cron
	case r.Every != 0 && r.Anchor == schedule.AnchorFinish:
		return "finish", r.Every.String()
	case r.Every != 0:
		return "every", r.Every.String()
	case r.RRule != "":
		lines := []string{r.RRule}
		if r.DTStart != "" || len(r.RDate)+len(r.ExDate) > 0 {
			lines[0] = "RRULE:" + r.RRule
			for _, part := range []struct {
				name  string
				times []string
			}{{"DTSTART", slices.DeleteFunc([]string{r.DTStart}, func(t string) bool { return t == "" })}, {"RDATE", r.RDate}, {"EXDATE", r.ExDate}} {
				for _, t := range part.times {
					lines = append(lines, part.name+":"+icalStamp.Replace(t))
				}
			}
		}
		return "rrule", strings.Join(lines, "\n")
	}
	at, err := cron.LoadZone(zone)
	if err != nil {
		at = time.UTC
	}
	var lines []string
	for _, t := range r.At {
		lines = append(lines, t.In(at).Format(time.RFC3339))
	}
	return "at", strings.Join(lines, "\n")
}

// sameWays reports that two rules say when in the same ways.
func sameWays(a, b schedule.Rule) bool {
	return (a.Cron == "") == (b.Cron == "") && (a.RRule == "") == (b.RRule == "") && (a.Every == 0) == (b.Every == 0) && (len(a.At) == 0) == (len(b.At) == 0)
}

// icalStamp writes 2026-01-31T09:00:00 as RFC 5545 does.
var icalStamp = strings.NewReplacer("-", "", ":", "")

// readRule makes a rule of a row. A row that was not changed stays as it was saved.
func readRule(row ruleRow, field, zone string, saved []schedule.Rule) (schedule.Rule, error) {
	for _, r := range saved {
		if kind, text := writeRule(r, zone); kind == row.Kind && text == row.Text {
			return r, nil
		}
	}
	if p := presetOf(row.Kind); p != nil {
		text, ok := p.read(row.Text)
		if !ok && len(strings.Fields(row.Text)) >= 5 {
			text, ok = row.Text, true // a cron expression is accepted in place of a time
		}
		if !ok {
			return schedule.Rule{}, core.InvalidField(field+".cron", row.Text, "cannot be read after \""+p.Name+"\"", "write it such as "+p.Like)
		}
		return schedule.Rule{Cron: text}, nil
	}
	switch row.Kind {
	case "every", "finish":
		d, err := forms.ReadLength(row.Text)
		if err != nil {
			return schedule.Rule{}, core.InvalidField(field+".every", row.Text, "is not a length of time", "such as 90s, 5 minutes, 1h30m or 7d")
		}
		if row.Kind == "finish" {
			return schedule.Rule{Every: d, Anchor: schedule.AnchorFinish}, nil
		}
		return schedule.Rule{Every: d}, nil
	case "rrule":
		return schedule.Rule{RRule: row.Text}, nil
	case "at":
		var r schedule.Rule
		for line := range strings.Lines(row.Text) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			t, err := forms.ReadTime(field+".at", line, zone)
			if err != nil {
				return r, err
			}
			r.At = append(r.At, t)
		}
		return r, nil
	}
	return schedule.Rule{Cron: row.Text}, nil
}
