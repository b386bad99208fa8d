package schedules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

type schedulesAPI interface {
	Schedule(ctx context.Context, namespace, name string) (schedule.Schedule, error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
	PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error)
	ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error)
	Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error)
}

var schedulesRoutes = routes{
	"GET /schedules":        scheduleList,
	"POST /schedules/-bulk": bulkSchedules,
}

// schedulesPerPage is a page of the list, whose strips one question answers.
const schedulesPerPage = view.MaxStrips

type scheduleListData struct {
	Rows   []scheduleRow
	Pager  parts.Pager
	State  string
	Task   string
	Tag    string
	Part   string // of the name
	Looked int    // names, when it stopped there
	Strict bool   // a filter is set: an empty list does not mean that no schedule exists
}

// List returns d: the parts of a list and of a timeline reach the same data by this name.
func (d scheduleListData) List() scheduleListData { return d }

// scheduleRow is a schedule of the list, and how it went lately.
type scheduleRow struct {
	schedule.Schedule
	Words []string
	Lately
}

// Lately is the last results of a schedule.
type Lately struct {
	Strip parts.Strip
	Last  view.StripResult // that ended
	Ended bool             // there is one
	Usual core.Duration    // the median of those that succeeded; 0: none did
}

// Short says in one line when the schedule runs, without the zone, which the row shows beside it.
func (r scheduleRow) Short() string {
	var lines []string
	for _, line := range r.Words {
		line = strings.TrimSuffix(line, ".")
		for _, zone := range []string{", " + r.Zone + " time", ", " + r.Zone} {
			line = strings.TrimSuffix(line, zone)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// Look is the state of the row: its own while it does not run, or how the last run ended.
func (r scheduleRow) Look() string {
	if r.State == schedule.Active && r.Ended {
		return string(r.Last.State)
	}
	return string(r.State)
}

// Menu returns the actions of a row.
func (p *page) Menu(s scheduleRow) parts.Menu {
	link := func(is bool, verb string) string {
		if !is {
			return ""
		}
		return p.LinkIn(s.Namespace, "schedules", s.Name, verb)
	}
	id := fmt.Sprint("menu-", s.ID)
	operate, over := p.Can("operate"), s.State == schedule.Completed
	return parts.NewMenu(id, "Actions for "+s.Name,
		parts.LinkItem("play", "Run now…", link(operate, "trigger")),
		parts.NewMenuItem("pause", "Pause", link(operate && s.State == schedule.Active, "pause")),
		parts.NewMenuItem("rotate-ccw", "Resume", link(operate && s.State == schedule.Paused && !over, "resume")),
		parts.LinkItem("pencil", "Edit", link(p.Can("admin"), "edit")))
}

func scheduleList(p *page) error {
	d := scheduleListData{State: p.Query("state"), Task: strings.TrimSpace(p.Query("task")), Tag: strings.TrimSpace(p.Query("tag")), Part: strings.TrimSpace(p.Query("part"))}
	d.Strict = d.State+d.Task+d.Tag+d.Part+p.Query("cursor") != ""
	lanes, limit := p.Query("view") == "lanes", schedulesPerPage
	if lanes {
		limit = lanesPerPage
	}
	found, err := p.api.Schedules(p.R.Context(), schedule.Filter{
		Paging:    core.Paging{Limit: limit, Cursor: p.Query("cursor")},
		Namespace: p.Namespace, State: schedule.State(d.State), Task: d.Task, Tag: d.Tag, Part: d.Part,
	})
	if err != nil {
		return err
	}
	d.Pager, d.Looked = p.Pager(found.Next), found.Looked
	if lanes {
		return showLanes(p, d, found.Items)
	}
	lately, err := p.lately(found.Items)
	if err != nil {
		return err
	}
	for _, s := range found.Items {
		d.Rows = append(d.Rows, scheduleRow{Schedule: s, Words: ruleWords(s), Lately: lately[s.ID]})
	}
	return p.Show("schedules", d)
}

// lately reads the last results of schedules, by the id of each.
func (p *page) lately(all []schedule.Schedule) (map[int64]Lately, error) {
	names := map[string][]string{} // strips are asked for by namespace
	for _, s := range all {
		names[s.Namespace] = append(names[s.Namespace], s.Name)
	}
	found := map[int64]Lately{}
	for namespace, of := range names {
		strips, err := p.api.Strips(p.R.Context(), view.StripQuery{Namespace: namespace, Schedules: of})
		if err != nil {
			return nil, err
		}
		for _, s := range strips {
			found[s.ScheduleID] = newLately(s)
		}
	}
	return found, nil
}

func newLately(s view.Strip) Lately {
	l := Lately{Strip: parts.Strip{Label: "Last results of " + s.Schedule}}
	var longest core.Duration
	var good []core.Duration
	for _, r := range s.Results {
		longest = max(longest, r.Took)
		if r.State == job.Succeeded {
			good = append(good, r.Took)
		}
	}
	if slices.Sort(good); len(good) > 0 {
		l.Usual = good[len(good)/2]
	}
	for _, r := range slices.Backward(s.Results) {
		c := resultCell(r)
		if r.Took > 0 {
			c.Part = float64(r.Took) / float64(longest) // as high as it took
		}
		l.Strip.Cells = append(l.Strip.Cells, c)
		if r.JobID != 0 && r.State.Final() {
			l.Last, l.Ended = r, true
		}
	}
	return l
}

// resultCell is one bar of a strip.
func resultCell(r view.StripResult) parts.Cell {
	c := parts.Cell{Tone: parts.Tones[string(r.State)][0]}
	c.Title = parts.Words(r.State)
	if r.Reason != "" {
		c.Title += ": " + parts.ReasonText(r.Reason)
	}
	if r.Missed > 1 {
		c.Title += fmt.Sprintf(", %s times", parts.CountText(r.Missed))
	}
	if at := r.Nominal; !at.IsZero() {
		c.Title += ", scheduled for " + parts.TimeTitle(at)
	} else if !r.At.IsZero() {
		c.Title += ", " + parts.TimeTitle(r.At)
	}
	if r.Took > 0 {
		c.Title += ", took " + core.SpanText(r.Took)
	}
	return c
}

// ruleWords is when a schedule runs, in words: a line for each rule.
func ruleWords(s schedule.Schedule) []string {
	s.Blackout, s.Within = nil, nil // whose calendars are not at hand, and are no rules
	plan, err := s.Plan()
	if err != nil {
		return nil
	}
	lines := s.Explain(plan)
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "times are read in ") }); i >= 0 {
		lines = lines[:i]
	}
	return lines
}

