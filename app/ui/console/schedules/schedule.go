package schedules

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type scheduleAPI interface {
	Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error)
	Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (core.Page[schedule.Occurrence], error)
	ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error)
	TriggerSchedule(ctx context.Context, namespace, name string, r job.RunNow) (job.Enqueued, error)
	DeleteSchedule(ctx context.Context, namespace, name string) error
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	Task(ctx context.Context, namespace, name string) (task.Task, error)
}

var scheduleRoutes = routes{
	"GET /schedules/{name}":          schedulePage,
	"POST /schedules/{name}/pause":   pauseSchedule,
	"POST /schedules/{name}/resume":  resumeSchedule,
	"GET /schedules/{name}/trigger":  triggerPage,
	"POST /schedules/{name}/trigger": triggerSchedule,
	"POST /schedules/{name}/delete":  deleteSchedule,
}

// How much the page of a schedule shows of each.
const (
	scheduleComing = 20
	scheduleJobs   = 10
	scheduleRows   = 25
	scheduleStrip  = 30
	scheduleFills  = 100 // backfills whose jobs are counted
)

type scheduleData struct {
	schedule.Schedule
	Lately
	Explain   []string
	Coming    []comingRow
	Zones     string
	Jobs      core.Page[job.Job]
	Occurred  core.Page[schedule.Occurrence]
	Pager     parts.Pager
	Decision  string
	Year      heat
	Partial   bool
	Month     runMonth
	Trend     *parts.Chart
	Backfills core.Page[schedule.Backfill]
	Filled    core.Counted // jobs that backfills made
	Task      task.Task
	At        parts.Instant
}

// comingRow is a nominal time that is still to come.
type comingRow struct {
	schedule.Coming
	When parts.Moment
	Due  *parts.Moment // when it differs
	Why  string        // it will not run
}

func schedulePage(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	s, err := p.api.Schedule(ctx, p.Namespace, name)
	if err != nil {
		return err
	}
	d := scheduleData{Schedule: s, Decision: p.Query("decision")}
	q := schedule.LookQuery{Namespace: s.Namespace, Name: name, N: scheduleComing}
	if d.At.Text = strings.TrimSpace(p.Query("at")); d.At.Text != "" {
		q.At, d.At.Err = forms.ReadTime("at", d.At.Text, s.Zone)
	}
	var look schedule.Look
	var days view.ScheduleDays
	var strips []view.Strip
	var coming []schedule.Coming
	err = frame.Together(
		frame.Get(&coming, func() ([]schedule.Coming, error) { return p.comingIn(ctx, s) }),
		frame.Get(&look, func() (schedule.Look, error) { return p.api.Look(ctx, q) }),
		frame.Get(&strips, func() ([]view.Strip, error) {
			return p.api.Strips(ctx, view.StripQuery{Namespace: s.Namespace, Schedules: []string{name}, N: trendRuns})
		}),
		frame.Get(&days, func() (view.ScheduleDays, error) {
			return p.api.ScheduleDays(ctx, view.DaysQuery{Namespace: s.Namespace, Schedule: name})
		}),
		frame.Get(&d.Jobs, func() (core.Page[job.Job], error) {
			return p.api.Jobs(ctx, job.Filter{Paging: core.Paging{Limit: scheduleJobs}, Namespace: s.Namespace, Schedule: name})
		}),
		frame.Get(&d.Occurred, func() (core.Page[schedule.Occurrence], error) {
			return p.api.Occurrences(ctx, schedule.OccurrenceFilter{Paging: core.Paging{Limit: scheduleRows, Cursor: p.Query("cursor")},
				Namespace: s.Namespace, Schedule: name, Decision: schedule.Decision(d.Decision)})
		}),
		frame.Get(&d.Backfills, func() (core.Page[schedule.Backfill], error) {
			return p.api.Backfills(ctx, schedule.BackfillFilter{Paging: core.Paging{Limit: scheduleFills}, Namespace: s.Namespace, Schedule: name})
		}),
		frame.Get(&d.Task, func() (task.Task, error) { return p.api.Task(ctx, s.Namespace, s.Task) }),
	)
	if err != nil {
		return err
	}
	for _, strip := range strips {
		d.Trend = trendOf(strip.Results)
		strip.Results = strip.Results[:min(len(strip.Results), scheduleStrip)]
		d.Lately = newLately(strip)
	}
	d.Explain, d.Coming, d.Zones = look.Explain, p.comingRows(look.Coming, s.Zone), look.Zones
	d.At.Is, d.At.Why = look.Is, look.Why
	d.Pager, d.Partial = p.Pager(d.Occurred.Next), days.Partial
	d.Filled.More = d.Backfills.Next != ""
	for _, b := range d.Backfills.Items {
		d.Filled.Count += b.Made
	}
	d.Backfills.Items = d.Backfills.Items[:min(len(d.Backfills.Items), scheduleJobs)]
	d.Year = yearHeat(days.Days, s.Zone, p.Now)
	d.Month = p.runMonthOf(s, days.Days, coming)
	return p.Show("schedule", d)
}

