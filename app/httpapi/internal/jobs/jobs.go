package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// jobByID names one job.
type jobByID struct {
	ID        int64  `path:"id"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
}

func (in *jobByID) resolve(c *api.Call) (string, error) {
	if in.ID < 1 {
		return "", core.InvalidField("id", fmt.Sprint(in.ID), "is not a job id", "")
	}
	return api.InNamespace(c.Token, "namespace", in.Namespace)
}

// newJobs is one new job, or several.
type newJobs struct {
	jobs  []job.NewJob
	batch bool
}

// Schema is called by huma.
func (newJobs) Schema(r huma.Registry) *huma.Schema {
	return eitherOf[job.NewJob, wire.NewJobBatch](r)
}

func eitherOf[A, B any](r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[A](), true, ""), r.Schema(reflect.TypeFor[B](), true, "")}}
}

// ReadBody reads one job or a list.
func (n *newJobs) ReadBody(data []byte) error {
	var top map[string]json.RawMessage
	if json.Unmarshal(data, &top) == nil {
		_, n.batch = top["jobs"]
	}
	if n.batch {
		var b wire.NewJobBatch
		err := body.Decode(data, &b)
		n.jobs = b.Jobs
		return err
	}
	n.jobs = make([]job.NewJob, 1)
	return body.Decode(data, &n.jobs[0])
}

// enqueued is the answer to newJobs, with one item for each job.
type enqueued struct {
	Jobs  []job.Enqueued
	batch bool
}

// Schema is called by huma.
func (enqueued) Schema(r huma.Registry) *huma.Schema {
	return eitherOf[job.Enqueued, wire.EnqueuedBatch](r)
}

// Answer is one item for one job, and a list for a list.
func (e enqueued) Answer() any {
	if !e.batch && len(e.Jobs) == 1 {
		return e.Jobs[0]
	}
	return wire.EnqueuedBatch{Jobs: api.List(e.Jobs)}
}

// Made reports whether at least one job was created.
func (e enqueued) Made() bool {
	return slices.ContainsFunc(e.Jobs, func(one job.Enqueued) bool { return !one.Existing })
}

// Only returns the job if there is exactly one, or nil.
func (e enqueued) Only() any {
	if len(e.Jobs) != 1 {
		return nil
	}
	return e.Jobs[0]
}

// prepare gives every job its namespace and the first one the key of the header.
func (n *newJobs) prepare(c *api.Call, namespace, key string) error {
	if n.batch && len(n.jobs) == 0 {
		return core.InvalidField("jobs", "", "is empty", "give at least one job")
	}
	if len(n.jobs) > core.MaxBatch {
		return job.TooMany("jobs", len(n.jobs))
	}
	if n.batch && key != "" {
		return core.InvalidField("Idempotency-Key", wire.Shorten(key), "goes with one job", "give each job of a batch its own key")
	}
	for i := range n.jobs {
		ns, err := c.Owner(namespace, n.jobs[i].Namespace)
		if err != nil {
			return err
		}
		n.jobs[i].Namespace = ns
	}
	if key != "" {
		var err error
		n.jobs[0].Key, err = api.Agree("key", key, n.jobs[0].Key)
		return err
	}
	return nil
}

// jobRoutes serves jobs.
func (s *server) jobRoutes() {
	type listing struct {
		Namespace string      `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		State     []job.State `query:"state" doc:"Only jobs in these states, separated by commas"`
		Task      string      `query:"task" doc:"Only jobs of this task"`
		Schedule  string      `query:"schedule" doc:"Only jobs of this schedule"`
		Queue     string      `query:"queue" doc:"Only jobs in this queue"`
		Tag       string      `query:"tag" doc:"Only jobs with this tag"`
		Since     time.Time   `query:"since" doc:"Created at or after"`
		Until     time.Time   `query:"until" doc:"Created before"`
		Limit     int         `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string      `query:"cursor" doc:"Next of the page before"`
		Query     string      `query:"q" doc:"A search, such as: task:backup state:failed since:2h error:\"timed out\""`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-list", Method: http.MethodGet, Path: "/v1/jobs", Scope: access.ScopeRead,
		Summary: "List jobs, newest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[job.Job], error) {
		f, err := s.jobSearch(c, in.Namespace, in.Query)
		if err != nil {
			return core.Page[job.Job]{}, err
		}
		for _, state := range in.State {
			if err := api.OneOf("state", state, job.States...); err != nil {
				return core.Page[job.Job]{}, err
			}
		}
		if len(in.State) > 0 && len(f.States) > 0 {
			return core.Page[job.Job]{}, core.InvalidField("state", core.List(in.State), "stands beside the states of the search", "keep one of them")
		}
		f.Paging, f.States = core.Paging{Limit: in.Limit, Cursor: in.Cursor}, append(f.States, in.State...)
		for _, p := range []struct {
			name  string
			given string
			to    *string
		}{{"task", in.Task, &f.Task}, {"schedule", in.Schedule, &f.Schedule}, {"queue", in.Queue, &f.Queue}, {"tag", in.Tag, &f.Tag}} {
			if *p.to, err = api.Agree(p.name, p.given, *p.to); err != nil {
				return core.Page[job.Job]{}, err
			}
		}
		if !in.Since.IsZero() {
			f.Since = in.Since
		}
		if !in.Until.IsZero() {
			f.Until = in.Until
		}
		return api.Page(s.service.Jobs(ctx, f))
	})

	type counting struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Query     string `query:"q" doc:"A search, as for the list of jobs; default: all jobs"`
		Cap       int    `query:"cap" minimum:"0" maximum:"10000" doc:"How far to count; default: 1000"`
		By        string `query:"by" enum:"state" doc:"Count each state too"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-count", Method: http.MethodGet, Path: "/v1/jobs/count", Scope: access.ScopeRead,
		Summary: "Count jobs, as far as a cap",
		Doc: "The answer costs the same however many jobs there are: counting ends at the cap, and where no index answers the search, after 10000 rows. " +
			"Then more is true, and there are at least so many.",
	}, func(ctx context.Context, c *api.Call, in *counting) (job.Count, error) {
		f, err := s.jobSearch(c, in.Namespace, in.Query)
		if err != nil {
			return job.Count{}, err
		}
		n, err := s.service.CountJobs(ctx, f, view.CountOptions{Cap: in.Cap, ByState: in.By == "state"})
		return ownCount(c.Token, n), err
	})

	s.enqueueRoutes()
	s.attemptRoutes()
	s.runAgainRoute()
	s.stepRoutes()
	s.jobLogRoute()
	s.logTextRoutes()
	bulkRoutes[selecting, jobByID, wire.JobNote](s, "cancel", "End jobs that wait or run", s.service.CancelJobs)
	bulkRoutes[selectingWithKey, jobByIDWithKey, wire.JobRetry](s, "retry", "Make failed and canceled jobs ready again, with all their attempts back", s.service.RetryJobs)
}

