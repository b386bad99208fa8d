package schedules

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

type scheduleFormAPI interface {
	CreateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error)
	UpdateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error)
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error)
}

var scheduleFormRoutes = routes{
	"GET /schedules/-new":         newSchedule,
	"POST /schedules/-new":        createSchedule,
	"GET /schedules/{name}/edit":  editSchedule,
	"POST /schedules/{name}/edit": changeSchedule,
}

const (
	previewComing = 10
	previewDays   = 200 // times that the calendar of a preview counts
	diffComing    = 20
	formChoices   = 200  // tasks and calendars that a form lists
	formNames     = 1000 // tasks whose names can be searched, where there are more
)

// scheduleForm is a schedule as a person writes it.
type scheduleForm struct {
	forms.Edit
	AsText    forms.AsText
	Saved     *schedule.Schedule // that is edited
	Values    url.Values
	Rules     []ruleRow
	Err       error
	Preview   *schedulePreview
	tasks     []string // to choose from
	NoTask    bool
	calendars []string
	draft     schedule.Schedule
}

// schedulePreview has the next runs of the schedule in a form.
type schedulePreview struct {
	Err     error
	Explain []string
	Coming  []comingRow
	Months  []parts.Month
	Counted *parts.Moment // how far the months are counted, if not to their end
}

// formOf writes a schedule as a form.
func formOf(s schedule.Schedule) url.Values {
	v := url.Values{
		"name": {s.Name}, "task": {s.Task}, "title": {s.Title}, "description": {s.Description}, "zone": {s.Zone}, "overlap": {string(s.Overlap)},
		"buffer_max": {strconv.Itoa(s.BufferMax)}, "catchup": {string(s.Catchup)}, "catchup_window": {s.CatchupWindow.String()},
		"catchup_max": {strconv.Itoa(s.CatchupMax)}, "jitter": {s.Jitter.String()}, "start": {forms.InZone(s.Start, s.Zone)}, "end": {forms.InZone(s.End, s.Zone)},
		"max_runs": {noneEmpty(s.MaxRuns)}, "dst_gap": {string(s.DSTGap)}, "dst_fold": {string(s.DSTFold)},
		"blackout": {strings.Join(s.Blackout, ", ")}, "within": {strings.Join(s.Within, ", ")}, "on_blackout": {string(s.OnBlackout)}, "input": {parts.Pretty(s.Input)},
	}
	for _, r := range s.Rules {
		kind, text := writeRule(r, s.Zone)
		v.Add("rule_kind", kind)
		v.Add("rule_text", text)
	}
	return v
}

// noneEmpty writes a limit, where 0 is none.
func noneEmpty(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// readForm reads what was written. Its faults stand at the fields that they are about.
func (f *scheduleForm) readForm(namespace string) {
	var faults []core.FieldError
	check := func(err error) { faults = append(faults, parts.FaultsOf(err)...) }
	text := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(f.Values.Get(name), "\r\n", "\n"))
	}
	length := func(name string) (d core.Duration) {
		if t := text(name); t != "" {
			var err error
			if d, err = forms.ReadLength(t); err != nil {
				check(core.InvalidField(name, t, "is not a length of time", "such as 90s, 5 minutes, 1h30m or 7d"))
			}
		}
		return d
	}
	number := func(name string) (n int64) {
		if t := text(name); t != "" {
			var err error
			if n, err = strconv.ParseInt(t, 10, 32); err != nil {
				check(core.InvalidField(name, t, "is not a number", ""))
			}
		}
		return n
	}
	list := func(name string) []string {
		return strings.FieldsFunc(text(name), func(r rune) bool { return strings.ContainsRune(", \n", r) })
	}
	s := schedule.Schedule{
		Namespace: namespace, Name: text("name"), Title: text("title"), Description: text("description"), Task: text("task"), Zone: text("zone"),
		DSTGap: cron.Gap(text("dst_gap")), DSTFold: cron.Fold(text("dst_fold")), MaxRuns: number("max_runs"), Jitter: length("jitter"),
		Catchup: schedule.Catchup(text("catchup")), CatchupWindow: length("catchup_window"), CatchupMax: int(number("catchup_max")),
		Overlap: schedule.Overlap(text("overlap")), BufferMax: int(number("buffer_max")),
		Blackout: list("blackout"), Within: list("within"), OnBlackout: schedule.OnBlackout(text("on_blackout")),
	}
	saved := schedule.Schedule{}
	if f.Saved != nil {
		saved = *f.Saved
		s.Name = saved.Name
	}
	when := func(name string, was time.Time) (t time.Time) {
		if text(name) == forms.InZone(was, s.Zone) { // unchanged: keep the seconds, which the form does not show
			return was
		}
		t, err := forms.ReadTime(name, text(name), s.Zone)
		check(err)
		return t
	}
	s.Start, s.End = when("start", saved.Start), when("end", saved.End)
	input, err := readJSON("input", text("input"))
	if s.Input = input; text("input") == parts.Pretty(saved.Input) {
		s.Input = saved.Input
	}
	check(err)
	f.Rules = nil
	for i, written := range f.Values["rule_text"] {
		row := ruleRow{N: len(f.Rules) + 1, Text: strings.TrimSpace(strings.ReplaceAll(written, "\r\n", "\n")), Kind: "cron"}
		if kinds := f.Values["rule_kind"]; i < len(kinds) {
			row.Kind = kinds[i]
		}
		if row.Text == "" {
			continue
		}
		rule, err := readRule(row, fmt.Sprintf("rules[%d]", len(f.Rules)), s.Zone, saved.Rules)
		check(err)
		if rule.Cron == row.Text && presetOf(row.Kind) != nil {
			row.Kind = "cron" // as it was written
		}
		f.Rules, s.Rules = append(f.Rules, row), append(s.Rules, rule)
	}
	f.draft = s
	if len(faults) > 0 {
		f.Err = &core.Error{Code: core.Invalid, Message: "this schedule cannot be read", Fields: faults}
	}
}

