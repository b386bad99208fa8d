package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/app/httpapi/internal/body"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// StatusOf returns the HTTP status of an error. An error that a
// [client.Client] received keeps its status.
func StatusOf(err error) int {
	var status wire.Answered
	if errors.As(err, &status) {
		return int(status)
	}
	return wire.StatusOf(core.CodeOf(err))
}

// TitleOf returns the title of problems with a status.
func TitleOf(status int) string {
	for _, row := range wire.Statuses {
		if row.Status == status {
			return row.Title
		}
	}
	return http.StatusText(status)
}

// asTokenProblem marks an Unauthorized error as one about the token.
func asTokenProblem(err error) error {
	if core.CodeOf(err) != core.Unauthorized {
		return err
	}
	p := Describe(err, "")
	p.OfToken = true
	return p
}

// Limits of the parts of a request that a problem repeats, in bytes: names of fields, and other text.
const (
	shownDetail = 1000
	shownField  = 200
)

func shorten(text string, limit int) string {
	if shown, cut := core.CleanText(text, limit); cut {
		return shown + "…"
	}
	return text
}

func newProblem(status int, e *core.Error) *wire.Problem {
	fields := slices.Clone(e.Fields)
	for i := range fields {
		fields[i].Field, fields[i].Message = shorten(fields[i].Field, shownField), shorten(fields[i].Message, shownDetail)
	}
	return &wire.Problem{
		Type:   "urn:belfry:error:" + string(e.Code),
		Title:  TitleOf(status),
		Status: status,
		Detail: shorten(e.Message, shownDetail),
		Code:   e.Code,
		Errors: fields,
		Hint:   e.Hint,

		RetryIn: int64((e.RetryAfter.D() + time.Second - 1) / time.Second),
	}
}

// Describe turns an error into the problem that a caller may see. It hides the
// text of internal errors and of errors that are not a [core.Error].
func Describe(err error, requestID string) *wire.Problem {
	var p *wire.Problem
	if errors.As(err, &p) {
		p.RequestID = requestID
		return p
	}
	var e *core.Error
	switch {
	case errors.As(err, &e) && e.Code != core.Internal && wire.StatusOf(e.Code) != http.StatusInternalServerError:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e = core.Errorf(core.Unavailable, "the server did not finish this in time").WithHint("try again")
	default:
		e = core.Errorf(core.Internal, "internal error, see request id %s", requestID).
			WithHint("the server's log says more under this request id")
	}
	p = newProblem(wire.StatusOf(e.Code), e)
	p.RequestID = requestID
	return p
}

// WriteProblem answers with a problem.
func WriteProblem(w http.ResponseWriter, p *wire.Problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // fails only if the client has disconnected
}

// ownErrors turns errors of huma, about parameters, into problems like those of
// this package.
func ownErrors(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	e := &core.Error{Code: wire.CodeOf(m.Status), Message: "invalid parameters"}
	if len(m.Errors) == 0 {
		e.Message = m.Detail
	}
	for _, d := range m.Errors {
		e.Fields = append(e.Fields, ownField(ctx.Operation(), d))
	}
	p := newProblem(m.Status, e)
	p.RequestID = CallOf(ctx.Context()).Id
	return p, nil
}

func ownField(op *huma.Operation, d *huma.ErrorDetail) core.FieldError {
	_, field, found := strings.Cut(d.Location, ".")
	f := core.FieldError{Field: cmp.Or(field, d.Location), Message: d.Message}
	if !found {
		f.Field = d.Location
	}
	if d.Value != nil {
		f.Value = wire.Shorten(fmt.Sprint(d.Value))
	}
	switch {
	case d.Message == "unknown query parameter":
		f.Message = "is not a parameter here"
		f.Hint = body.NearHint(f.Field, ParameterNames(op))
	case d.Message == "invalid integer":
		f.Message = body.NoWhole(f.Value)
	case d.Message == "invalid boolean":
		f.Message, f.Hint = "is neither true nor false", ""
	case strings.HasPrefix(d.Message, "invalid date/time"):
		f.Message, f.Hint = "is not a time", "write it as 2026-01-31T12:00:00Z"
	}
	return f
}

// ParameterNames returns the query parameters of an operation.
func ParameterNames(op *huma.Operation) []string {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}