// enqueueRoutes serves enqueueing, and what is known of one job.
func (s *server) enqueueRoutes() {
	type enqueuing struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
		Key       string `header:"Idempotency-Key" doc:"For one job: the same as its key. The same request again makes no second job; another request with it is refused"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "job-create", Method: http.MethodPost, Path: "/v1/jobs", Scope: access.ScopeOperate, Created: true,
		Summary: "Enqueue one job, or several as {\"jobs\": […]}",
		Doc:     "Several are made in one transaction: all or none. A job that is there already under the same key is answered with existing: true, and with 200 if no other was made.",
	}, func(ctx context.Context, c *api.Call, in *enqueuing, body newJobs) (enqueued, error) {
		if err := body.prepare(c, in.Namespace, in.Key); err != nil {
			return enqueued{}, err
		}
		done, err := s.service.Enqueue(ctx, body.jobs)
		s.NoteEnqueue(c, done)
		return enqueued{Jobs: done, batch: body.batch}, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "job-show", Method: http.MethodGet, Path: "/v1/jobs/{id}", Scope: access.ScopeRead,
		Summary: "Show a job",
	}, func(ctx context.Context, c *api.Call, in *jobByID) (job.Job, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.Job{}, err
		}
		return s.service.Job(ctx, ns, in.ID)
	})
}

// attemptRoutes serves what the attempts of a job left, and why a job waits.
func (s *server) attemptRoutes() {
	type attemptList struct {
		Items []job.Attempt `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-attempts", Method: http.MethodGet, Path: "/v1/jobs/{id}/attempts", Scope: access.ScopeRead,
		Summary: "List a job's attempts that have ended, oldest first",
	}, func(ctx context.Context, c *api.Call, in *jobByID) (attemptList, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return attemptList{}, err
		}
		items, err := s.service.Attempts(ctx, ns, in.ID)
		return attemptList{api.List(items)}, err
	})

	type outputList struct {
		Items []task.JobOutput `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-outputs", Method: http.MethodGet, Path: "/v1/jobs/{id}/outputs", Scope: access.ScopeRead,
		Summary: "List the files that a job's attempts left, oldest first",
	}, func(ctx context.Context, c *api.Call, in *jobByID) (outputList, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return outputList{}, err
		}
		items, err := s.service.Outputs(ctx, ns, in.ID)
		return outputList{api.List(items)}, err
	})

	type outputOf struct {
		ID        int64  `path:"id"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Name      string `path:"name" doc:"Path of the file, with each slash as %2F"`
		Lease     int64  `query:"lease" minimum:"0" doc:"Only that of the attempt under this lease; default: the newest"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "job-output", Method: http.MethodGet, Path: "/v1/jobs/{id}/outputs/{name}", Scope: access.ScopeRead,
		Summary: "A link to fetch a file that a job left",
	}, func(ctx context.Context, c *api.Call, in *outputOf) (task.SignedRequest, error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return task.SignedRequest{}, err
		}
		return s.service.OutputLink(ctx, ns, in.ID, in.Name, in.Lease)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "job-why", Method: http.MethodGet, Path: "/v1/jobs/{id}/why", Scope: access.ScopeRead,
		Summary: "Explain why a job is where it is",
		Doc:     "A token for one namespace learns what is in the way, and not how many workers and jobs of others there are.",
	}, func(ctx context.Context, c *api.Call, in *jobByID) (job.Why, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.Why{}, err
		}
		w, err := s.service.Why(ctx, ns, in.ID)
		w.Checks = api.List(w.Checks)
		return ownWhy(c.Token, w), err
	})
}

// runAgainRoute serves new jobs made from finished ones.
func (s *server) runAgainRoute() {
	type runningAgain struct {
		ID        int64  `path:"id"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
		Key       string `header:"Idempotency-Key" doc:"The same as the key in the body. The same request again makes no second job; another request with it is refused"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "job-run-again", Method: http.MethodPost, Path: "/v1/jobs/{id}/run-again", Scope: access.ScopeOperate, Bare: true, Created: true,
		Summary: "Make a new job of a finished one, with the same input or another",
		Doc:     "Queue, priority, attempts, timeout and tags are those of the finished job; what is run is the task as it is now. The new job belongs to no schedule.",
	}, func(ctx context.Context, c *api.Call, in *runningAgain, r job.RunAgain) (e job.Enqueued, err error) {
		ns, err := (&jobByID{in.ID, in.Namespace}).resolve(c)
		if err != nil {
			return e, err
		}
		if r.Key, err = api.Agree("key", in.Key, r.Key); err != nil {
			return e, err
		}
		return s.service.RunJobAgain(ctx, ns, in.ID, r)
	})
}

type bulk func(ctx context.Context, namespace string, sel view.Selection) (view.Selected, error)

// selecting are the parameters of an action on many jobs.
type selecting struct {
	Namespace string `query:"namespace" doc:"Default: as the filter says, the token's namespace, or default; * for all"`
}

func (in *selecting) selection(s *server, c *api.Call, sel *view.Selection) (namespace string, err error) {
	return s.selectionNamespace(c, in.Namespace, sel)
}

// selectingWithKey is selecting for a retry. It embeds nothing, because huma ignores the parameters of embedded private types.
type selectingWithKey struct {
	Namespace string `query:"namespace" doc:"Default: as the filter says, the token's namespace, or default; * for all"`
	Key       string `header:"Idempotency-Key" doc:"The same as the key in the body. A job that was retried with it is not retried again, and is answered under existing"`
}

func (in *selectingWithKey) selection(s *server, c *api.Call, sel *view.Selection) (namespace string, err error) {
	if sel.Key, err = api.Agree("key", in.Key, sel.Key); err != nil {
		return "", err
	}
	return s.selectionNamespace(c, in.Namespace, sel)
}

func (in *jobByID) selection(_ *server, c *api.Call, sel *view.Selection) (namespace string, err error) {
	sel.IDs = []int64{in.ID}
	return in.resolve(c)
}

// jobByIDWithKey is jobByID for a retry.
type jobByIDWithKey struct {
	ID        int64  `path:"id"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
	Key       string `header:"Idempotency-Key" doc:"The same as the key in the body. A job that was retried with it is not retried again, and is answered under existing"`
}

