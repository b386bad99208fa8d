package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
)

// endpoint is one route as it is registered and documented. Huma describes it,
// reads its parameters and writes its answer. Bodies are read here, because
// they want better errors and other deadlines than huma has.
type endpoint struct {
	id      string // operation id; its first word is the tag
	method  string
	path    string
	summary string
	doc     string
	scope   access.Scope  // empty: any token will do
	also    access.Scope  // another scope that will do instead
	attempt bool          // wants the token of the attempt in its path, and no scope
	join    bool          // wants the secret of a join token, and no scope
	created bool          // answers 201, and where to find what was made
	timeout time.Duration // default: handleTimeout; negative: none
	maxBody int64         // default: Options.MaxBody
	bare    bool          // the body may be missing
}

// schemaNames are names of types in the API whose package says the noun in Go.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[alert.Rule]():              "AlertRule",
	reflect.TypeFor[core.Page[alert.Rule]]():   "PageAlertRule",
	reflect.TypeFor[core.Page[cycle.Status]](): "PageCycleStatus",
	reflect.TypeFor[alert.Try]():               "AlertTry",
	reflect.TypeFor[cycle.Output]():            "CycleOutput",
	reflect.TypeFor[cycle.Run]():               "CycleRun",
	reflect.TypeFor[cycle.Status]():            "CycleStatus",
	reflect.TypeFor[job.Count]():               "JobCount",
	reflect.TypeFor[job.Filter]():              "JobFilter",
	reflect.TypeFor[job.MinuteTotals]():        "JobMinute",
	reflect.TypeFor[monitor.Bars]():            "MonitorBars",
	reflect.TypeFor[monitor.State]():           "MonitorState",
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

// newAPI is an empty API on a mux.
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
		Transformers:                 []huma.Transformer{ownErrors, fullArrays},
	})
}

// durationText is how a duration looks in the OpenAPI document.
type durationText struct{}

// Schema is asked for by huma.
func (durationText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Examples: []any{"90s", "1h30m", "7d"}}
}

// none is an answer without a body.
type none struct{}

type answer[T any] struct {
	Status int
	Body   T
}

// serve registers a route without a body.
func serve[I, T any](s *Server, e endpoint, h func(ctx context.Context, c *call, in *I) (T, error)) {
	op := s.operation(e)
	if reflect.TypeFor[T]() == reflect.TypeFor[none]() {
		huma.Register(s.api, op, func(ctx context.Context, in *I) (*struct{}, error) {
			c := callOf(ctx)
			if ctx, err := s.expecting(ctx, c, e, nil); err != nil {
				return nil, s.orProblem(ctx, err)
			} else if _, err = h(ctx, c, in); err != nil {
				return nil, s.orProblem(ctx, err)
			}
			return nil, nil
		})
		return
	}
	if reflect.TypeFor[T]().Implements(typeOfVersioned) {
		s.versioned[e.path] = true
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*answer[T], error) {
		c := callOf(ctx)
		v, err := h(ctx, c, in)
		if err != nil {
			return nil, s.orProblem(ctx, err)
		}
		c.tag(v)
		if e.created {
			if at := located(v); at != "" {
				c.w.Header().Set("Location", at)
			}
		}
		return &answer[T]{Status: e.status(v), Body: v}, nil
	})
}

// serveBody registers a route with a JSON body.
func serveBody[I, B, T any](s *Server, e endpoint, h func(ctx context.Context, c *call, in *I, body B) (T, error)) {
	if e.maxBody == 0 {
		e.maxBody = s.opts.MaxBody
	}
	serve(s, e, func(ctx context.Context, c *call, in *I) (T, error) {
		var body B
		if err := c.read(e, &body); err != nil {
			var zero T
			return zero, err
		}
		ctx, err := s.expecting(ctx, c, e, body)
		if err != nil {
			var zero T
			return zero, err
		}
		return h(ctx, c, in, body)
	})
	s.describeBody(e, "application/json", s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[B](), true, e.id+"Body"))
}

// serveText registers a route with a body of another type than JSON.
func serveText[I, T any](s *Server, e endpoint, kind string, h func(ctx context.Context, c *call, in *I, body []byte) (T, error)) {
	serve(s, e, func(ctx context.Context, c *call, in *I) (T, error) {
		body, err := c.readText(e, kind)
		if err != nil {
			var zero T
			return zero, err
		}
		return h(ctx, c, in, body)
	})
	s.describeBody(e, kind, &huma.Schema{Type: huma.TypeString})
}

// describeBody is done after a route was registered, or huma would read and
// check the body itself.
func (s *Server) describeBody(e endpoint, kind string, schema *huma.Schema) {
	op := operationAt(s.api.OpenAPI(), e.method, e.path)
	op.RequestBody = &huma.RequestBody{Required: !e.bare, Content: map[string]*huma.MediaType{kind: {Schema: schema}}}
}

