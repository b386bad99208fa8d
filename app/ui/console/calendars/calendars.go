package calendars

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
)

type calendarsAPI interface {
	Calendar(ctx context.Context, namespace, name string) (schedule.Calendar, error)
	Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error)
	SaveCalendar(ctx context.Context, c schedule.Calendar) (schedule.Calendar, error)
	DeleteCalendar(ctx context.Context, namespace, name string) error
}

var calendarRoutes = routes{
	"GET /calendars":                calendarList,
	"GET /calendars/-new":           newCalendar,
	"POST /calendars/-new":          saveCalendar,
	"GET /calendars/{name}":         calendarPage,
	"GET /calendars/{name}/edit":    editCalendar,
	"POST /calendars/{name}/edit":   saveCalendar,
	"POST /calendars/{name}/delete": deleteCalendar,
}

type calendarListData struct {
	Items []schedule.Calendar
	Pager parts.Pager
}

func calendarList(p *page) error {
	found, err := p.api.Calendars(p.R.Context(), schedule.CalendarFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace})
	if err != nil {
		return err
	}
	return p.Show("calendars", calendarListData{found.Items, p.Pager(found.Next)})
}

// calendarData is a calendar with its closings in the next time.
type calendarData struct {
	schedule.Calendar
	Closed bool         // now
	Why    string       // it is closed now
	Change parts.Moment // when that ends or begins
	Months []parts.Month
	At     parts.Instant
}

