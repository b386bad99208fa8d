package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// ScheduleCalls are the calls about schedules, their times, calendars and backfills.
type ScheduleCalls struct{ server *server }

// CreateSchedule implements [httpapi.Schedules].
func (c ScheduleCalls) CreateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	var query url.Values
	if s.State == schedule.Paused {
		query = words("paused", "true", "reason", s.PausedReason)
	}
	return put[schedule.Schedule](ctx, c.server, http.MethodPost, "/v1/schedules", query, s)
}

// UpdateSchedule implements [httpapi.Schedules].
func (c ScheduleCalls) UpdateSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	if err := checked("name", s.Name); err != nil {
		return schedule.Schedule{}, err
	}
	return put[schedule.Schedule](ctx, c.server, http.MethodPut, named("schedules", s.Name), nil, s)
}

// DeleteSchedule implements [httpapi.Schedules].
func (c ScheduleCalls) DeleteSchedule(ctx context.Context, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.server.delete(ctx, named("schedules", name), words("namespace", namespace))
}

// Schedule implements [httpapi.Schedules].
func (c ScheduleCalls) Schedule(ctx context.Context, namespace, name string) (schedule.Schedule, error) {
	if err := checked("name", name); err != nil {
		return schedule.Schedule{}, err
	}
	return get[schedule.Schedule](ctx, c.server, named("schedules", name), words("namespace", namespace))
}

// Schedules implements [httpapi.Schedules].
func (c ScheduleCalls) Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error) {
	return get[core.Page[schedule.Schedule]](ctx, c.server, "/v1/schedules",
		paged(f.Paging, words("namespace", f.Namespace, "state", string(f.State), "task", f.Task, "tag", f.Tag, "part", f.Part)))
}

// PauseSchedule implements [httpapi.Schedules].
func (c ScheduleCalls) PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error) {
	return act[schedule.Schedule](ctx, c.server, namespace, name, "pause", wire.PauseReason{Reason: reason})
}

// ResumeSchedule implements [httpapi.Schedules].
func (c ScheduleCalls) ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error) {
	return act[schedule.Schedule](ctx, c.server, namespace, name, "resume", wire.ResumeOptions{CatchUp: catchUp})
}

// TriggerSchedule implements [httpapi.Schedules]. If the server cannot be reached, it is repeated only
// with an idempotency key.
func (c ScheduleCalls) TriggerSchedule(ctx context.Context, namespace, name string, r job.RunNow) (e job.Enqueued, err error) {
	if err := checked("name", name); err != nil {
		return e, err
	}
	err = c.server.do(ctx, ask{method: http.MethodPost, path: named("schedules", name, "trigger"), query: words("namespace", namespace), body: r, again: r.Key != ""}, &e)
	return e, err
}

func act[T any](ctx context.Context, c *server, namespace, schedule, verb string, body any) (T, error) {
	if err := checked("name", schedule); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPost, named("schedules", schedule, verb), words("namespace", namespace), body)
}

// Occurrences implements [httpapi.Schedules].
func (c ScheduleCalls) Occurrences(ctx context.Context, f schedule.OccurrenceFilter) (core.Page[schedule.Occurrence], error) {
	if err := checked("schedule", f.Schedule); err != nil {
		return core.Page[schedule.Occurrence]{}, err
	}
	return get[core.Page[schedule.Occurrence]](ctx, c.server, named("schedules", f.Schedule, "occurrences"),
		paged(f.Paging, words("namespace", f.Namespace, "decision", string(f.Decision))))
}

// SaveCalendar implements [httpapi.Calendars].
func (c ScheduleCalls) SaveCalendar(ctx context.Context, v schedule.Calendar) (schedule.Calendar, error) {
	if err := checked("name", v.Name); err != nil {
		return schedule.Calendar{}, err
	}
	return put[schedule.Calendar](ctx, c.server, http.MethodPut, named("calendars", v.Name), nil, v)
}

// DeleteCalendar implements [httpapi.Calendars].
func (c ScheduleCalls) DeleteCalendar(ctx context.Context, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.server.delete(ctx, named("calendars", name), words("namespace", namespace))
}

// Calendar implements [httpapi.Calendars].
func (c ScheduleCalls) Calendar(ctx context.Context, namespace, name string) (schedule.Calendar, error) {
	if err := checked("name", name); err != nil {
		return schedule.Calendar{}, err
	}
	return get[schedule.Calendar](ctx, c.server, named("calendars", name), words("namespace", namespace))
}

// Calendars implements [httpapi.Calendars].
func (c ScheduleCalls) Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error) {
	return get[core.Page[schedule.Calendar]](ctx, c.server, "/v1/calendars", paged(f.Paging, words("namespace", f.Namespace, "part", f.Part)))
}

