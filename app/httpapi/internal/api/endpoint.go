package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

// Endpoint is a route and its documentation. Huma describes the route,
// reads its parameters and writes its answer. This package reads bodies, for
// better errors and other deadlines than those of huma.
type Endpoint struct {
	Id      string // operation id; its first word is the tag
	Method  string
	Path    string
	Summary string
	Doc     string
	Scope   access.Scope  // required scope; empty: any token
	Also    access.Scope  // alternative to Scope
	Attempt bool          // requires the token of the attempt in the path instead of a scope
	Join    bool          // requires the secret of a join token instead of a scope
	Created bool          // answers 201 with the location of the new resource
	Timeout time.Duration // default: HandleTimeout; negative: none
	MaxBody int64         // default: Options.MaxBody
	Bare    bool          // the body may be missing
	Foreign bool          // the body holds output of programs; NULs are removed from its texts
	Waits   bool          // may wait for something to happen; like a route without a timeout, it has no share of the memory of requests

	answer int64 // share of the answer; 0: answerShare
}

// schemaNames are the names in the API of types that in Go are named with their package.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[alert.Rule]():               "AlertRule",
	reflect.TypeFor[core.Page[alert.Rule]]():    "PageAlertRule",
	reflect.TypeFor[core.Page[cycle.Status]]():  "PageCycleStatus",
	reflect.TypeFor[alert.Try]():                "AlertTry",
	reflect.TypeFor[cycle.Output]():             "CycleOutput",
	reflect.TypeFor[cycle.Run]():                "CycleRun",
	reflect.TypeFor[cycle.Status]():             "CycleStatus",
	reflect.TypeFor[job.Count]():                "JobCount",
	reflect.TypeFor[job.Filter]():               "JobFilter",
	reflect.TypeFor[job.MinuteTotals]():         "JobMinute",
	reflect.TypeFor[monitor.Bars]():             "MonitorBars",
	reflect.TypeFor[monitor.State]():            "MonitorState",
	reflect.TypeFor[job.Link]():                 "SignalLink",
	reflect.TypeFor[job.NewLink]():              "NewSignalLink",
	reflect.TypeFor[job.Unlinked]():             "SignalUnlinked",
	reflect.TypeFor[task.Step]():                "WorkflowStep",
	reflect.TypeFor[workflow.Item]():            "WorkflowItem",
	reflect.TypeFor[core.Page[workflow.Item]](): "PageWorkflowItem",
	reflect.TypeFor[workflow.Plan]():            "WorkflowPlan",
	reflect.TypeFor[workflow.Retrying]():        "WorkflowRetry",
	reflect.TypeFor[workflow.Retried]():         "WorkflowRetried",
	reflect.TypeFor[workflow.Run]():             "WorkflowRun",
	reflect.TypeFor[workflow.Sent]():            "WorkflowSent",
	reflect.TypeFor[workflow.Signal]():          "WorkflowSignal",
	reflect.TypeFor[workflow.Status]():          "WorkflowStatus",
	reflect.TypeFor[workflow.Step]():            "WorkflowStepState",
	reflect.TypeFor[workflow.Stop]():            "WorkflowStop",
	reflect.TypeFor[hook.Event]():               "HookEvent",
	reflect.TypeFor[hook.Job]():                 "HookEventJob",
	reflect.TypeFor[hook.Schedule]():            "HookEventSchedule",
	reflect.TypeFor[hook.Monitor]():             "HookEventMonitor",
	reflect.TypeFor[hook.Recorded]():            "HookRecorded",
	reflect.TypeFor[core.Page[hook.Recorded]](): "PageHookRecorded",
	reflect.TypeFor[hook.Replay]():              "HookReplay",
	reflect.TypeFor[hook.Replayed]():            "HookReplayed",
	reflect.TypeFor[hook.Status]():              "HookStatus",
	reflect.TypeFor[hook.Standing]():            "HookStanding",
	reflect.TypeFor[core.Page[hook.Standing]](): "PageHookStanding",
	reflect.TypeFor[hook.Numbered]():            "HookNumbered",
	reflect.TypeFor[hook.Pulled]():              "HookPulled",
	reflect.TypeFor[hook.Acknowledged]():        "HookAcknowledged",
	reflect.TypeFor[hook.Try]():                 "HookTry",
}

// schemaName is the name of a type in the API.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := schemaNames[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// newAPI returns an API of huma without operations.
func newAPI(mux *http.ServeMux, version string) huma.API {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[wire.Problem]())
	registry.RegisterTypeAlias(reflect.TypeFor[core.Duration](), reflect.TypeFor[durationText]())
	format := huma.DefaultJSONFormat
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Belfry",
				Version:     version,
				Description: "Tasks, schedules and durable jobs that run on time.",
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":   {Type: "http", Scheme: "bearer", Description: "A token of Belfry: belfry token create"},
					"join":    {Type: "http", Scheme: "bearer", Description: "A join token: belfry token join create"},
					"attempt": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "The right to one attempt, which came with its claim"},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{ownErrors, body.FullArrays, inForm},
	})
}