func calendarPage(p *page) error {
	c, err := p.api.Calendar(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	cal, err := cron.NewCalendar(c.CalendarSpec)
	if err != nil {
		return fmt.Errorf("calendar %s: %w", c.Name, err) // it was read when it was saved
	}
	d := calendarData{Calendar: c}
	if d.Closed, d.Why = cal.Closed(p.Now); d.Closed {
		d.Change = p.WhenIn(c.Zone, cal.NextOpen(p.Now))
	} else {
		d.Change = p.WhenIn(c.Zone, cal.NextClosed(p.Now))
	}
	d.Months = monthsOf(cal, p.Now)
	if d.At.Text = strings.TrimSpace(p.Query("at")); d.At.Text != "" {
		var at time.Time
		if at, d.At.Err = forms.ReadTime("at", d.At.Text, c.Zone); d.At.Err == nil {
			closed, why := cal.Closed(at)
			d.At.Is, d.At.Why = &closed, []string{why}
		}
	}
	return p.Show("calendar", d)
}

// Word is open or closed, as of now.
func (d calendarData) Word() string {
	if d.Closed {
		return "closed"
	}
	return "open"
}

const calendarMonths = 12

// monthsOf is the year to come of a calendar.
func monthsOf(cal *cron.Calendar, now time.Time) []parts.Month {
	local := now.In(cal.Zone())
	months := make([]parts.Month, calendarMonths)
	for i := range months {
		// Calendar days, not instants: a clock change may skip a midnight.
		first := time.Date(local.Year(), local.Month()+time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		months[i] = parts.NewMonth(first, func(day time.Time) parts.MonthDay { return dayOf(cal, day) })
	}
	return months
}

// dayOf returns a calendar day for the picture: open, closed or partly closed.
func dayOf(cal *cron.Calendar, day time.Time) parts.MonthDay {
	d := parts.MonthDay{N: day.Day()}
	begin, end := beginOf(day, cal.Zone()), beginOf(day.AddDate(0, 0, 1), cal.Zone())
	closed, why := cal.Closed(begin)
	switch {
	case closed:
		opens := cal.NextOpen(begin)
		if opens.IsZero() || !opens.Before(end) {
			d.Look, d.Said = "all", why
		} else {
			d.Look, d.Said = "part", why+", until "+opens.In(cal.Zone()).Format("15:04")
		}
	default:
		if from := cal.NextClosed(begin); !from.IsZero() && from.Before(end) {
			_, why = cal.Closed(from)
			d.Look, d.Said = "part", why+", from "+from.In(cal.Zone()).Format("15:04")
		}
	}
	return d
}

// beginOf is the first instant of a calendar day in a zone: its midnight, or the end of the clock change that skips it.
func beginOf(day time.Time, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	if at.Day() != day.Day() {
		_, at = at.ZoneBounds()
	}
	return at
}

// calendarForm is a calendar as a person writes it.
type calendarForm struct {
	forms.Edit
	AsText      forms.AsText
	Saved       *schedule.Calendar
	Name        string
	Title       string
	Description string
	Zone        string
	Closings    []closingRow
	Err         error
}

// closingRow is one closing as typed into the form.
type closingRow struct {
	N                       int
	Reason, Kind, Text, For string
	Faults                  []core.FieldError
}

// OwnFaults are the faults shown at the row.
func (r closingRow) OwnFaults() []core.FieldError { return r.Faults }

// closingKinds are the ways to write a closing.
var closingKinds = []struct{ Value, Name, Like string }{
	{"weekly", "every week", "SAT-SUN, or MON-FRI 18:00-24:00"}, {"dates", "dates", "2027-12-25, 2027-12-24..2028-01-02, or every year 12-25"},
	{"rule", "RRULE (RFC 5545)", "with its DTSTART"},
}

// closingLike are examples of closings.
func closingLike() (out []parts.Fact) {
	for _, k := range closingKinds {
		out = append(out, parts.Fact{Name: k.Name, Value: k.Like})
	}
	return out
}

// closingText is a closing in words.
func closingText(c cron.Closing) string {
	switch {
	case c.Weekly != "":
		return "every week: " + c.Weekly
	case c.Dates != "":
		return c.Dates
	}
	if c.Lasts != "" {
		return c.Rule + " for " + c.Lasts
	}
	return c.Rule
}

func newCalendar(p *page) error {
	return p.Show("calendar-form", calendarForm{AsText: forms.AsText{Has: true}, Zone: "UTC", Closings: []closingRow{{N: 1, Kind: "weekly"}}})
}

func editCalendar(p *page) error {
	c, err := p.api.Calendar(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	f := calendarForm{Edit: forms.Edit{Version: c.Version()}, AsText: forms.AsText{Has: true}, Saved: &c}
	f.fill(c)
	return p.Show("calendar-form", f)
}

// fill puts a calendar into the form.
func (f *calendarForm) fill(c schedule.Calendar) {
	f.Name, f.Title, f.Description, f.Zone = c.Name, c.Title, c.Description, c.Zone
	f.Closings = nil
	for i, cl := range c.Closings {
		row := closingRow{N: i + 1, Reason: cl.Name, Kind: "rule", Text: cl.Rule, For: cl.Lasts}
		if cl.Weekly != "" {
			row.Kind, row.Text = "weekly", cl.Weekly
		} else if cl.Dates != "" {
			row.Kind, row.Text = "dates", cl.Dates
		}
		f.Closings = append(f.Closings, row)
	}
}

// calendar returns the calendar of the form, without closings that have no time.
func (f *calendarForm) calendar(v url.Values) schedule.Calendar {
	f.Name, f.Title, f.Description, f.Zone = strings.TrimSpace(v.Get("name")), strings.TrimSpace(v.Get("title")), strings.TrimSpace(v.Get("description")), strings.TrimSpace(v.Get("zone"))
	c := schedule.Calendar{Name: f.Name, Title: f.Title, Description: f.Description, CalendarSpec: cron.CalendarSpec{Zone: f.Zone, Closings: []cron.Closing{}}}
	at := func(key string, i int) string {
		if i < len(v[key]) {
			return strings.TrimSpace(strings.ReplaceAll(v[key][i], "\r\n", "\n"))
		}
		return ""
	}
	for i := range v["text"] {
		row := closingRow{N: len(f.Closings) + 1, Reason: at("reason", i), Kind: at("kind", i), Text: at("text", i), For: at("for", i)}
		if row.Text == "" {
			continue
		}
		cl := cron.Closing{Name: row.Reason}
		switch row.Kind {
		case "weekly":
			cl.Weekly = row.Text
		case "dates":
			cl.Dates = row.Text
		default:
			cl.Rule, cl.Lasts = row.Text, row.For
		}
		f.Closings, c.Closings = append(f.Closings, row), append(c.Closings, cl)
	}
	return c
}

// fromText fills the form with the definition that a text has.
func (f *calendarForm) fromText(c schedule.Calendar) error {
	for i, cl := range c.Closings {
		shown := cron.Closing{Name: cl.Name}
		switch {
		case cl.Weekly != "":
			shown.Weekly = cl.Weekly
		case cl.Dates != "":
			shown.Dates = cl.Dates
		default:
			shown.Rule, shown.Lasts = cl.Rule, cl.Lasts
		}
		if cl != shown || cl == (cron.Closing{Name: cl.Name}) {
			return f.AsText.Unshown(fmt.Sprintf("closings[%d]", i), "must have one of weekly, dates and rule, and lasts beside rule alone")
		}
	}
	f.fill(c)
	return nil
}

func saveCalendar(p *page) error {
	f, name := calendarForm{Edit: forms.Edit{Version: p.R.PostFormValue("version")}}, p.R.PathValue("name")
	if name != "" {
		c, err := p.api.Calendar(p.R.Context(), p.Namespace, name)
		if err != nil {
			return err
		}
		f.Saved = &c
	}
	c, text, shown, err := forms.ReadEither(p.Page, "calendar", name == "", func() (schedule.Calendar, error) { return f.calendar(p.R.PostForm), nil })
	f.AsText = text
	if err == nil && p.R.PostForm.Has("definition") && !text.Here {
		err = f.fromText(c)
	}
	c.Namespace = p.Namespace
	if name != "" {
		c.Name, f.Name = name, name
	}
	if p.R.PostFormValue("do") == "closing" {
		f.Closings = append(f.Closings, closingRow{N: len(f.Closings) + 1, Kind: "weekly"})
		return p.Show("calendar-form", f)
	}
	if shown {
		f.Err = err
		return forms.ShowAgain(p.Page, "calendar-form", f, err)
	}
	if f.Err = err; err == nil {
		f.Err = p.checkCalendar(f, c)
	}
	if f.Err == nil {
		_, f.Err = p.api.SaveCalendar(forms.Expecting(p.Page), c)
	}
	if refused := f.Err; refused != nil {
		var both *schedule.Calendar
		f.Edit, both, f.Err = forms.Meanwhile(p.Page, p.api, refused, "calendar", c.Name, p.Link("calendars", c.Name, "edit"), c, func() (schedule.Calendar, error) {
			return p.api.Calendar(p.R.Context(), p.Namespace, c.Name)
		})
		if both != nil {
			forms.Rewrite(p.Page, &f.AsText, *both)
			f.fill(*both)
		}
		for _, fault := range parts.FaultsOf(f.Err) {
			for i := range f.Closings {
				if strings.HasPrefix(fault.Field, "closings["+strconv.Itoa(i)+"]") {
					f.Closings[i].Faults = append(f.Closings[i].Faults, fault)
				}
			}
		}
		return p.Again("calendar-form", f, refused)
	}
	return p.Done(p.Link("calendars", c.Name), "Calendar %s is saved. Schedules that name it follow it from their next run on.", c.Name)
}

// checkCalendar returns all closings that cannot be read: the API reports only the first, without its place. It also refuses a
// new calendar with the name of an existing one.
func (p *page) checkCalendar(f calendarForm, c schedule.Calendar) error {
	var faults []core.FieldError
	for i, cl := range c.Closings {
		if _, err := cron.NewCalendar(cron.CalendarSpec{Zone: "UTC", Closings: []cron.Closing{cl}}); err != nil {
			faults = append(faults, core.FieldError{Field: fmt.Sprintf("closings[%d]", i), Message: err.Error()})
		}
	}
	if len(faults) > 0 {
		return &core.Error{Code: core.Invalid, Message: "this calendar cannot be read", Fields: faults}
	}
	if f.Saved != nil || core.ValidName("name", c.Name) != nil {
		return nil
	}
	if _, err := p.api.Calendar(p.R.Context(), p.Namespace, c.Name); err == nil {
		return core.InvalidField("name", c.Name, "is taken", "edit that calendar, or choose another name")
	}
	return nil
}

func deleteCalendar(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteCalendar(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("calendars"), "Calendar %s is deleted.", name)
}

// DeleteCalendar asks before a calendar is deleted.
func (p *page) DeleteCalendar(c schedule.Calendar) parts.Confirm {
	cmd := p.Command("DELETE", p.V1("calendars", c.Name), "", "calendar", "delete", c.Name)
	return parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete calendar " + c.Name + "?",
		Text: "A calendar that a schedule names is not deleted.", Action: p.Link("calendars", c.Name, "delete"), Cmd: &cmd}
}

// Fields are the inputs before the closings.
func (f calendarForm) Fields() []parts.Field {
	fields := []parts.Field{parts.NewField("title", "Title (optional)", "text", f.Title, forms.TitleHint, f.Err),
		parts.NewField("description", "Description (optional)", "text", f.Description, "", f.Err),
		parts.NewField("zone", "Zone", "text", f.Zone, "An IANA name such as Europe/Sofia, in which days and hours are read.", f.Err)}
	if f.Saved == nil {
		fields = slices.Insert(fields, 0, parts.NewField("name", "Name", "text", f.Name, "Schedules name it.", f.Err).Need())
	}
	return fields
}