// Said are the notes without that of the jitter, where the row shows the instant after it.
func (r comingRow) Said() []string {
	if r.Due == nil {
		return r.Notes
	}
	return slices.DeleteFunc(slices.Clone(r.Notes), func(note string) bool { return strings.HasSuffix(note, " later by its jitter") })
}

// Special reports that the row has a note or was skipped.
func (r comingRow) Special() bool { return r.Skipped != "" || len(r.Notes) > 0 || r.Due != nil }

func (p *page) comingRows(all []schedule.Coming, zone string) []comingRow {
	rows := make([]comingRow, len(all))
	for i, c := range all {
		r := comingRow{Coming: c, When: p.WhenIn(zone, c.Nominal), Why: parts.ReasonText(c.Skipped)}
		if !c.DueAt.IsZero() && !c.DueAt.Equal(c.Nominal) {
			due := p.WhenIn(zone, c.DueAt)
			r.Due = &due
		}
		rows[i] = r
	}
	return rows
}

var overlapTexts = map[schedule.Overlap]string{
	schedule.OverlapSkip: "skip the new run", schedule.OverlapBufferOne: "one run waits, others are skipped",
	schedule.OverlapBufferAll: "new runs wait in line", schedule.OverlapCancelOther: "cancel the previous run, then start the new one",
	schedule.OverlapTerminateOther: "terminate the previous run and start the new one at once", schedule.OverlapAllow: "run both",
}

var catchupTexts = map[schedule.Catchup]string{
	schedule.CatchupNone: "not made up", schedule.CatchupLatest: "only the latest is made up", schedule.CatchupAll: "all are made up",
}