// stream registers a route that writes its answer itself. What prepare returns
// runs when nothing can be refused any more.
func stream[I any](s *Server, e endpoint, types map[string]reflect.Type, prepare func(ctx context.Context, c *call, in *I) (func(http.ResponseWriter), error)) {
	op := s.operation(e)
	content := map[string]*huma.MediaType{}
	for name, t := range types {
		content[name] = &huma.MediaType{Schema: s.api.OpenAPI().Components.Schemas.Schema(t, true, e.id)}
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		c := callOf(ctx)
		if c.r.Method == http.MethodHead { // or it would stream into nothing
			return &huma.StreamResponse{Body: func(hc huma.Context) { hc.SetStatus(http.StatusOK) }}, nil
		}
		run, err := prepare(ctx, c, in)
		if err != nil {
			return nil, s.orProblem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			_, w := humago.Unwrap(hc)
			run(w)
		}}, nil
	})
}

func (s *Server) orProblem(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return s.fail(ctx, err)
}

func (s *Server) operation(e endpoint) huma.Operation {
	tag, _, _ := strings.Cut(e.id, "-")
	scheme, needs, scopes := "token", "Any token will do.", []string{}
	switch {
	case e.attempt:
		scheme, needs = "attempt", "Needs the attempt's own token, which came with its claim."
	case e.join:
		scheme, needs = "join", "Needs a join token instead of a token."
	case e.scope != "":
		needs, scopes = "Needs the scope "+string(e.scope)+".", []string{string(e.scope)}
	}
	if e.also != "" {
		needs = "Needs the scope " + string(e.scope) + " or " + string(e.also) + "."
	}
	op := huma.Operation{
		OperationID: e.id,
		Method:      e.method,
		Path:        e.path,
		Summary:     e.summary,
		Description: strings.TrimSpace(e.doc + "\n\n" + needs),
		Tags:        []string{tag},
		Security:    []map[string][]string{{scheme: scopes}},
		Middlewares: huma.Middlewares{s.entry(e)},
	}
	if e.created {
		op.DefaultStatus = http.StatusCreated
	}
	return op
}

// operationAt finds an operation in the document.
func operationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	return operationsOf(doc.Paths[path])[method]
}

func operationsOf(item *huma.PathItem) map[string]*huma.Operation {
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

// entry lets only those in who may, and bounds how long they may take.
func (s *Server) entry(e endpoint) func(huma.Context, func(huma.Context)) {
	timeout := e.timeout
	if timeout == 0 {
		timeout = handleTimeout
	}
	return func(hc huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hc)
		let := s.authorize
		if e.attempt {
			let = func(ctx context.Context, r *http.Request, _ access.Scope) (context.Context, error) {
				return s.authorizeAttempt(ctx, r)
			}
		}
		if e.join {
			let = s.authorizeJoin
		}
		ctx, err := let(hc.Context(), r, e.scope)
		if e.also != "" && core.CodeOf(err) == core.Forbidden && allow(callOf(ctx).token, e.also) == nil {
			err = nil
		}
		if err != nil {
			s.refuse(hc.Context(), w, err)
			return
		}
		if timeout > 0 {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + writeTimeout))
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		next(huma.WithContext(hc, ctx))
	}
}

// authorize finds out who asks and whether they may. What is done under the
// context it returns is done in their name.
func (s *Server) authorize(ctx context.Context, r *http.Request, scope access.Scope) (context.Context, error) {
	token, err := s.guard.token(ctx, r)
	if err != nil {
		return ctx, notLetIn(err)
	}
	c := callOf(ctx)
	c.token = token
	return access.WithActor(ctx, "token:"+token.Name), allow(token, scope)
}

// read reads a request's body into v.
func (c *call) read(e endpoint, v any) error {
	r := c.r
	if e.bare && (r.Body == nil || r.Body == http.NoBody) {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" && r.ContentLength != 0 {
		e := core.Errorf(core.Invalid, "the body is %s, not JSON", orWords(kind, "of no stated type")).
			WithHint("send the header Content-Type: application/json, as curl --json does")
		return newProblem(http.StatusUnsupportedMediaType, e)
	}
	data, err := c.readAll(e.maxBody)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		if e.bare {
			return nil
		}
		return core.Errorf(core.Invalid, "the body is missing").WithHint("send JSON as /docs describes")
	}
	return decode(data, v)
}

// readText reads a request's body of the given type.
func (c *call) readText(e endpoint, kind string) ([]byte, error) {
	if got, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); got != kind && c.r.ContentLength != 0 {
		e := core.Errorf(core.Invalid, "the body is %s, not %s", orWords(got, "of no stated type"), kind).
			WithHint("send the header Content-Type: %s", kind)
		return nil, newProblem(http.StatusUnsupportedMediaType, e)
	}
	data, err := c.readAll(e.maxBody)
	if err == nil && len(data) == 0 {
		err = core.Errorf(core.Invalid, "the body is missing").WithHint("send it as %s", kind)
	}
	return data, err
}

func orWords(s, words string) string {
	if s == "" {
		return words
	}
	return wire.Shorten(s)
}

func (c *call) readAll(limit int64) ([]byte, error) {
	tooLarge := core.Errorf(core.TooLarge, "the body is over the limit of %s", core.SizeText(limit)).
		WithHint("send less at once")
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		e := core.Errorf(core.Unavailable, "the body did not arrive in time")
		return nil, newProblem(http.StatusRequestTimeout, e)
	case err != nil:
		return nil, core.Errorf(core.Invalid, "the body ended early")
	}
	return data, nil
}