// inForm replaces an answer that has several forms by the right one. Marshalling itself instead would cost a second pass over
// its JSON.
func inForm(_ huma.Context, _ string, v any) (any, error) {
	if a, is := v.(interface{ Answer() any }); is {
		return a.Answer(), nil
	}
	return v, nil
}

// durationText describes a duration in the OpenAPI document.
type durationText struct{}

// Schema is called by huma.
func (durationText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"90s", "1h30m", "7d"}}
}

// None is an answer without a body.
type None struct{}

// answer is the answer type of all routes. Each pair of types that is registered at huma adds 16 KB of compiled code: an answer
// type for each route made the program 2.7 MB larger.
type answer struct {
	Status int
	Body   any
}

// described gives huma the schema of an answer.
type described[T any] struct{ Body T }

// Serve registers a route without a body.
func Serve[I, T any](a *API, e Endpoint, h func(ctx context.Context, c *Call, in *I) (T, error)) {
	e.answer = answerOf[T]()
	op := a.operation(e)
	if reflect.TypeFor[T]() == reflect.TypeFor[None]() {
		op.DefaultStatus = http.StatusNoContent
		empty := &huma.Response{}
		op.Responses = map[string]*huma.Response{strconv.Itoa(op.DefaultStatus): empty}
		huma.Register(a.Huma, op, func(ctx context.Context, in *I) (*answer, error) {
			c := CallOf(ctx)
			if ctx, err := a.expecting(ctx, c, e, nil); err != nil {
				return nil, a.orProblem(ctx, err)
			} else if _, err = h(ctx, c, in); err != nil {
				return nil, a.orProblem(ctx, err)
			}
			return nil, nil
		})
		empty.Content, empty.Headers = nil, nil
		return
	}
	if reflect.TypeFor[T]().Implements(typeOfVersioned) {
		a.versioned[e.Path] = true
	}
	field := reflect.TypeFor[described[T]]().Field(0)
	schema := huma.SchemaFromField(a.Huma.OpenAPI().Components.Schemas, field, e.Id+"Response")
	op.Responses = map[string]*huma.Response{strconv.Itoa(cmp.Or(op.DefaultStatus, http.StatusOK)): {
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}}
	huma.Register(a.Huma, op, func(ctx context.Context, in *I) (*answer, error) {
		c := CallOf(ctx)
		v, err := h(ctx, c, in)
		if err != nil {
			return nil, a.orProblem(ctx, err)
		}
		c.tag(v)
		if e.Created {
			if at := located(v); at != "" {
				c.w.Header().Set("Location", at)
			}
		}
		return &answer{Status: e.status(v), Body: v}, nil
	})
}

// ServeBody registers a route with a JSON body.
func ServeBody[I, B, T any](a *API, e Endpoint, h func(ctx context.Context, c *Call, in *I, body B) (T, error)) {
	if e.MaxBody == 0 {
		e.MaxBody = a.Options.MaxBody
	}
	Serve(a, e, func(ctx context.Context, c *Call, in *I) (T, error) {
		var body B
		if err := c.read(e, &body); err != nil {
			var zero T
			return zero, err
		}
		ctx, err := a.expecting(ctx, c, e, body)
		if err != nil {
			var zero T
			return zero, err
		}
		return h(ctx, c, in, body)
	})
	a.describeBody(e, "application/json", a.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[B](), true, e.Id+"Body"))
}

// ServeText registers a route with a body of another content type than JSON.
func ServeText[I, T any](a *API, e Endpoint, kind string, h func(ctx context.Context, c *Call, in *I, body []byte) (T, error)) {
	Serve(a, e, func(ctx context.Context, c *Call, in *I) (T, error) {
		body, err := c.readText(e, kind)
		if err != nil {
			var zero T
			return zero, err
		}
		return h(ctx, c, in, body)
	})
	a.describeBody(e, kind, &huma.Schema{Type: huma.TypeString})
}

// describeBody documents the body of a registered route. Before registration,
// the description would make huma read and check the body itself.
func (a *API) describeBody(e Endpoint, kind string, schema *huma.Schema) {
	op := operationAt(a.Huma.OpenAPI(), e.Method, e.Path)
	op.RequestBody = &huma.RequestBody{Required: !e.Bare, Content: map[string]*huma.MediaType{kind: {Schema: schema}}}
}

