package schedules

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
)

func (s *server) calendarRoutes() {
	api.Serve(s.API, api.Endpoint{
		Id: "calendar-list", Method: http.MethodGet, Path: "/v1/calendars", Scope: access.ScopeRead,
		Summary: "List calendars by name",
	}, func(ctx context.Context, c *api.Call, in *api.Searched) (core.Page[schedule.Calendar], error) {
		f, err := in.Filter(c)
		if err != nil {
			return core.Page[schedule.Calendar]{}, err
		}
		return api.Page(s.service.Calendars(ctx, schedule.CalendarFilter(f)))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "calendar-show", Method: http.MethodGet, Path: "/v1/calendars/{name}", Scope: access.ScopeRead,
		Summary: "Show a calendar",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (schedule.Calendar, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return schedule.Calendar{}, err
		}
		return s.service.Calendar(ctx, ns, in.Name)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "calendar-save", Method: http.MethodPut, Path: "/v1/calendars/{name}", Scope: access.ScopeAdmin,
		Summary: "Create or replace a calendar",
		Doc:     "What the body leaves out gets its default, not what it was before. Schedules that name it follow it from their next run on.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, v schedule.Calendar) (_ schedule.Calendar, err error) {
		if v.Name, err = api.Agree("name", in.Name, v.Name); err != nil {
			return v, err
		}
		if v.Namespace, err = c.Owner(in.Namespace, v.Namespace); err != nil {
			return v, err
		}
		return s.service.SaveCalendar(ctx, v)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "calendar-delete", Method: http.MethodDelete, Path: "/v1/calendars/{name}", Scope: access.ScopeAdmin,
		Summary: "Delete a calendar",
		Doc:     "One that a schedule names is kept.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (api.None, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteCalendar(ctx, ns, in.Name)
	})

	s.calendarImport()
}

func (s *server) calendarImport() {
	type importing struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		Zone      string `query:"zone" doc:"IANA name of the zone in which whole days and times without a zone are read; default: the file's, or UTC"`
	}
	api.ServeText(s.API, api.Endpoint{
		Id: "calendar-import", Method: http.MethodPost, Path: "/v1/calendars/{name}/ics", Scope: access.ScopeAdmin, MaxBody: schedule.MaxICS,
		Summary: "Create a calendar from an iCalendar file, or replace its closings",
		Doc:     "It is closed during each event of the file (RFC 5545), for the reason that its SUMMARY says. A title and a description are kept.",
	}, wire.IcsType, func(ctx context.Context, c *api.Call, in *importing, body []byte) (schedule.Calendar, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
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
		return s.service.SaveCalendar(ctx, schedule.Calendar{Namespace: ns, Name: in.Name, Title: v.Title, Description: v.Description, CalendarSpec: spec})
	})
}

// ReadICS reads an iCalendar file, up to [schedule.MaxICS], as the content of a
// calendar. Days and times without a zone are in the given zone or, if that is
// empty, in the zone of the file. The server uses it, and commands without a
// server.
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

// icsFault turns an error about an iCalendar file into an error of a field.
func icsFault(field, value string, err error) error {
	var e *cron.Error
	if !errors.As(err, &e) {
		return err
	}
	if field == "zone" {
		return core.InvalidField(field, value, e.Msg, e.Hint)
	}
	bare := *e
	bare.Hint = "" // the field error has its own hint
	text := bare.Error()
	if whole := err.Error(); len(whole) > len(e.Error()) { // the prefix names the event
		text = whole[:len(whole)-len(e.Error())] + text
	}
	return core.InvalidField(field, value, text, e.Hint)
}
