package client

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	bounded "github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/internal/gather"
	"github.com/belfry-run/belfry/job"
)

// Options says how a [Client] talks. The zero value works.
type Options struct {
	CAFile      string        // PEM file of authorities to trust besides the system's
	Timeout     time.Duration // for one ordinary call; default: 60s
	MaxResponse int64         // bytes of one answer; default: 256 MiB
	UserAgent   string        // default: belfry
	RetryWait   time.Duration // before the first repetition of a call, and doubled before the next; default: 100ms
	StreamIdle  time.Duration // a stream that is silent for so long is taken up anew; default: 45s
	Apart       bool          // each Enqueue is a request of its own, rather than one with those that are made meanwhile

	// Transport carries the calls instead of the network, see
	// [httpapi.Server.Transport]. It must be good for many at a time.
	Transport http.RoundTripper
}

// Client is a [httpapi.Service] at the other end of a network. It embeds one type
// for each group of nouns, whose methods are its own: client.CreateTask is
// documented at [TaskCalls].
//
// Calls that may be repeated without harm (reads, renewals, finishes, logs,
// and enqueueing under keys) are repeated up to twice when the server cannot
// be reached. Errors are [core.Error] with the server's code; what keeps the
// client from reaching it is [core.Unavailable]. A change whose answer was lost
// is [core.Unknown]: the server may have made it.
type Client struct {
	server *server

	TaskCalls
	ScheduleCalls
	CycleCalls
	WorkflowCalls
	JobCalls
	WorkerCalls
	MonitorCalls
	AnnouncementCalls
	AlertCalls
	HookCalls
	AccessCalls
	ViewCalls
}

var _ job.Leaser = WorkerCalls{}

const (
	// claimMargin is how long a claim may take beyond its wait. It must stay
	// below job.ClaimSettled.
	claimMargin = 10 * time.Second
	// renewTimeout is for one try. Three of them and the pauses between fit
	// into the default session TTL with room to stop what runs.
	renewTimeout = 4 * time.Second
	tries        = 3
)

// New makes a client for the server at base, such as
// https://belfry.example.com or http://127.0.0.1:8350/some/prefix. It does not
// call it yet.
func New(base, token string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, core.InvalidField("server", base, "is not an address of a server", "write http://127.0.0.1:8350 or https://host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, core.InvalidField("server", u.Redacted(), "has a user, query or fragment", "the token is given apart from the address")
	}
	if strings.ContainsAny(token, "\r\n\x00") {
		return nil, core.InvalidField("token", "", "has line breaks in it", "does its file hold more than the token?")
	}
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxResponse = cmp.Or(o.MaxResponse, 256<<20)
	o.UserAgent = cmp.Or(o.UserAgent, "belfry")
	o.RetryWait = cmp.Or(o.RetryWait, 100*time.Millisecond)
	o.StreamIdle = cmp.Or(o.StreamIdle, 45*time.Second)
	roots, err := authorities(o.CAFile)
	if err != nil {
		return nil, err
	}
	calls, renews := o.Transport, o.Transport
	if o.Transport == nil {
		calls, renews = newTransport(roots), newTransport(roots)
	}
	s := &server{
		base: strings.TrimRight(u.String(), "/"), token: token, opts: o,
		calls:  &http.Client{Transport: bounded.Transport{RoundTripper: calls}, CheckRedirect: refuseRedirect},
		renews: &http.Client{Transport: bounded.Transport{RoundTripper: renews}, CheckRedirect: refuseRedirect},
		keyed:  gather.New(true), unkeyed: gather.New(true),
	}
	s.keyed.Most, s.unkeyed.Most = sharedInput, sharedInput
	s.keyed.Rallies, s.unkeyed.Rallies = true, true
	return &Client{s, TaskCalls{s}, ScheduleCalls{s}, CycleCalls{s}, WorkflowCalls{s}, JobCalls{s}, WorkerCalls{s}, MonitorCalls{s}, AnnouncementCalls{s}, AlertCalls{s}, HookCalls{s}, AccessCalls{s}, ViewCalls{s}}, nil
}

// Server is the address that the client talks to.
func (c *Client) Server() string { return c.server.base }

// CloseIdleConnections gives back connections that no call uses.
func (c *Client) CloseIdleConnections() { c.server.closeIdleConnections() }