func (in *jobByIDWithKey) selection(s *server, c *api.Call, sel *view.Selection) (namespace string, err error) {
	if sel.Key, err = api.Agree("key", in.Key, sel.Key); err != nil {
		return "", err
	}
	return (&jobByID{in.ID, in.Namespace}).selection(s, c, sel)
}

// selects completes a selection with the parameters of a call, checks it, and returns the namespace of its jobs.
type selects[T any] interface {
	*T
	selection(s *server, c *api.Call, sel *view.Selection) (namespace string, err error)
}

// bulkRoutes serves an operation on many jobs, and on one.
func bulkRoutes[Many, One any, Body interface{ Selection() view.Selection }, M selects[Many], O selects[One]](s *server, verb, summary string, do bulk) {
	api.ServeBody(s.API, api.Endpoint{
		Id: "job-" + verb + "-many", Method: http.MethodPost, Path: "/v1/jobs/" + verb, Scope: access.ScopeOperate,
		Summary: summary + ", by ids or by a filter",
		Doc:     "Up to 10000 in one call; more says whether the filter finds more. With dry_run nothing is done.",
	}, func(ctx context.Context, c *api.Call, in *Many, sel view.Selection) (view.Selected, error) {
		ns, err := M(in).selection(s, c, &sel)
		if err != nil {
			return view.Selected{}, err
		}
		done, err := do(ctx, ns, sel)
		done.IDs = api.List(done.IDs)
		return done, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "job-" + verb, Method: http.MethodPost, Path: "/v1/jobs/{id}/" + verb, Scope: access.ScopeOperate, Bare: true,
		Summary: summary + ": this one",
		Doc:     "A job it cannot be done to is answered under left, with the reason.",
	}, func(ctx context.Context, c *api.Call, in *One, body Body) (view.Selected, error) {
		sel := body.Selection()
		ns, err := O(in).selection(s, c, &sel)
		if err != nil {
			return view.Selected{}, err
		}
		done, err := do(ctx, ns, sel)
		done.IDs = api.List(done.IDs)
		return done, err
	})
}

