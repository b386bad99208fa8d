package schedules

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

type backfillsAPI interface {
	StartBackfill(ctx context.Context, b schedule.Backfill) (schedule.Backfill, error)
	SetBackfill(ctx context.Context, namespace string, id int64, state schedule.BackfillState) (schedule.Backfill, error)
	Backfills(ctx context.Context, f schedule.BackfillFilter) (core.Page[schedule.Backfill], error)
	Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error)
}

var backfillRoutes = routes{
	"GET /schedules/{name}/backfill":               backfillPage,
	"POST /schedules/{name}/backfill":              startBackfill,
	"POST /schedules/{name}/backfills/{id}/{verb}": changeBackfill,
}

// backfillData is the form of a backfill and, once it can be read, what the
// backfill would run.
type backfillData struct {
	Schedule schedule.Schedule
	From, To string
	Overlap  string
	Missing  bool
	Limit    string
	Note     string
	Err      error
	Asked    bool
	Preview  backfillPreview
	ask      schedule.Backfill
}

// backfillPreview is how many nominal times a backfill is about.
type backfillPreview struct {
	Times  int // counted up to core.CountLimit
	Closed int // that a calendar keeps out
	First  []comingRow
	Last   parts.Moment
	Short  bool // it ends at its limit
}

// Jobs is how many it may make.
func (v backfillPreview) Jobs() int { return v.Times - v.Closed }

const backfillShown = 5

func (p *page) readBackfill(value func(string) string) (d backfillData, err error) {
	if d.Schedule, err = p.api.Schedule(p.R.Context(), p.Namespace, p.R.PathValue("name")); err != nil {
		return d, err
	}
	d.From, d.To, d.Note = strings.TrimSpace(value("from")), strings.TrimSpace(value("to")), value("note")
	d.Overlap, d.Missing, d.Limit = value("overlap"), value("only_missing") == "true", strings.TrimSpace(value("limit"))
	d.Asked = d.From+d.To != ""
	if !d.Asked { // a day is a good guess
		d.From, d.To, d.Missing = forms.InZone(p.Now.Add(-24*time.Hour), d.Schedule.Zone), forms.InZone(p.Now, d.Schedule.Zone), true
	}
	d.ask = schedule.Backfill{Namespace: d.Schedule.Namespace, Schedule: d.Schedule.Name, Overlap: schedule.Overlap(d.Overlap), OnlyMissing: d.Missing, Note: d.Note}
	var faults []core.FieldError
	fault := func(err error) { faults = append(faults, parts.FaultsOf(err)...) }
	if d.ask.From, err = forms.ReadTime("from", d.From, d.Schedule.Zone); err != nil {
		fault(err)
	}
	if d.ask.To, err = forms.ReadTime("to", d.To, d.Schedule.Zone); err != nil {
		fault(err)
	}
	if d.Limit != "" {
		if d.ask.Limit, err = strconv.Atoi(d.Limit); err != nil {
			fault(core.InvalidField("limit", d.Limit, "is not a number", ""))
		}
	}
	d.ask = d.ask.WithDefaults()
	d.Overlap = string(d.ask.Overlap)
	if d.Limit == "" {
		d.Limit = strconv.Itoa(d.ask.Limit)
	}
	d.Err = d.ask.Validate(p.Now)
	if len(faults) > 0 {
		d.Err = forms.Both(&core.Error{Code: core.Invalid, Message: "this backfill cannot be read", Fields: faults}, d.Err)
	}
	return d, nil
}

// backfillPage shows the form, and what the backfill in the address would run.
func backfillPage(p *page) error {
	d, err := p.readBackfill(p.Query)
	if err != nil {
		return err
	}
	if !d.Asked {
		d.Err = nil
	} else if d.Err == nil {
		if d.Preview, err = p.previewBackfill(d); err != nil {
			return err
		}
	}
	return p.Show("schedule-backfill", d)
}

// previewBackfill counts the nominal times of a span.
func (p *page) previewBackfill(d backfillData) (v backfillPreview, err error) {
	for from := d.ask.From; v.Times <= core.CountLimit; {
		look, err := p.api.Look(p.R.Context(), schedule.LookQuery{Namespace: d.ask.Namespace, Name: d.ask.Schedule, From: from, N: schedule.MaxLook})
		if err != nil {
			return v, err
		}
		n := 0
		for _, c := range look.Coming {
			if c.Nominal.After(d.ask.To) {
				break
			}
			if v.Jobs() >= d.ask.Limit {
				v.Short = true
				return v, nil
			}
			if c.Skipped == schedule.ReasonMaxRuns { // a backfill does not count
				c.Skipped, c.DueAt = "", c.Nominal
			}
			v.Times, n = v.Times+1, n+1
			v.Last = p.WhenIn(d.Schedule.Zone, c.Nominal)
			if c.Skipped != "" {
				v.Closed++
			}
			if len(v.First) < backfillShown {
				c.DueAt = time.Time{} // they start one after another, or at once
				v.First = append(v.First, p.comingRows([]schedule.Coming{c}, d.Schedule.Zone)...)
			}
			from = c.Nominal.Add(time.Microsecond)
		}
		if n < schedule.MaxLook {
			break
		}
	}
	return v, nil
}

