package views

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// historyRoutes serves statistics of schedules, jobs and queues over time.
func (s *server) historyRoutes() {
	type showing struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "overview-show", Method: http.MethodGet, Path: "/v1/overview", Scope: access.ScopeRead,
		Summary: "Show what runs, failed, waits and comes next",
		Doc:     "One answer for a page. Of each queue the first 4000 ready jobs are looked at. A token for one namespace sees the workers that run its jobs.",
	}, func(ctx context.Context, c *api.Call, in *showing) (view.Overview, error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return view.Overview{}, err
		}
		o, err := s.service.Overview(ctx, ns)
		if !api.EveryFigure(c.Token) {
			o.Runs.Looked, o.QuietUntil = 0, time.Time{}
		}
		o.Workers = api.OwnWorkers(c.Token, o.Workers)
		o.Running, o.Failed, o.Queues, o.Minutes = api.List(o.Running), api.List(o.Failed), api.List(o.Queues), api.List(o.Minutes)
		o.Next, o.Incidents, o.Workers, o.Approvals = api.List(o.Next), api.List(o.Incidents), api.List(o.Workers), api.List(o.Approvals)
		o.Ahead = api.FullForecast(o.Ahead)
		return o, err
	})

	type minuteList struct {
		Items []job.MinuteTotals `json:"items" doc:"Oldest first; minutes in which nothing ended are left out"`
	}
	type rating struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Queue     string `query:"queue" doc:"Only jobs of this queue"`
		Within    string `query:"within" doc:"How far back, such as 1h; default: 1h; at most 48h"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "overview-minutes", Method: http.MethodGet, Path: "/v1/minutes", Scope: access.ScopeRead,
		Summary: "Count the jobs that ended in each of the last minutes",
		Doc:     "The present minute is left out. In a minute in which more than 10,000 jobs end, some may be missing until a node with the role engine has rolled it up, within a minute of its end.",
	}, func(ctx context.Context, c *api.Call, in *rating) (out minuteList, err error) {
		q := job.MinuteQuery{Queue: in.Queue}
		if q.Namespace, err = api.InNamespace(c.Token, "namespace", in.Namespace); err != nil {
			return out, err
		}
		if in.Within != "" {
			d, err := core.ParseDuration(in.Within)
			if err != nil || d <= 0 {
				return out, core.InvalidField("within", wire.Shorten(in.Within), "is not a length of time", "such as 1h")
			}
			q.Within = d.D()
		}
		all, err := s.service.JobMinutes(ctx, q)
		return minuteList{api.List(all)}, err
	})

	s.sampleRoutes()
	s.dayRoutes()
}

// sampleRoutes serves the counts of waiting jobs over time, and the last results of schedules.
func (s *server) sampleRoutes() {
	type sampling struct {
		Namespace string   `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Queues    []string `query:"queue" doc:"Names, separated by commas; default: all in which something waited or ran"`
		Within    string   `query:"within" doc:"How far back, such as 24h; default: 3h; at most 840h"`
		Step      string   `query:"step" doc:"Between points, in whole minutes, or whole hours for more than 48h back; default: one that gives at most 180 points"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "queue-samples", Method: http.MethodGet, Path: "/v1/queue-samples", Scope: access.ScopeRead,
		Summary: "Show how many jobs waited in queues over time, and how long the oldest had",
		Doc:     "A node with the role engine takes a sample every minute, and counts up to 10,000 jobs of a queue. Minutes are kept for 48 hours, hours for 35 days.",
	}, func(ctx context.Context, c *api.Call, in *sampling) (out job.Samples, err error) {
		q := job.SampleQuery{Queues: in.Queues}
		if q.Namespace, err = api.InNamespace(c.Token, "namespace", in.Namespace); err != nil {
			return out, err
		}
		for _, d := range []struct {
			field, text string
			to          *time.Duration
		}{{"within", in.Within, &q.Within}, {"step", in.Step, &q.Step}} {
			if d.text == "" {
				continue
			}
			v, err := core.ParseDuration(d.text)
			if err != nil || v <= 0 {
				return out, core.InvalidField(d.field, wire.Shorten(d.text), "is not a length of time", "such as 1h")
			}
			*d.to = v.D()
		}
		for _, name := range q.Queues {
			if err := core.ValidName("queue", name); err != nil {
				return out, err
			}
		}
		out, err = s.service.QueueSamples(ctx, q)
		out.Items = api.List(out.Items)
		return out, err
	})

	type stripList struct {
		Items []view.Strip `json:"items" doc:"By name"`
	}
	type stripping struct {
		Namespace string   `query:"namespace" doc:"Default: the token's namespace, or default"`
		Schedules []string `query:"schedule" doc:"Names, separated by commas; at most 50"`
		N         int      `query:"n" minimum:"0" maximum:"100" doc:"Results of each; default: 30"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-strips", Method: http.MethodGet, Path: "/v1/strips", Scope: access.ScopeRead,
		Summary: "Show the last results of several schedules",
		Doc:     "Jobs, and nominal times that were skipped, newest first. Names that are none are left out.",
	}, func(ctx context.Context, c *api.Call, in *stripping) (out stripList, err error) {
		q := view.StripQuery{Schedules: in.Schedules, N: in.N}
		if q.Namespace, err = api.InOne(c.Token, "namespace", in.Namespace); err != nil {
			return out, err
		}
		if err := q.Validate(); err != nil {
			return out, err
		}
		all, err := s.service.Strips(ctx, q)
		for i := range all {
			all[i].Results = api.List(all[i].Results)
		}
		return stripList{api.List(all)}, err
	})
}

