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
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/job"
)

// Options configures a [Client]. The zero value is ready to use.
type Options struct {
	CAFile      string        // PEM file of additional certificate authorities
	Timeout     time.Duration // of one ordinary call; default: 60s
	MaxResponse int64         // largest answer in bytes; default: 256 MiB
	UserAgent   string        // default: belfry
	RetryWait   time.Duration // before the first repetition of a call, doubled before the next; default: 100ms
	StreamIdle  time.Duration // silence after which a stream is reopened; default: 45s
	Apart       bool          // sends each Enqueue in a separate request; default: concurrent calls share requests

	// Transport carries the calls instead of the network: see
	// [httpapi.Server.Transport]. It must be safe for concurrent use.
	Transport http.RoundTripper
}

// Client is a [httpapi.Service] that calls a server over HTTP. It embeds one type
// for each group of calls: client.CreateTask is documented at [TaskCalls].
//
// Calls that can be repeated without harm (reads, renewals, finishes, logs, and
// enqueues with keys) are repeated up to twice if the server cannot be reached.
// Errors are [core.Error] with the code of the server. If the server cannot be
// reached, the code is [core.Unavailable]. If the answer to a change was lost, it
// is [core.Unknown]: the server may have made the change.
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
	// claimMargin is how long a claim may exceed its wait. It must stay below
	// job.ClaimSettled.
	claimMargin = 10 * time.Second
	// renewTimeout is the timeout of one try. Three tries with their pauses fit
	// into the default session TTL and leave time to stop attempts.
	renewTimeout = 4 * time.Second
	tries        = 3
)

// New returns a client for the server at base, such as https://belfry.example.com
// or http://127.0.0.1:8350/some/prefix. It does not call the server.
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
	roots, err := signed.Authorities(o.CAFile)
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
	for _, calls := range []*gather.Calls{&s.keyed, &s.unkeyed} {
		calls.Most, calls.Rallies, calls.Detached, calls.Beside, calls.Patience = sharedInput, true, true, shareBeside, sharePatience
	}
	return &Client{s, TaskCalls{s}, ScheduleCalls{s}, CycleCalls{s}, WorkflowCalls{s}, JobCalls{s}, WorkerCalls{s}, MonitorCalls{s}, AnnouncementCalls{s}, AlertCalls{s}, HookCalls{s}, AccessCalls{s}, ViewCalls{s}}, nil
}

// Server returns the address of the server.
func (c *Client) Server() string { return c.server.base }

// CloseIdleConnections closes unused connections.
func (c *Client) CloseIdleConnections() { c.server.closeIdleConnections() }