func startBackfill(p *page) error {
	d, err := p.readBackfill(p.R.PostFormValue)
	if err != nil {
		return err
	}
	var b schedule.Backfill
	if d.Err == nil {
		b, d.Err = p.api.StartBackfill(p.R.Context(), d.ask)
	}
	if d.Err != nil {
		return p.Again("schedule-backfill", d, d.Err)
	}
	return p.Done(p.Link("schedules", d.Schedule.Name)+"#backfills", "Backfill %d has started.", b.ID)
}

// changeBackfill pauses one, lets it go on, or ends it.
func changeBackfill(p *page) error {
	verbs := map[string]struct {
		state schedule.BackfillState
		said  string
	}{
		"pause":  {schedule.BackfillPaused, "is paused: it makes no more jobs"},
		"resume": {schedule.BackfillActive, "goes on"},
		"cancel": {schedule.BackfillCanceled, "is canceled. Jobs that it made stay"},
	}
	verb, known := verbs[p.R.PathValue("verb")]
	if !known {
		return core.Errorf(core.NotFound, "there is nothing at %s", p.R.URL.Path).WithHint("go back to the schedule")
	}
	id, err := p.PathID("backfill")
	if err != nil {
		return err
	}
	b, err := p.api.SetBackfill(p.R.Context(), p.Namespace, id, verb.state)
	if err != nil {
		return err
	}
	return p.Done(p.Link("schedules", b.Schedule)+"#backfills", "Backfill %d %s.", b.ID, verb.said)
}

// backfillFields are the inputs of the form.
func backfillFields(d backfillData) []parts.Field {
	zone := "In " + d.Schedule.Zone + ", such as 2026-12-24 18:00."
	overlap := parts.NewField("overlap", "Order", "", d.Overlap, "", d.Err).
		Among(string(schedule.OverlapBufferAll), string(schedule.OverlapAllow)).
		Named(map[string]string{string(schedule.OverlapBufferAll): "One after another", string(schedule.OverlapAllow): "All at once"})
	return []parts.Field{
		parts.NewField("from", "From", "text", d.From, zone, d.Err).Need(), parts.NewField("to", "To", "text", d.To, zone+" Not after now.", d.Err).Need(),
		overlap, parts.NewField("only_missing", "Only missing runs", "check", strconv.FormatBool(d.Missing), "", nil),
		parts.NewField("limit", "Maximum jobs", "number", d.Limit, "", d.Err), parts.NewField("note", "Reason", "text", d.Note, "Kept with the backfill.", d.Err),
	}
}

// Hidden is the form once more, to be sent.
func (d backfillData) Hidden() map[string]string {
	return map[string]string{"from": d.From, "to": d.To, "overlap": d.Overlap, "only_missing": strconv.FormatBool(d.Missing), "limit": d.Limit, "note": d.Note}
}

// BackfillCommand is starting without this page.
func (p *page) BackfillCommand(d backfillData) parts.Command {
	b := d.ask
	b.Namespace = ""
	cli := []string{"backfill", "start", b.Schedule, "--from", b.From.Format(time.RFC3339), "--to", b.To.Format(time.RFC3339), "--overlap", string(b.Overlap), "--limit", d.Limit}
	if b.OnlyMissing {
		cli = append(cli, "--only-missing")
	}
	return p.Command("POST", p.V1("backfills"), parts.JSONText(b), cli...)
}

// CancelBackfill asks before a backfill ends.
func (p *page) CancelBackfill(b schedule.Backfill) parts.Confirm {
	id := strconv.FormatInt(b.ID, 10)
	cmd := p.Command("POST", p.V1("backfills", b.ID, "cancel"), "", "backfill", "cancel", id)
	return parts.Confirm{ID: "cancel-" + id, Button: "Cancel", Do: "Cancel the backfill", Danger: true, Title: "Cancel backfill " + id + "?",
		Text: "It creates no more jobs and cannot be resumed. Jobs that it created stay.", Action: p.Link("schedules", b.Schedule, "backfills", b.ID, "cancel"), Cmd: &cmd}
}

// backfillBar is how far a backfill is.
func backfillBar(b schedule.Backfill) parts.Bar {
	share, span := 0.0, b.To.Sub(b.From).Seconds()
	if !b.Done.IsZero() {
		share = b.Done.Sub(b.From).Seconds()
	}
	if span <= 0 {
		span = 1
	}
	if b.State == schedule.BackfillCompleted && b.Made < b.Limit {
		share = span
	}
	text := parts.Plural(b.Made, "job", "jobs")
	if b.LeftOut > 0 {
		text += fmt.Sprintf(", %s left out", parts.NumberText(b.LeftOut))
	}
	return parts.Bar{Label: fmt.Sprintf("Progress of backfill %d", b.ID), Value: min(share, span), Max: span, Text: text, Tone: "busy"}
}
