package schedules

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
)

// comingList lists upcoming nominal times.
type comingList struct {
	Items []schedule.Coming `json:"items"`
}

// ahead checks the parameters of a query about all schedules of a namespace.
func ahead(c *api.Call, namespace string, from time.Time, within string, limit int) (a schedule.Ahead, err error) {
	a = schedule.Ahead{From: from, Limit: limit}
	if a.Namespace, err = api.InNamespace(c.Token, "namespace", namespace); err != nil {
		return a, err
	}
	if within != "" {
		d, err := core.ParseDuration(within)
		if err != nil {
			return a, core.InvalidField("within", wire.Shorten(within), "is not a duration", "such as 24h or 7d")
		}
		if d <= 0 { // 0 would mean the default
			return a, core.InvalidField("within", wire.Shorten(within), "must be greater than 0", "such as 24h or 7d")
		}
		a.Within = d.D()
	}
	return a, a.WithDefaults(from).Validate()
}

func (s *server) lookRoutes() {
	type looking struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-look", Method: http.MethodPost, Path: "/v1/look", Scope: access.ScopeRead,
		Summary: "Say what a schedule will do, saved or not",
		Doc: "By its name, as a draft that is not saved, or both: then the draft is an edit, and the answer says which times it changes. " +
			"With at it says whether that instant is one of its times, and why or why not. Nothing is written.",
	}, func(ctx context.Context, c *api.Call, in *looking, q schedule.LookQuery) (_ schedule.Look, err error) {
		if err := ownLook(c, in.Namespace, &q); err != nil {
			return schedule.Look{}, err
		}
		l, err := s.service.Look(ctx, q)
		l.Explain, l.Coming = api.List(l.Explain), api.List(l.Coming)
		return l, err
	})

	type listing struct {
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		From      time.Time `query:"from" doc:"Begin of the span; default: now"`
		Within    string    `query:"within" doc:"Length of the span, such as 24h or 7d; default: 24h; at most 31d"`
		Limit     int       `query:"limit" minimum:"0" maximum:"10000" doc:"Most items; default: 200"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-upcoming", Method: http.MethodGet, Path: "/v1/upcoming", Scope: access.ScopeRead,
		Summary: "List what all schedules will do within a span, soonest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (comingList, error) {
		a, err := ahead(c, in.Namespace, in.From, in.Within, in.Limit)
		if err != nil {
			return comingList{}, err
		}
		items, err := s.service.Upcoming(ctx, a)
		return comingList{api.List(items)}, err
	})

	type counting struct {
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		From      time.Time `query:"from" doc:"Begin of the span; default: now"`
		Within    string    `query:"within" doc:"Length of the span, such as 24h or 7d; default: 24h; at most 31d"`
		Zone      string    `query:"zone" doc:"Whose hours to count in, such as Europe/Sofia; default: UTC"`
		By        string    `query:"by" enum:"minute,hour" doc:"hour leaves out minutes, but for the busiest; default: minute"`
		Checks    bool      `query:"checks" doc:"Count checks of monitors too"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-forecast", Method: http.MethodGet, Path: "/v1/forecast", Scope: access.ScopeRead,
		Summary: "Count the planned starts of each minute and hour within a span",
		Doc: "It shows where schedules collide. What is empty is left out. With more than 8000 schedules it is partial: those that are due first are counted, " +
			"and what starts after until is at least what is said.",
	}, func(ctx context.Context, c *api.Call, in *counting) (schedule.Forecast, error) {
		a, err := ahead(c, in.Namespace, in.From, in.Within, 0)
		if err != nil {
			return schedule.Forecast{}, err
		}
		a.Zone, a.ByHour, a.Checks = in.Zone, in.By == "hour", in.Checks
		f, err := s.service.Forecast(ctx, a)
		return api.FullForecast(f), err
	})
}

// ownLook checks a query, and limits it and its draft to the namespace that the
// caller may read.
func ownLook(c *api.Call, asked string, q *schedule.LookQuery) (err error) {
	if q.Namespace, err = api.Agree("namespace", asked, q.Namespace); err != nil {
		return err
	}
	if q.Draft != nil {
		if q.Namespace, err = api.Agree("draft.namespace", q.Namespace, q.Draft.Namespace); err != nil {
			return err
		}
	}
	if q.Namespace, err = api.InOne(c.Token, "namespace", q.Namespace); err != nil {
		return err
	}
	if q.Draft != nil {
		q.Draft.Namespace = q.Namespace
	}
	if q.Name != "" {
		if err := core.ValidName("name", q.Name); err != nil {
			return err
		}
	}
	return q.Validate()
}