// jobSearch reads a search and limits it to the namespace that the caller may
// read.
func (s *server) jobSearch(c *api.Call, namespace, query string) (f job.Filter, err error) {
	if namespace, err = api.InNamespace(c.Token, "namespace", namespace); err != nil {
		return f, err
	}
	f, err = job.ParseJobFilter(query, s.Options.Now().UTC())
	f.Namespace = namespace
	return f, err
}

// selectionNamespace checks a selection and limits its filter to the namespace
// that the caller may change. So the result does not depend on checks of the service.
func (s *server) selectionNamespace(c *api.Call, asked string, sel *view.Selection) (string, error) {
	if asked != "" { // a refused namespace takes precedence over faults of the selection
		if _, err := api.InNamespace(c.Token, "namespace", asked); err != nil {
			return "", err
		}
	}
	if f := sel.Filter; f != nil && f.Namespace != "" {
		if _, err := api.InNamespace(c.Token, "filter.namespace", f.Namespace); err != nil {
			return "", err
		}
	}
	var err error
	if *sel, err = sel.Read(s.Options.Now().UTC()); err != nil {
		return "", err
	}
	if err := sel.Validate(); err != nil {
		return "", err
	}
	if sel.Filter == nil {
		return api.InNamespace(c.Token, "namespace", asked)
	}
	ns, err := api.Agree("filter.namespace", asked, sel.Filter.Namespace)
	if err != nil {
		return "", err
	}
	if ns, err = api.InNamespace(c.Token, "filter.namespace", ns); err != nil {
		return "", err
	}
	sel.Filter.Namespace = ns
	return ns, nil
}
