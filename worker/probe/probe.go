// Package probe runs network checks: HTTP, TCP, DNS, TLS, ping, gRPC and
// WebSocket. A check looks once at a target and says what it saw, as a
// [belfry.Measure]; as a job, a measure that is not good is a failed attempt.
//
// Every connection goes through the guarded dialer, those of redirects too, and
// all denied addresses read the same, so that a check is no port scanner. A
// check dials one address of its target and races none, because half up must
// not read as up. (A job of kind http that is no check wants its request done,
// and does try all addresses.)
//
// The whole exchange, from the name's resolution to the last byte of the body,
// has one deadline; a server that drips one byte a minute does not outlast it.
// A body is read up to the task's cap, counted after decompression. Header
// values, query values and passwords of URLs do not appear in logs, errors,
// outputs and snapshots.
//
// What is our own fault, or cannot be decided, is an outcome of error and says
// nothing of the target: a denied address, settings that mean nothing, a
// machine without a network, a check that waited for its turn for too long.
// The machine counts as cut off when its own system says that the network is
// unreachable; a silence may be the target's and is held for that.
//
// A latency is the target's. It leaves out the time that a check waits for its
// turn at a host, see [Options], or at the gate for handshakes: these take a
// CPU for a good while, and many at once would measure one another.
package probe

import (
	"context"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/probe/internal/cache"
)

// Options of an executor. The zero value reaches the public internet only.
type Options struct {
	// Guard says what may be reached.
	Guard guard.Options
	// Version is what the User-Agent says. Default: "dev".
	Version string
	// PerHost is how many checks look at one host and port at once; more wait
	// for their turn. Default: 4.
	PerHost int
	// ResolvConf names the servers that kind dns asks when a task names none.
	// Default: /etc/resolv.conf.
	ResolvConf string
}

// DefaultPerHost is how many checks look at one host and port at once.
const DefaultPerHost = 4

// Executor implements [worker.Executor] for the kinds of [Executor.Kinds].
type Executor struct {
	options  Options
	agent    string
	dialer   *guard.Dialer // for checks: no time limit of its own
	racing   *guard.Dialer // for jobs
	resolver *net.Resolver

	transports cache.Map[route, *http.Transport]
	trusts     cache.Map[string, *trust]
	patterns   cache.Map[string, *pattern]
	hosts      hosts
	shakes     gate
	pulse      pulse
}

// New makes an executor.
func New(o Options) *Executor {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.PerHost <= 0 {
		o.PerHost = DefaultPerHost
	}
	if o.ResolvConf == "" {
		o.ResolvConf = "/etc/resolv.conf"
	}
	e := &Executor{options: o, agent: "Belfry/" + o.Version, racing: guard.NewDialer(o.Guard), resolver: o.Guard.Resolver}
	if e.resolver == nil {
		e.resolver = net.DefaultResolver
	}
	if o.Guard.ConnectTimeout <= 0 {
		o.Guard.ConnectTimeout = belfry.MaxCheckTimeout.D()
	}
	e.dialer = guard.NewDialer(o.Guard)
	e.transports.Evicted = func(t *http.Transport) { t.CloseIdleConnections() }
	e.hosts.limit = o.PerHost
	e.shakes = make(gate, 4*runtime.GOMAXPROCS(0))
	return e
}

// Close lets idle connections go.
func (e *Executor) Close() { e.transports.Clear() }

// looks are the kinds and how each is looked at.
var looks = map[belfry.Kind]func(*look, context.Context) *fault{
	belfry.KindHTTP:      (*look).http,
	belfry.KindTCP:       (*look).tcp,
	belfry.KindDNS:       (*look).dns,
	belfry.KindTLS:       (*look).tls,
	belfry.KindPing:      (*look).ping,
	belfry.KindGRPC:      (*look).grpc,
	belfry.KindWebSocket: (*look).websocket,
}

// Kinds is what the executor runs.
func (e *Executor) Kinds() map[belfry.Kind]worker.Executor {
	kinds := map[belfry.Kind]worker.Executor{}
	for _, kind := range slices.Collect(maps.Keys(looks)) {
		kinds[kind] = e
	}
	return kinds
}

// Measure looks once at the target of a task. There need be no job: it is also
// what a dry run does. The context's deadline is the check's; without one the
// task's timeout is, or else [belfry.DefaultCheckTimeout].
func (e *Executor) Measure(ctx context.Context, t belfry.Task) belfry.Measure {
	given := t.Timeout
	t = t.WithDefaults()
	if _, bounded := ctx.Deadline(); !bounded {
		limit := belfry.DefaultCheckTimeout
		if given > 0 {
			limit = min(given, belfry.MaxCheckTimeout)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit.D(), worker.ErrTimeout)
		defer cancel()
	}
	return e.measure(ctx, newLook(e, t, time.Now()))
}
