package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Statuses is the one place where codes and HTTP statuses meet. The first row
// of a code is what the server answers with. The others are statuses that HTTP
// itself gives (this server's router and guards, a proxy in front of it), so
// that the client knows them too.
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

	// Behind the other row of its status, because a 429 that says nothing more is of neither a quota nor a queue.
	{core.OverQuota, http.StatusTooManyRequests, "Too many requests"},
	{core.QueueFull, http.StatusTooManyRequests, "Queue full"},
}

// StatusOf is the status that a code is answered with.
func StatusOf(code core.Code) int {
	for _, row := range Statuses {
		if row.Code == code {
			return row.Status
		}
	}
	return http.StatusInternalServerError
}

// Answered is the status that an error came with, as its cause.
type Answered int

func (a Answered) Error() string { return "the server answered " + strconv.Itoa(int(a)) }

// CodeOf is what a status means when nothing but the status is known.
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

const ProblemType = "application/problem+json"

// Problem is an error as the API answers it (RFC 9457).
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

	OfToken bool `json:"-"` // the caller's token is what is wrong
}

// GetStatus and ContentType are how huma writes it.
func (p *Problem) GetStatus() int { return p.Status }

func (p *Problem) ContentType(string) string { return ProblemType }

func (p *Problem) Error() string { return p.AsError().Error() }

// A 401 must carry a challenge. The one of the guard means the token; any
// other means that the thing asked about is over, such as a worker's session.
const (
	TokenChallenge = `Bearer realm="belfry"`
	otherChallenge = `Bearer realm="belfry session"`
)

// GetHeaders is what an error says in headers. Huma asks for it too.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", otherChallenge)
		if p.OfToken {
			h.Set("WWW-Authenticate", TokenChallenge)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(max(p.RetryIn, 1), 10))
	}
	return h
}

// asError is the error again that the problem was made of.
func (p *Problem) AsError() *core.Error {
	return &core.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors, Hint: p.Hint, RetryAfter: core.Duration(p.RetryIn) * core.Duration(time.Second)}
}