// settings are everything that can be chosen about a schedule.
func settings(s schedule.Schedule) []parts.Fact {
	catchup := catchupTexts[s.Catchup]
	switch s.Catchup {
	case schedule.CatchupAll:
		catchup += fmt.Sprintf(", up to %s within %s", parts.Plural(s.CatchupMax, "run", "runs"), s.CatchupWindow)
	case schedule.CatchupLatest:
		catchup += fmt.Sprintf(", within %s", s.CatchupWindow)
	}
	overlap := overlapTexts[s.Overlap]
	if s.Overlap == schedule.OverlapBufferAll {
		overlap += fmt.Sprintf(", up to %d", s.BufferMax)
	}
	runs := "no limit"
	if s.MaxRuns > 0 {
		runs = parts.NumberText(s.MaxRuns)
	}
	facts := []parts.Fact{
		{Name: "Rules", Value: s.RuleText()}, {Name: "Zone", Value: s.Zone}, {Name: "Task", Value: s.Task}, {Name: "Description", Value: cmp.Or(s.Description, "none")},
		{Name: "If the previous run is still going", Value: overlap}, {Name: "Missed runs", Value: catchup},
		{Name: "Jitter", Value: cmp.Or(map[bool]string{false: s.Jitter.String()}[s.Jitter == 0], "none")},
		{Name: "Not before", Value: cmp.Or(forms.InZone(s.Start, s.Zone), "at once")}, {Name: "Not after", Value: cmp.Or(forms.InZone(s.End, s.Zone), "no end")}, {Name: "Maximum runs", Value: runs},
		{Name: "Clock skips this time (spring)", Value: map[cron.Gap]string{cron.GapRunAfter: "runs after the gap", cron.GapSkip: "is skipped"}[s.DSTGap]},
		{Name: "Clock repeats this time (autumn)", Value: map[cron.Fold]string{cron.FoldFirst: "runs the first time", cron.FoldSecond: "runs the second time", cron.FoldBoth: "runs both times"}[s.DSTFold]},
	}
	for _, c := range []parts.Fact{{Name: "Stays out of calendars", Value: strings.Join(s.Blackout, ", ")}, {Name: "Only within calendars", Value: strings.Join(s.Within, ", ")}} {
		facts = append(facts, parts.Fact{Name: c.Name, Value: cmp.Or(c.Value, "none")})
	}
	if len(s.Calendars()) > 0 {
		facts = append(facts, parts.Fact{Name: "When a calendar says no", Value: map[schedule.OnBlackout]string{schedule.BlackoutSkip: "the run is skipped", schedule.BlackoutNextOpen: "the run moves to when it may"}[s.OnBlackout]})
	}
	return append(facts, parts.Fact{Name: "Input", Value: cmp.Or(string(plainjson.Unescape(s.Input)), "the task's")})
}

// DecisionTabs are the decisions to look at.
func (p *page) DecisionTabs(d scheduleData) []parts.Tab {
	to := func(decision string) string { return p.Here("decision", decision, "cursor", "") + "#occurrences" }
	return []parts.Tab{
		parts.NewTab("All", to(""), d.Decision == "", ""), parts.NewTab("Runs", to("job"), d.Decision == "job", ""),
		parts.NewTab("Skipped", to("skipped"), d.Decision == "skipped", ""), parts.NewTab("Waiting", to("buffered"), d.Decision == "buffered", ""),
	}
}

// ScheduleJobs are the jobs of a schedule.
func (p *page) ScheduleJobs(schedule string) string {
	return p.With(p.Link("jobs"), "q", "schedule:"+schedule)
}

// ranFor is how long a job ran.
func ranFor(j job.Job) string {
	if j.ClaimedAt.IsZero() || j.FinishedAt.IsZero() {
		return "–"
	}
	return core.SpanText(j.FinishedAt.Sub(j.ClaimedAt))
}

// PauseSchedule asks before a schedule is paused.
func (p *page) PauseSchedule(s schedule.Schedule) parts.Confirm {
	cmd := p.Command("POST", p.V1("schedules", s.Name, "pause"), parts.JSONText(map[string]string{"reason": "why"}), "schedule", "pause", s.Name, "--reason", "why")
	return parts.Confirm{
		ID: "pause", Button: "Pause", Title: "Pause schedule " + s.Name + "?",
		Text:   "No runs until you resume it. Waiting jobs are canceled, running jobs go on.",
		Action: p.Link("schedules", s.Name, "pause"),
		Fields: []parts.Field{parts.NewField("reason", "Reason", "text", "", "Shown to everyone beside the schedule, and kept in the audit.", nil)},
		Cmd:    &cmd,
	}
}

// ResumeSchedule asks whether to make up for the pause.
func (p *page) ResumeSchedule(s schedule.Schedule) parts.Confirm {
	cmd := p.Command("POST", p.V1("schedules", s.Name, "resume"), parts.JSONText(map[string]bool{"catch_up": true}), "schedule", "resume", s.Name, "--catch-up")
	return parts.Confirm{
		ID: "resume", Button: "Resume", Title: "Resume schedule " + s.Name + "?",
		Text:   "It runs at its times again. What it would have run since " + parts.TimeTitle(s.PausedAt) + " stays left out unless you ask for it.",
		Action: p.Link("schedules", s.Name, "resume"),
		Fields: []parts.Field{parts.NewField("catch_up", "Catch up on missed runs", "check", "", "Catch-up: "+catchupTexts[s.Catchup]+".", nil)},
		Cmd:    &cmd,
	}
}