// dayRoutes serves counts of days, and the titles of what they count.
func (s *server) dayRoutes() {
	type tasksByDay struct {
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default; * is all"`
		Tasks     []string  `query:"task" doc:"Names, separated by commas; at most 50"`
		From      time.Time `query:"from" doc:"Default: 13 days before to"`
		To        time.Time `query:"to" doc:"Default: now"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "task-days", Method: http.MethodGet, Path: "/v1/task-days", Scope: access.ScopeRead,
		Summary: "Count what became of the jobs of several tasks, day by day in UTC",
		Doc:     "A job counts on the day on which it ended. Checks of monitors are not counted. Days are kept for 400 days, whatever becomes of the jobs.",
	}, func(ctx context.Context, c *api.Call, in *tasksByDay) (out view.TaskDaysFound, err error) {
		q := view.TaskDaysQuery{Tasks: in.Tasks, From: in.From, To: in.To}
		if q.Namespace, err = api.InNamespace(c.Token, "namespace", in.Namespace); err != nil {
			return out, err
		}
		out, err = s.service.TaskDays(ctx, q)
		out.Items = api.List(out.Items)
		for i := range out.Items {
			out.Items[i].Days = api.List(out.Items[i].Days)
		}
		return out, err
	})

	type titleList struct {
		Items view.Titles `json:"items" doc:"Tasks, schedules, monitors, queues, channels, alert rules and hooks, each by name"`
	}
	type titling struct {
		Namespace  string   `query:"namespace" doc:"Default: the token's namespace, or default"`
		Tasks      []string `query:"task" doc:"Names, separated by commas; at most 200"`
		Schedules  []string `query:"schedule" doc:"Names, separated by commas; at most 200"`
		Monitors   []string `query:"monitor" doc:"Names, separated by commas; at most 200"`
		Queues     []string `query:"queue" doc:"Names, separated by commas; at most 200"`
		Channels   []string `query:"channel" doc:"Names, separated by commas; at most 200"`
		AlertRules []string `query:"alert_rule" doc:"Names, separated by commas; at most 200"`
		Hooks      []string `query:"hook" doc:"Names, separated by commas; at most 200"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "titles", Method: http.MethodGet, Path: "/v1/titles", Scope: access.ScopeRead,
		Summary: "Show the titles of several tasks, schedules, monitors, queues, channels, alert rules and hooks",
		Doc:     "For what shows jobs, runs, incidents or notifications, which have names. What has no title is left out.",
	}, func(ctx context.Context, c *api.Call, in *titling) (out titleList, err error) {
		q := view.Named{Tasks: in.Tasks, Schedules: in.Schedules, Monitors: in.Monitors, Queues: in.Queues, Channels: in.Channels, AlertRules: in.AlertRules, Hooks: in.Hooks}
		if q.Namespace, err = api.InOne(c.Token, "namespace", in.Namespace); err != nil {
			return out, err
		}
		all, err := s.service.Titles(ctx, q)
		return titleList{api.List(all)}, err
	})

	type dayByDay struct {
		Name      string    `path:"name"`
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default"`
		From      time.Time `query:"from" doc:"Default: a year before to"`
		To        time.Time `query:"to" doc:"Default: now"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-days", Method: http.MethodGet, Path: "/v1/schedules/{name}/days", Scope: access.ScopeRead,
		Summary: "Count what became of its runs, day by day in its zone",
		Doc:     "A run counts on the day of its nominal time, one beside the plan on that of its end. Days are kept for 400 days, whatever becomes of the jobs.",
	}, func(ctx context.Context, c *api.Call, in *dayByDay) (view.ScheduleDays, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return view.ScheduleDays{}, err
		}
		d, err := s.service.ScheduleDays(ctx, view.DaysQuery{Namespace: ns, Schedule: in.Name, From: in.From, To: in.To})
		d.Days = api.List(d.Days)
		return d, err
	})
}