// ImportICS creates a calendar from an iCalendar file, or replaces the closings of
// an existing one. Days and times without a zone are in zone, or, if that is
// empty, in the zone of the file. It is not part of [httpapi.Service]; without a
// server, use [httpapi.ReadICS] and SaveCalendar.
func (c ScheduleCalls) ImportICS(ctx context.Context, namespace, name string, ics io.Reader, zone string) (schedule.Calendar, error) {
	var v schedule.Calendar
	if err := checked("name", name); err != nil {
		return v, err
	}
	text, err := io.ReadAll(io.LimitReader(ics, schedule.MaxICS+1))
	switch {
	case err != nil:
		return v, core.InvalidField("ics", "", "cannot be read: "+err.Error(), "")
	case len(text) > schedule.MaxICS:
		return v, core.Errorf(core.TooLarge, "the iCalendar file is over the limit of %s", core.SizeText(schedule.MaxICS))
	}
	err = c.server.do(ctx, ask{
		method: http.MethodPost, path: named("calendars", name, "ics"), query: words("namespace", namespace, "zone", zone),
		body: bodyText{wire.IcsType, text},
	}, &v)
	return v, err
}

// StartBackfill implements [httpapi.Backfills]. If the server cannot be reached, it is repeated only
// with an idempotency key.
func (c ScheduleCalls) StartBackfill(ctx context.Context, b schedule.Backfill) (out schedule.Backfill, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/backfills", body: b, again: b.Key != ""}, &out)
	return out, err
}

// SetBackfill implements [httpapi.Backfills].
func (c ScheduleCalls) SetBackfill(ctx context.Context, namespace string, id int64, state schedule.BackfillState) (schedule.Backfill, error) {
	verb := map[schedule.BackfillState]string{schedule.BackfillPaused: "pause", schedule.BackfillActive: "resume", schedule.BackfillCanceled: "cancel"}[state]
	if verb == "" {
		return schedule.Backfill{}, core.InvalidField("state", string(state), "cannot be asked for", "one of active, paused, canceled")
	}
	return put[schedule.Backfill](ctx, c.server, http.MethodPost, numbered("backfills", id, verb), words("namespace", namespace), nil)
}

// Backfill implements [httpapi.Backfills].
func (c ScheduleCalls) Backfill(ctx context.Context, namespace string, id int64) (schedule.Backfill, error) {
	return get[schedule.Backfill](ctx, c.server, numbered("backfills", id), words("namespace", namespace))
}

// Backfills implements [httpapi.Backfills].
func (c ScheduleCalls) Backfills(ctx context.Context, f schedule.BackfillFilter) (core.Page[schedule.Backfill], error) {
	return get[core.Page[schedule.Backfill]](ctx, c.server, "/v1/backfills",
		paged(f.Paging, words("namespace", f.Namespace, "schedule", f.Schedule)))
}

// Look implements [httpapi.Lookout].
func (c ScheduleCalls) Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error) {
	var l schedule.Look
	err := c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/look", body: q, again: true}, &l)
	return l, err
}

// Upcoming implements [httpapi.Lookout].
func (c ScheduleCalls) Upcoming(ctx context.Context, a schedule.Ahead) ([]schedule.Coming, error) {
	return items[schedule.Coming](ctx, c.server, "/v1/upcoming", words(
		"namespace", a.Namespace, "from", timeText(a.From), "within", spanText(a.Within), "limit", numberText(a.Limit)))
}

// Forecast implements [httpapi.Lookout]. It ignores the limit.
func (c ScheduleCalls) Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error) {
	by, checks := "", ""
	if a.ByHour {
		by = "hour"
	}
	if a.Checks {
		checks = "true"
	}
	return get[schedule.Forecast](ctx, c.server, "/v1/forecast", words(
		"namespace", a.Namespace, "from", timeText(a.From), "within", spanText(a.Within), "zone", a.Zone, "by", by, "checks", checks))
}

// Next returns up to n nominal times of a schedule after from with their outcomes.
// A zero from means the current time of the server. It is not part of
// [httpapi.Service]; Look returns the same and more.
func (c ScheduleCalls) Next(ctx context.Context, namespace, name string, from time.Time, n int) ([]schedule.Coming, error) {
	if err := checked("name", name); err != nil {
		return nil, err
	}
	return items[schedule.Coming](ctx, c.server, named("schedules", name, "next"),
		words("namespace", namespace, "from", timeText(from), "n", numberText(n)))
}

func spanText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return core.Duration(d).String()
}

// ScheduleDays implements [httpapi.History].
func (c ScheduleCalls) ScheduleDays(ctx context.Context, q view.DaysQuery) (view.ScheduleDays, error) {
	if err := checked("schedule", q.Schedule); err != nil {
		return view.ScheduleDays{}, err
	}
	return get[view.ScheduleDays](ctx, c.server, named("schedules", q.Schedule, "days"),
		words("namespace", q.Namespace, "from", timeText(q.From), "to", timeText(q.To)))
}