// Stream registers a route that writes its answer itself. prepare may refuse the request; the
// function that it returns cannot.
func Stream[I any](a *API, e Endpoint, types map[string]reflect.Type, prepare func(ctx context.Context, c *Call, in *I) (func(http.ResponseWriter), error)) {
	op := a.operation(e)
	content := map[string]*huma.MediaType{}
	for name, t := range types {
		content[name] = &huma.MediaType{Schema: a.Huma.OpenAPI().Components.Schemas.Schema(t, true, e.Id)}
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	huma.Register(a.Huma, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		c := CallOf(ctx)
		if c.r.Method == http.MethodHead { // without this, the stream would have no reader
			return &huma.StreamResponse{Body: func(hc huma.Context) { hc.SetStatus(http.StatusOK) }}, nil
		}
		run, err := prepare(ctx, c, in)
		if err != nil {
			return nil, a.orProblem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			_, w := humago.Unwrap(hc)
			run(w)
		}}, nil
	})
}

func (a *API) orProblem(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return a.Fail(ctx, err)
}

func (a *API) operation(e Endpoint) huma.Operation {
	tag, _, _ := strings.Cut(e.Id, "-")
	scheme, needs, scopes := "token", "Any token will do.", []string{}
	switch {
	case e.Attempt:
		scheme, needs = "attempt", "Needs the attempt's own token, which came with its claim."
	case e.Join:
		scheme, needs = "join", "Needs a join token instead of a token."
	case e.Scope != "":
		needs, scopes = "Needs the scope "+string(e.Scope)+".", []string{string(e.Scope)}
	}
	if e.Also != "" {
		needs = "Needs the scope " + string(e.Scope) + " or " + string(e.Also) + "."
	}
	op := huma.Operation{
		OperationID: e.Id,
		Method:      e.Method,
		Path:        e.Path,
		Summary:     e.Summary,
		Description: strings.TrimSpace(e.Doc + "\n\n" + needs),
		Tags:        []string{tag},
		Security:    []map[string][]string{{scheme: scopes}},
		Middlewares: huma.Middlewares{a.entry(e)},
	}
	if e.Created {
		op.DefaultStatus = http.StatusCreated
	}
	return op
}

// operationAt finds an operation in the document.
func operationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	return OperationsOf(doc.Paths[path])[method]
}

// OperationsOf returns the operations of a path, by method.
func OperationsOf(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete,
	}
	for method, op := range all {
		if op == nil {
			delete(all, method)
		}
	}
	return all
}

// entry returns the middleware that authorizes the calls of a route and limits their time.
func (a *API) entry(e Endpoint) func(huma.Context, func(huma.Context)) {
	timeout := e.Timeout
	if timeout == 0 {
		timeout = HandleTimeout
	}
	return func(hc huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hc)
		authorize := a.authorize
		if e.Attempt {
			authorize = func(ctx context.Context, r *http.Request, _ access.Scope) (context.Context, error) {
				return a.authorizeAttempt(ctx, r)
			}
		}
		if e.Join {
			authorize = a.authorizeJoin
		}
		ctx, err := authorize(hc.Context(), r, e.Scope)
		if e.Also != "" && core.CodeOf(err) == core.Forbidden && Allow(CallOf(ctx).Token, e.Also) == nil {
			err = nil
		}
		if err == nil {
			err = oneKey(r.Header.Values("Idempotency-Key"))
		}
		if err == nil && e.Scope != access.ScopeWorker && e.Also != access.ScopeWorker && !isInProcess(ctx) {
			err = a.counted(ctx)
		}
		if err == nil {
			var give func()
			if give, err = a.takeMemory(ctx, e, http.NewResponseController(w), r); err == nil {
				defer give()
			}
		}
		if err != nil {
			a.Refuse(hc.Context(), w, err)
			return
		}
		if timeout > 0 {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + WriteTimeout))
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		next(huma.WithContext(hc, ctx))
	}
}

// Calls counts the calls of a namespace's tokens, and refuses a call above the limit.
type Calls interface {
	AdmitCall(ctx context.Context, namespace string) error
}

// counted refuses the call of a namespace above its limit. Calls of workers do not count: their jobs were admitted before.
func (a *API) counted(ctx context.Context) error {
	if ns := CallOf(ctx).Token.Namespace; a.Options.Calls != nil && ns != "" && ns != core.AnyNamespace {
		return a.Options.Calls.AdmitCall(ctx, ns)
	}
	return nil
}

// authorize authenticates a request and checks its scope. The returned context
// carries the caller as actor.
func (a *API) authorize(ctx context.Context, r *http.Request, scope access.Scope) (context.Context, error) {
	token, err := a.Guard.token(ctx, r)
	if err != nil {
		return ctx, asTokenProblem(err)
	}
	c := CallOf(ctx)
	c.Token = token
	return access.WithActor(ctx, token.Actor()), Allow(token, scope)
}

func orWords(s, words string) string {
	if s == "" {
		return words
	}
	return wire.Shorten(s)
}

// status is the HTTP status of an answer: 201 if the call created something, or
// else 200.
func (e Endpoint) status(v any) int {
	made := e.Created
	switch v := v.(type) {
	case job.Enqueued:
		made = made && !v.Existing
	case creation:
		made = made && v.Made()
	}
	if made {
		return http.StatusCreated
	}
	return http.StatusOK
}