// ScheduleTabs are the states to look at.
func (p *page) ScheduleTabs(d scheduleListData) []parts.Tab {
	tabs := []parts.Tab{parts.NewTab("All", p.Here("state", "", "cursor", ""), d.State == "", "")}
	for _, s := range []schedule.State{schedule.Active, schedule.Paused, schedule.Completed} {
		tabs = append(tabs, parts.NewTab(parts.SentenceCase(string(s)), p.Here("state", s, "cursor", ""), d.State == string(s), ""))
	}
	return tabs
}

// SchedulesCommand is the list without this page.
func (p *page) SchedulesCommand(d scheduleListData) parts.Command {
	cli, path := []string{"schedule", "list"}, p.V1("schedules")
	for _, f := range []parts.Fact{{Name: "state", Value: d.State}, {Name: "task", Value: d.Task}, {Name: "tag", Value: d.Tag}, {Name: "part", Value: d.Part}} {
		if f.Value != "" {
			cli, path = append(cli, "--"+f.Name, f.Value), p.With(path, f.Name, f.Value)
		}
	}
	return p.Command("GET", path, "", cli...)
}

// bulkData is the preview of an action on several schedules.
type bulkData struct {
	Do      string // pause or resume
	Found   []schedule.Schedule
	Already []schedule.Schedule // to which it would do nothing
	Gone    []string
	Reason  string
	CatchUp bool
}

// Names are the schedules of the action.
func (d bulkData) Names() (names []string) {
	for _, s := range d.Found {
		names = append(names, s.Name)
	}
	return names
}

// bulkSchedules shows the effect of pausing or resuming the selected schedules, and does it once the person has confirmed.
func bulkSchedules(p *page) error {
	if err := p.Allow(access.ScopeOperate); err != nil {
		return err
	}
	d := bulkData{Do: p.R.PostForm.Get("do"), Reason: p.R.PostForm.Get("reason"), CatchUp: p.R.PostForm.Get("catch_up") == "true"}
	if d.Do != "pause" && d.Do != "resume" {
		return core.InvalidField("do", d.Do, "cannot be done to several schedules", "pause or resume")
	}
	names := p.R.PostForm["name"]
	if len(names) == 0 {
		return core.InvalidField("name", "", "none is selected", "tick those that are meant")
	}
	if len(names) > schedulesPerPage {
		return core.InvalidField("name", fmt.Sprint(len(names)), "are more than one page of the list", "")
	}
	for _, full := range names {
		namespace, name, _ := strings.Cut(full, "/")
		s, err := p.api.Schedule(p.R.Context(), namespace, name)
		switch {
		case core.CodeOf(err) == core.NotFound:
			d.Gone = append(d.Gone, name)
		case err != nil:
			return err
		case (s.State == schedule.Paused) == (d.Do == "pause") || s.State == schedule.Completed:
			d.Already = append(d.Already, s)
		default:
			d.Found = append(d.Found, s)
		}
	}
	if p.R.PostForm.Get("seen") == "" {
		return p.Show("schedules-bulk", d)
	}
	return d.carryOut(p)
}

func (d bulkData) carryOut(p *page) error {
	done, past := 0, "paused"
	var failed []string
	for _, s := range d.Found {
		var err error
		if d.Do == "pause" {
			_, err = p.api.PauseSchedule(p.R.Context(), s.Namespace, s.Name, d.Reason)
		} else {
			_, err = p.api.ResumeSchedule(p.R.Context(), s.Namespace, s.Name, d.CatchUp)
			past = "resumed"
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s (%s)", s.Name, err))
			continue
		}
		done++
	}
	text := fmt.Sprintf("%s %s.", parts.Plural(done, "schedule is", "schedules are"), past)
	if len(failed) > 0 {
		return p.DoneBadly(p.Link("schedules"), "%s Not: %s.", text, strings.Join(failed, ", "))
	}
	return p.Done(p.Link("schedules"), "%s", text)
}

// ChangeSchedules is the same without this page. The API does it one by one.
func (p *page) ChangeSchedules(d bulkData) parts.Command {
	cli := append([]string{"schedule", d.Do}, d.Names()...)
	body := "{}"
	switch {
	case d.Do == "pause":
		body = parts.JSONText(map[string]string{"reason": "why"})
		cli = append(cli, "--reason", "why")
	case d.CatchUp:
		body = parts.JSONText(map[string]bool{"catch_up": true})
		cli = append(cli, "--catch-up")
	}
	return p.Command("POST", p.V1("schedules", d.Names()[0], d.Do), body, cli...)
}