// place puts the faults of rules where the form can show them.
func (f *scheduleForm) place() {
	for _, fault := range parts.FaultsOf(f.Err) {
		for j := range f.Rules {
			if strings.HasPrefix(fault.Field, fmt.Sprintf("rules[%d]", j)) {
				f.Rules[j].Faults = append(f.Rules[j].Faults, fault)
			}
		}
	}
}

// newSchedule shows an empty form.
func newSchedule(p *page) error {
	s := schedule.Schedule{Task: p.Query("task"), Zone: "UTC"}.WithDefaults()
	f := scheduleForm{AsText: forms.AsText{Has: true}, Values: formOf(s)}
	return p.showForm(&f, nil)
}

func editSchedule(p *page) error {
	s, err := p.api.Schedule(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	f := scheduleForm{Edit: forms.Edit{Version: s.Version()}, AsText: forms.AsText{Has: true}, Saved: &s, Values: formOf(s)}
	f.readForm(s.Namespace)
	if err := p.previewForm(&f); err != nil {
		return err
	}
	return p.showForm(&f, nil)
}

// showForm shows the form, and if it was refused why.
func (p *page) showForm(f *scheduleForm, refused error) error {
	tasks, err := p.api.Tasks(p.R.Context(), task.Filter{Paging: core.Paging{Limit: formNames}, Namespace: p.Namespace})
	if err != nil {
		return err
	}
	calendars, err := p.api.Calendars(p.R.Context(), schedule.CalendarFilter{Paging: core.Paging{Limit: formChoices}, Namespace: p.Namespace})
	if err != nil {
		return err
	}
	f.NoTask = len(tasks.Items) == 0
	for _, t := range tasks.Items {
		if _, owned := parts.Owner(t.Name); !owned && (t.Name != task.CanaryTask || f.Values.Get("task") == t.Name) {
			f.tasks = append(f.tasks, t.Name)
		}
	}
	for _, c := range calendars.Items {
		f.calendars = append(f.calendars, c.Name)
	}
	if len(f.Rules) == 0 || f.Values.Get("do") == "rule" {
		f.Rules = append(f.Rules, ruleRow{N: len(f.Rules) + 1, Kind: firstKind})
	}
	if refused != nil && f.Clash == nil {
		if f.Err = refused; f.Values.Get("do") == "save" || f.Values.Get("do") == "review" {
			f.Err = forms.AllFaults(refused, f.draft, p.Now)
		}
	}
	if f.AsText.Here {
		f.Err = p.Site.PlaceDefinition(f.AsText.Text, &schedule.Schedule{}, f.Err)
	} else {
		f.place()
	}
	if refused != nil {
		return p.Again("schedule-form", f, refused)
	}
	return p.Show("schedule-form", f)
}

// previewForm computes the next runs of the schedule in the form.
func (p *page) previewForm(f *scheduleForm) error {
	f.Preview = &schedulePreview{Err: f.Err}
	if f.Err != nil {
		return nil
	}
	q := schedule.LookQuery{Namespace: p.Namespace, Draft: &f.draft, N: previewDays}
	if f.Saved != nil {
		q.Name = f.Saved.Name
	}
	look, err := p.api.Look(p.R.Context(), q)
	if core.CodeOf(err) == core.Invalid {
		if f.AsText.Here {
			err = p.Site.PlaceDefinition(f.AsText.Text, &schedule.Schedule{}, err)
		}
		f.Err, f.Preview.Err = err, err
		return nil
	}
	if err != nil {
		return err
	}
	f.Preview.Explain, f.Preview.Coming = look.Explain, p.comingRows(look.Coming[:min(len(look.Coming), previewComing)], look.Schedule.Zone)
	if len(look.Coming) > 0 {
		f.Preview.Months, f.Preview.Counted = p.monthsOf(look.Coming, look.Schedule.Zone)
	}
	return nil
}

// readPosted reads the posted form. With shown the person has only chosen a tab, and nothing is saved.
func (p *page) readPosted(saved *schedule.Schedule) (f *scheduleForm, shown bool) {
	f = &scheduleForm{Edit: forms.Edit{Version: p.R.PostFormValue("version")}, Saved: saved, Values: p.R.PostForm}
	f.draft, f.AsText, shown, f.Err = forms.ReadEither(p.Page, "schedule", saved == nil, func() (schedule.Schedule, error) {
		f.readForm(p.Namespace)
		return f.draft, f.Err
	})
	f.draft.Namespace = p.Namespace
	if saved != nil {
		f.draft.Name = saved.Name
	}
	if f.Err == nil && p.R.PostForm.Has("definition") && !f.AsText.Here {
		f.Err = f.fromText(p.Namespace)
	}
	return f, shown
}

// fromText fills the form with the definition that a text has.
func (f *scheduleForm) fromText(namespace string) error {
	s := f.draft.WithDefaults()
	for i, r := range s.Rules {
		kind, text := writeRule(r, s.Zone)
		if back, err := readRule(ruleRow{Kind: kind, Text: text}, "", s.Zone, nil); err == nil && !sameWays(r, back) {
			return f.AsText.Unshown(fmt.Sprintf("rules[%d]", i), "has more than one way to say when")
		}
	}
	f.Values = formOf(s)
	f.readForm(namespace)
	return f.Err
}

func createSchedule(p *page) error {
	f, shown := p.readPosted(nil)
	if shown && f.Err != nil {
		return p.showForm(f, f.Err)
	}
	if f.Values.Get("do") != "save" {
		if err := p.previewForm(f); err != nil {
			return err
		}
		return p.showForm(f, nil)
	}
	refused := f.Err
	var made schedule.Schedule
	if refused == nil {
		made, refused = p.api.CreateSchedule(p.R.Context(), f.draft)
	}
	if refused != nil {
		return p.showForm(f, refused)
	}
	return p.Done(p.Link("schedules", made.Name), "Created schedule %s.", made.Name)
}

// input is a field of the form.
func (f *scheduleForm) input(name, label, kind, hint string) parts.Field {
	return parts.NewField(name, label, kind, f.Values.Get(name), hint, f.Err)
}

// The inputs before the rules.
func (f *scheduleForm) What() []parts.Field {
	task := f.input("task", "Task", "text", "What runs.").Need()
	switch {
	case len(f.tasks) > formChoices:
		task = task.From("tasks")
	case len(f.tasks) > 0:
		task = task.Among(append([]string{""}, f.tasks...)...)
	}
	if f.Saved == nil {
		return []parts.Field{f.input("name", "Name", "text", "Letters, digits, dots, dashes and underscores.").Need(), task}
	}
	return []parts.Field{task}
}

// Zone is the input of the zone. A script offers all, and the browser's for a new schedule.
func (f *scheduleForm) Zone() parts.Field {
	return f.input("zone", "Time zone", "text", "An IANA name such as Europe/Sofia. Rules and times of this form are read in it.").Offer(forms.Zones...)
}

// Advanced reports that a field under Advanced has a fault, so that the drawer is open.
func (f *scheduleForm) Advanced() bool {
	for _, field := range slices.Concat(f.When(), f.Policy(), []parts.Field{f.Input()}) {
		if len(field.Faults) > 0 {
			return true
		}
	}
	return false
}

// Listed are the names that the field of the task is searched in, where they are
// too many for a list to choose from.
func (f *scheduleForm) Listed() []string {
	if len(f.tasks) <= formChoices {
		return nil
	}
	return f.tasks
}

// When are the inputs beside the rules.
func (f *scheduleForm) When() []parts.Field {
	return []parts.Field{
		f.input("title", "Title", "text", forms.TitleHint),
		f.input("description", "Description", "text", ""),
		f.input("start", "Not before", "text", "Such as 2026-12-24 18:00. Empty: at once."),
		f.input("end", "Not after", "text", "Empty: no end."),
		f.input("max_runs", "Maximum runs", "number", "Empty: no limit."),
		f.input("jitter", "Jitter", "text", "Longest delay of a start, derived from the schedule and the time. Such as 5m; 0s: on time."),
	}
}

// Policy are the inputs for overlaps, missed runs and calendars.
func (f *scheduleForm) Policy() []parts.Field {
	calendars := func(name, label string) parts.Field {
		in := f.input(name, label, "text", "Calendars, with commas between.").Offer(f.calendars...)
		in.Each = true
		return in
	}
	return []parts.Field{
		f.input("overlap", "If the previous run is still going", "", "").
			Among("skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow").Named(namesOf(overlapTexts)),
		f.input("buffer_max", "Maximum waiting runs", "number", "Where new runs wait in line."),
		f.input("catchup", "Missed runs", "", "Runs that no node could start in time.").Among("none", "latest", "all").Named(namesOf(catchupTexts)),
		f.input("catchup_window", "Catch-up window", "text", "How long ago a missed run may be, such as 1 hour."),
		f.input("catchup_max", "Maximum catch-up runs", "number", "Where all are made up."),
		calendars("blackout", "Not during calendars"), calendars("within", "Only during calendars"),
		f.input("on_blackout", "When a calendar says no", "", "").Among("", "skip", "next_open").Named(map[string]string{"": "Skip the run (default)", "skip": "Skip the run", "next_open": "Run when it may again"}),
		f.input("dst_gap", "Clock skips this time (spring)", "", "").Among("run_after", "skip").Named(map[string]string{"run_after": "Run right after the change", "skip": "Skip the run"}),
		f.input("dst_fold", "Clock repeats this time (autumn)", "", "").Among("first", "second", "both").Named(map[string]string{"first": "Run at the first of the two", "second": "Run at the second", "both": "Run at both"}),
	}
}

// namesOf are texts of a choice as its options.
func namesOf[K ~string](texts map[K]string) map[string]string {
	names := map[string]string{}
	for option, text := range texts {
		names[string(option)] = parts.SentenceCase(text)
	}
	return names
}

// Input is the input of its jobs.
func (f *scheduleForm) Input() parts.Field {
	return f.input("input", "Input", "area", "JSON for its jobs. Empty: the task's input.")
}

// RuleFaults are those of no single rule.
func (f *scheduleForm) RuleFaults() (out []core.FieldError) {
	for _, fault := range parts.FaultsOf(f.Err) {
		if fault.Field == "rules" {
			out = append(out, fault)
		}
	}
	return out
}

// Like are examples of rules.
func (f *scheduleForm) Like() (out []parts.Fact) {
	for _, k := range ruleKinds {
		out = append(out, parts.Fact{Name: k.Name, Value: k.Like})
	}
	return out
}

// NewScheduleCommand is making one without this page.
func (p *page) NewScheduleCommand(f *scheduleForm) parts.Command {
	s := f.draft
	s.Namespace = ""
	if s.Name == "" {
		s.Name, s.Task = "nightly", "backup"
	}
	if len(s.Rules) == 0 {
		s.Rules = []schedule.Rule{{Cron: "0 3 * * *"}}
	}
	cli := []string{"schedule", "create", s.Name, "--task", s.Task}
	for _, r := range s.Rules {
		kind, text := writeRule(r, s.Zone)
		switch kind {
		case "finish":
			cli = append(cli, "--every", text, "--after-finish")
		case "at":
			for line := range strings.Lines(text) {
				cli = append(cli, "--at", strings.TrimSpace(line))
			}
		case "every", "rrule":
			cli = append(cli, "--"+kind, text)
		default:
			cli = append(cli, "--cron", r.Cron)
		}
	}
	if s.Zone != "" {
		cli = append(cli, "--zone", s.Zone)
	}
	return p.Command("POST", p.V1("schedules"), parts.JSONText(s), cli...)
}
