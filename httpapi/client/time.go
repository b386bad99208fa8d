package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
)

// SaveCalendar implements [httpapi.Calendars].
func (c *Client) SaveCalendar(ctx context.Context, v schedule.Calendar) (schedule.Calendar, error) {
	if err := checked("name", v.Name); err != nil {
		return schedule.Calendar{}, err
	}
	return put[schedule.Calendar](ctx, c, http.MethodPut, named("calendars", v.Name), nil, v)
}

// DeleteCalendar implements [httpapi.Calendars].
func (c *Client) DeleteCalendar(ctx context.Context, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.delete(ctx, named("calendars", name), words("namespace", namespace))
}

// Calendar implements [httpapi.Calendars].
func (c *Client) Calendar(ctx context.Context, namespace, name string) (schedule.Calendar, error) {
	if err := checked("name", name); err != nil {
		return schedule.Calendar{}, err
	}
	return get[schedule.Calendar](ctx, c, named("calendars", name), words("namespace", namespace))
}

// Calendars implements [httpapi.Calendars].
func (c *Client) Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error) {
	return get[core.Page[schedule.Calendar]](ctx, c, "/v1/calendars", paged(f.Paging, words("namespace", f.Namespace)))
}

// ImportICS makes a calendar of an iCalendar file, or replaces the closings of
// one. Days and times without a zone are read in the named one, or if that is
// empty in the file's. It is no part of [httpapi.Service]: without a server [httpapi.ReadICS]
// and SaveCalendar do the same.
func (c *Client) ImportICS(ctx context.Context, namespace, name string, ics io.Reader, zone string) (schedule.Calendar, error) {
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
	err = c.do(ctx, ask{
		method: http.MethodPost, path: named("calendars", name, "ics"), query: words("namespace", namespace, "zone", zone),
		body: bodyText{wire.IcsType, text},
	}, &v)
	return v, err
}

// StartBackfill implements [httpapi.Backfills].
func (c *Client) StartBackfill(ctx context.Context, b schedule.Backfill) (schedule.Backfill, error) {
	return put[schedule.Backfill](ctx, c, http.MethodPost, "/v1/backfills", nil, b)
}

// SetBackfill implements [httpapi.Backfills].
func (c *Client) SetBackfill(ctx context.Context, namespace string, id int64, state schedule.BackfillState) (schedule.Backfill, error) {
	verb := map[schedule.BackfillState]string{schedule.BackfillPaused: "pause", schedule.BackfillActive: "resume", schedule.BackfillCanceled: "cancel"}[state]
	if verb == "" {
		return schedule.Backfill{}, core.InvalidField("state", string(state), "cannot be asked for", "one of active, paused, canceled")
	}
	return put[schedule.Backfill](ctx, c, http.MethodPost, numbered("backfills", id, verb), words("namespace", namespace), nil)
}

// Backfill implements [httpapi.Backfills].
func (c *Client) Backfill(ctx context.Context, namespace string, id int64) (schedule.Backfill, error) {
	return get[schedule.Backfill](ctx, c, numbered("backfills", id), words("namespace", namespace))
}

// Backfills implements [httpapi.Backfills].
func (c *Client) Backfills(ctx context.Context, f schedule.BackfillFilter) (core.Page[schedule.Backfill], error) {
	return get[core.Page[schedule.Backfill]](ctx, c, "/v1/backfills",
		paged(f.Paging, words("namespace", f.Namespace, "schedule", f.Schedule)))
}

// Look implements [httpapi.Lookout].
func (c *Client) Look(ctx context.Context, q schedule.LookQuery) (schedule.Look, error) {
	var l schedule.Look
	err := c.do(ctx, ask{method: http.MethodPost, path: "/v1/look", body: q, again: true}, &l)
	return l, err
}

// Upcoming implements [httpapi.Lookout].
func (c *Client) Upcoming(ctx context.Context, a schedule.Ahead) ([]schedule.Coming, error) {
	return items[schedule.Coming](ctx, c, "/v1/upcoming", words(
		"namespace", a.Namespace, "from", timeText(a.From), "within", spanText(a.Within), "limit", numberText(a.Limit)))
}

// Forecast implements [httpapi.Lookout]. The limit does not count for it.
func (c *Client) Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error) {
	by, checks := "", ""
	if a.ByHour {
		by = "hour"
	}
	if a.Checks {
		checks = "true"
	}
	return get[schedule.Forecast](ctx, c, "/v1/forecast", words(
		"namespace", a.Namespace, "from", timeText(a.From), "within", spanText(a.Within), "zone", a.Zone, "by", by, "checks", checks))
}

// Next is up to n nominal times of a schedule after from, and what becomes of
// each; the server's now when from is zero. It is no part of [httpapi.Service]: Look
// says the same and more.
func (c *Client) Next(ctx context.Context, namespace, name string, from time.Time, n int) ([]schedule.Coming, error) {
	if err := checked("name", name); err != nil {
		return nil, err
	}
	return items[schedule.Coming](ctx, c, named("schedules", name, "next"),
		words("namespace", namespace, "from", timeText(from), "n", numberText(n)))
}

func spanText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return core.Duration(d).String()
}
