package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Statuses maps codes to HTTP statuses; no other code does. The server answers with
// the first row of a code. Further rows are statuses that come from the router or
// the guards of the server, or from a proxy in front of it, for the client.
var Statuses = []struct {
	Code   core.Code
	Status int
	Title  string
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

	// After the other row of its status, because a bare 429 means neither a quota nor a queue.
	{core.OverQuota, http.StatusTooManyRequests, "Too many requests"},
	{core.QueueFull, http.StatusTooManyRequests, "Queue full"},
}

// StatusOf returns the HTTP status of a code.
func StatusOf(code core.Code) int {
	for _, row := range Statuses {
		if row.Code == code {
			return row.Status
		}
	}
	return http.StatusInternalServerError
}

// Answered is the HTTP status of the answer with an error, as a cause of the error.
type Answered int

func (a Answered) Error() string { return "the server answered " + strconv.Itoa(int(a)) }

// CodeOf returns the code of a bare HTTP status.
func CodeOf(status int) core.Code {
	for _, row := range Statuses {
		if row.Status == status {
			return row.Code
		}
	}
	if status >= 400 && status < 500 {
		return core.Invalid
	}
	return core.Internal
}

// ProblemType is the content type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is the body of an error answer of the API (RFC 9457).
type Problem struct {
	Type      string            `json:"type" doc:"urn:belfry:error: and the code"`
	Title     string            `json:"title" doc:"What kind of error it is"`
	Status    int               `json:"status" doc:"HTTP status"`
	Detail    string            `json:"detail,omitempty" doc:"What went wrong this time"`
	Code      core.Code         `json:"code" enum:"invalid,not_found,conflict,unauthorized,forbidden,too_large,over_quota,queue_full,unavailable,unknown,internal" doc:"For machines"`
	Errors    []core.FieldError `json:"errors,omitempty" doc:"Which inputs were at fault"`
	Hint      string            `json:"hint,omitempty" doc:"The next thing to try"`
	RetryIn   int64             `json:"retry_after,omitempty" doc:"Seconds after which to ask again, as the header Retry-After says"`
	RequestID string            `json:"request_id,omitempty" doc:"What the server's log knows this request by"`

	OfToken bool `json:"-"` // the error concerns the caller's token
}

// GetStatus and ContentType tell huma how to write the problem.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns [ProblemType], which huma asks for.
func (p *Problem) ContentType(string) string { return ProblemType }

func (p *Problem) Error() string { return p.AsError().Error() }

// The challenges. A 401 must have one. The first means an invalid token; the other
// means that the object of the request has ended, such as a worker's session.
const (
	TokenChallenge = `Bearer realm="belfry"`
	otherChallenge = `Bearer realm="belfry session"`
)

// GetHeaders returns the headers of the error answer. Huma calls it as well.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", otherChallenge)
		if p.OfToken {
			h.Set("WWW-Authenticate", TokenChallenge)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if p.RetryIn == 0 && (p.Code == core.OverQuota || p.Code == core.QueueFull) {
			break // what is asked for does not fit, however long its caller waits
		}
		h.Set("Retry-After", strconv.FormatInt(max(p.RetryIn, 1), 10))
	}
	return h
}

// AsError returns the error from which the problem was made.
func (p *Problem) AsError() *core.Error {
	return &core.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors, Hint: p.Hint, RetryAfter: core.Duration(p.RetryIn) * core.Duration(time.Second)}
}