// DeleteSchedule asks before a schedule is deleted.
func (p *page) DeleteSchedule(s schedule.Schedule) parts.Confirm {
	cmd := p.Command("DELETE", p.V1("schedules", s.Name), "", "schedule", "delete", s.Name)
	return parts.Confirm{
		ID: "delete", Button: "Delete", Danger: true, Title: "Delete schedule " + s.Name + "?",
		Text:   "Waiting jobs are canceled, and its decision log is deleted. Running jobs go on. Jobs stay listed, and so does the task " + s.Task + ".",
		Action: p.Link("schedules", s.Name, "delete"), Cmd: &cmd,
	}
}

func pauseSchedule(p *page) error {
	s, err := p.api.PauseSchedule(p.R.Context(), p.Namespace, p.R.PathValue("name"), p.R.PostFormValue("reason"))
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("schedules", s.Name), p.Link("schedules", s.Name, "resume"), "Schedule %s is paused: no runs until you resume it.", s.Name)
}

func resumeSchedule(p *page) error {
	catchUp := p.R.PostFormValue("catch_up") == "true"
	s, err := p.api.ResumeSchedule(p.R.Context(), p.Namespace, p.R.PathValue("name"), catchUp)
	if err != nil {
		return err
	}
	if catchUp {
		return p.Done(p.Link("schedules", s.Name), "Schedule %s is resumed, and catches up.", s.Name)
	}
	return p.Done(p.Link("schedules", s.Name), "Schedule %s is resumed.", s.Name)
}

func deleteSchedule(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteSchedule(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("schedules"), "Schedule %s is deleted.", name)
}

// triggerData is the form that runs a schedule's task now.
type triggerData struct {
	Name  string
	Title string
	Text  string
	Err   error
}

func triggerPage(p *page) error {
	s, err := p.api.Schedule(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	d := triggerData{Name: s.Name, Title: s.Title, Text: parts.Pretty(s.Input)}
	if len(s.Input) == 0 {
		task, err := p.api.Task(p.R.Context(), s.Namespace, s.Task)
		if err != nil {
			return err
		}
		d.Text = parts.Pretty(task.Input)
	}
	return p.Show("schedule-trigger", d)
}

func triggerSchedule(p *page) error {
	d := triggerData{Name: p.R.PathValue("name"), Text: p.R.PostFormValue("input")}
	input, err := readJSON("input", d.Text)
	var made job.Enqueued
	if err == nil {
		made, err = p.api.TriggerSchedule(p.R.Context(), p.Namespace, d.Name, job.RunNow{Input: input})
	}
	if err != nil {
		d.Err = err
		return p.Again("schedule-trigger", d, err)
	}
	return p.Done(p.Link("schedules", d.Name), "Schedule %s created job %d.", d.Name, made.Job.ID)
}

// readJSON reads a text as JSON, and says where it is none.
func readJSON(fieldName, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if fault := forms.JSONFault(text); fault != "" {
		return nil, core.InvalidField(fieldName, "", "is not JSON: "+fault, `write it like {"day": 1}`)
	}
	return json.RawMessage(strings.TrimSpace(text)), nil
}

// TriggerCommand is triggering without this page.
func (p *page) TriggerCommand(d triggerData) parts.Command {
	input := d.Text
	if _, err := readJSON("input", input); err != nil || strings.TrimSpace(input) == "" {
		input = "{}"
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(input)) == nil {
		input = b.String()
	}
	return p.Command("POST", p.V1("schedules", d.Name, "trigger"), parts.JSONText(map[string]json.RawMessage{"input": json.RawMessage(input)}), "schedule", "trigger", d.Name, "--input", input)
}
