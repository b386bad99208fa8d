package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
)

func (s *Server) calendarRoutes() {
	serve(s, endpoint{
		id: "calendar-list", method: http.MethodGet, path: "/v1/calendars", scope: access.ScopeRead,
		summary: "List calendars by name",
	}, func(ctx context.Context, c *call, in *namespaced) (core.Page[schedule.Calendar], error) {
		f, err := in.filter(c)
		if err != nil {
			return core.Page[schedule.Calendar]{}, err
		}
		return page(s.service.Calendars(ctx, schedule.CalendarFilter(f)))
	})

	serve(s, endpoint{
		id: "calendar-show", method: http.MethodGet, path: "/v1/calendars/{name}", scope: access.ScopeRead,
		summary: "Show a calendar",
	}, func(ctx context.Context, c *call, in *byName) (schedule.Calendar, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Calendar{}, err
		}
		return s.service.Calendar(ctx, ns, in.Name)
	})

	serveBody(s, endpoint{
		id: "calendar-save", method: http.MethodPut, path: "/v1/calendars/{name}", scope: access.ScopeAdmin,
		summary: "Create or replace a calendar",
		doc:     "What the body leaves out gets its default, not what it was before. Schedules that name it follow it from their next run on.",
	}, func(ctx context.Context, c *call, in *byName, v schedule.Calendar) (_ schedule.Calendar, err error) {
		if v.Name, err = agree("name", in.Name, v.Name); err != nil {
			return v, err
		}
		if v.Namespace, err = c.owner(in.Namespace, v.Namespace); err != nil {
			return v, err
		}
		return s.service.SaveCalendar(ctx, v)
	})

	serve(s, endpoint{
		id: "calendar-delete", method: http.MethodDelete, path: "/v1/calendars/{name}", scope: access.ScopeAdmin,
		summary: "Delete a calendar",
		doc:     "One that a schedule names is kept.",
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteCalendar(ctx, ns, in.Name)
	})

	s.calendarImport()
}

func (s *Server) calendarImport() {
	type importing struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		Zone      string `query:"zone" doc:"IANA name of the zone in which whole days and times without a zone are read; default: the file's, or UTC"`
	}
	serveText(s, endpoint{
		id: "calendar-import", method: http.MethodPost, path: "/v1/calendars/{name}/ics", scope: access.ScopeAdmin, maxBody: schedule.MaxICS,
		summary: "Create a calendar from an iCalendar file, or replace its closings",
		doc:     "It is closed during each event of the file (RFC 5545), for the reason that its SUMMARY says. A description is kept.",
	}, wire.IcsType, func(ctx context.Context, c *call, in *importing, body []byte) (schedule.Calendar, error) {
		ns, err := (&byName{in.Name, in.Namespace}).resolve(c)
		if err != nil {
			return schedule.Calendar{}, err
		}
		spec, err := ReadICS(bytes.NewReader(body), in.Zone)
		if err != nil {
			return schedule.Calendar{}, err
		}
		v, err := s.service.Calendar(ctx, ns, in.Name)
		if err != nil && core.CodeOf(err) != core.NotFound {
			return schedule.Calendar{}, err
		}
		return s.service.SaveCalendar(ctx, schedule.Calendar{Namespace: ns, Name: in.Name, Description: v.Description, CalendarSpec: spec})
	})
}

// ReadICS reads an iCalendar file, up to [schedule.MaxICS], as what a calendar
// holds. Days and times without a zone are read in the named one, or if that
// is empty in the file's. The server imports with it, and so does a command
// that has no server.
func ReadICS(r io.Reader, zone string) (cron.CalendarSpec, error) {
	var o cron.Options
	if zone != "" {
		var err error
		if o.Zone, err = cron.LoadZone(zone); err != nil {
			return cron.CalendarSpec{}, icsFault("zone", zone, err)
		}
	}
	cal, err := cron.ParseICS(r, schedule.MaxICS, o)
	if err != nil {
		return cron.CalendarSpec{}, icsFault("ics", "", err)
	}
	return cal.Spec(), nil
}

// icsFault turns what the time engine says about a file into a fault of field.
func icsFault(field, value string, err error) error {
	var e *cron.Error
	if !errors.As(err, &e) {
		return err
	}
	if field == "zone" {
		return core.InvalidField(field, value, e.Msg, e.Hint)
	}
	bare := *e
	bare.Hint = "" // it has a place of its own
	text := bare.Error()
	if whole := err.Error(); len(whole) > len(e.Error()) { // which event it is stands in front
		text = whole[:len(whole)-len(e.Error())] + text
	}
	return core.InvalidField(field, value, text, e.Hint)
}
