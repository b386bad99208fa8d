package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/core"
)

// statuses is the one place where codes and HTTP statuses meet. The first row
// of a code is what the server answers with. The others are statuses that HTTP
// itself gives (this server's router and guards, a proxy in front of it), so
// that the client knows them too.
var statuses = []struct {
	code   core.Code
	status int
	title  string
}{
	{core.Invalid, http.StatusUnprocessableEntity, "Invalid input"},
	{core.NotFound, http.StatusNotFound, "Not found"},
	{core.Conflict, http.StatusConflict, "Conflict"},
	{core.Unauthorized, http.StatusUnauthorized, "Not authenticated"},
	{core.Forbidden, http.StatusForbidden, "Not allowed"},
	{core.TooLarge, http.StatusRequestEntityTooLarge, "Too large"},
	{core.Unavailable, http.StatusServiceUnavailable, "Not available now"},
	{core.Unknown, http.StatusGatewayTimeout, "Outcome unknown"},
	{core.Internal, http.StatusInternalServerError, "Internal error"},

	{core.Invalid, http.StatusBadRequest, "Invalid request"},
	{core.Invalid, http.StatusMethodNotAllowed, "Method not allowed"},
	{core.Invalid, http.StatusUnsupportedMediaType, "Not of a type that can be read"},
	{core.Forbidden, http.StatusMisdirectedRequest, "Unknown host"},
	{core.TooLarge, http.StatusRequestHeaderFieldsTooLarge, "Headers too large"},
	{core.Unavailable, http.StatusRequestTimeout, "Request took too long"},
	{core.Unavailable, http.StatusTooManyRequests, "Too many requests"},
	{core.Unknown, http.StatusBadGateway, "Bad gateway"},
}

// statusOf is the status that a code is answered with.
func statusOf(code core.Code) int {
	for _, row := range statuses {
		if row.code == code {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

// StatusOf is the HTTP status that the API answers an error with. One that a
// [Client] got keeps the status that it came with.
func StatusOf(err error) int {
	var status answered
	if errors.As(err, &status) {
		return int(status)
	}
	return statusOf(core.CodeOf(err))
}

// answered is the status that an error came with, as its cause.
type answered int

func (a answered) Error() string { return "the server answered " + strconv.Itoa(int(a)) }

// codeOf is what a status means when nothing but the status is known.
func codeOf(status int) core.Code {
	for _, row := range statuses {
		if row.status == status {
			return row.code
		}
	}
	if status >= 400 && status < 500 {
		return core.Invalid
	}
	return core.Internal
}

func titleOf(status int) string {
	for _, row := range statuses {
		if row.status == status {
			return row.title
		}
	}
	return http.StatusText(status)
}

const problemType = "application/problem+json"

// problem is an error as the API answers it (RFC 9457).
type problem struct {
	Type      string            `json:"type" doc:"urn:belfry:error: and the code"`
	Title     string            `json:"title" doc:"What kind of error it is"`
	Status    int               `json:"status" doc:"HTTP status"`
	Detail    string            `json:"detail,omitempty" doc:"What went wrong this time"`
	Code      core.Code         `json:"code" enum:"invalid,not_found,conflict,unauthorized,forbidden,too_large,unavailable,unknown,internal" doc:"For machines"`
	Errors    []core.FieldError `json:"errors,omitempty" doc:"Which inputs were at fault"`
	Hint      string            `json:"hint,omitempty" doc:"The next thing to try"`
	RequestID string            `json:"request_id,omitempty" doc:"What the server's log knows this request by"`

	ofToken bool // the caller's token is what is wrong
}

// GetStatus and ContentType are how huma writes it.
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) ContentType(string) string { return problemType }
func (p *problem) Error() string             { return p.asError().Error() }

// A 401 must carry a challenge. The one of the guard means the token; any
// other means that the thing asked about is over, such as a worker's session.
const (
	tokenChallenge = `Bearer realm="belfry"`
	otherChallenge = `Bearer realm="belfry session"`
)

// GetHeaders is what an error says in headers. Huma asks for it too.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", otherChallenge)
		if p.ofToken {
			h.Set("WWW-Authenticate", tokenChallenge)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	return h
}

// notLetIn marks what an error of the guard is about.
func notLetIn(err error) error {
	if core.CodeOf(err) != core.Unauthorized {
		return err
	}
	p := describe(err, "")
	p.ofToken = true
	return p
}

func newProblem(status int, e *core.Error) *problem {
	return &problem{
		Type:   "urn:belfry:error:" + string(e.Code),
		Title:  titleOf(status),
		Status: status,
		Detail: e.Message,
		Code:   e.Code,
		Errors: e.Fields,
		Hint:   e.Hint,
	}
}

// asError is the error again that the problem was made of.
func (p *problem) asError() *core.Error {
	return &core.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors, Hint: p.Hint}
}

// describe turns any error into what a caller may know of it. The text of an
// error that is not a [core.Error], or an internal one, stays here.
func describe(err error, requestID string) *problem {
	var p *problem
	if errors.As(err, &p) {
		p.RequestID = requestID
		return p
	}
	var e *core.Error
	switch {
	case errors.As(err, &e) && e.Code != core.Internal && statusOf(e.Code) != http.StatusInternalServerError:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e = core.Errorf(core.Unavailable, "the server did not finish this in time").WithHint("try again")
	default:
		e = core.Errorf(core.Internal, "internal error, see request id %s", requestID).
			WithHint("the server's log says more under this request id")
	}
	p = newProblem(statusOf(e.Code), e)
	p.RequestID = requestID
	return p
}

func writeProblem(w http.ResponseWriter, p *problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who is not there any more does not read it
}

// ownErrors gives the errors that huma makes itself, about parameters, the
// shape of all others.
func ownErrors(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	e := &core.Error{Code: codeOf(m.Status), Message: "invalid parameters"}
	if len(m.Errors) == 0 {
		e.Message = m.Detail
	}
	for _, d := range m.Errors {
		e.Fields = append(e.Fields, ownField(ctx.Operation(), d))
	}
	p := newProblem(m.Status, e)
	p.RequestID = callOf(ctx.Context()).id
	return p, nil
}

func ownField(op *huma.Operation, d *huma.ErrorDetail) core.FieldError {
	_, field, found := strings.Cut(d.Location, ".")
	f := core.FieldError{Field: cmp.Or(field, d.Location), Message: d.Message}
	if !found {
		f.Field = d.Location
	}
	if d.Value != nil {
		f.Value = shorten(fmt.Sprint(d.Value))
	}
	switch {
	case d.Message == "unknown query parameter":
		f.Message = "is not a parameter here"
		f.Hint = nearHint(f.Field, parameterNames(op))
	case d.Message == "invalid integer":
		f.Message = "is not a whole number"
	case d.Message == "invalid boolean":
		f.Message, f.Hint = "is neither true nor false", ""
	case strings.HasPrefix(d.Message, "invalid date/time"):
		f.Message, f.Hint = "is not a time", "write it as 2026-01-31T12:00:00Z"
	}
	return f
}

func parameterNames(op *huma.Operation) []string {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}
