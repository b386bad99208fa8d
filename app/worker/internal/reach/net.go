// Package reach is how a look at a target goes out: the way there, how long
// each part of it took, and whose fault it is when it does not arrive. The purpose
// of the look, and the meaning of an answer, are decided elsewhere.
//
// A [Net] is what looks share: the guarded dialer, connections that are kept,
// and whose turn it is. A [Look] is one look; it has trips, a [Trip] for each
// connection, and ends in a [task.CheckResult] with a [Fault] or without. Over
// HTTP a look fetches one document, hop by hop, with [Look.Fetch].
package reach

import (
	"crypto/x509"
	"net"
	"net/http"
	"runtime"

	"github.com/belfry-run/belfry/app/worker/internal/cache"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/monitor"
)

// Options of a net. The zero value reaches the public internet only.
type Options struct {
	// Guard says what may be reached.
	Guard guard.Options
	// Version is what the User-Agent says. Default: "dev".
	Version string
	// PerHost is how many looks are at one host and port at once; more wait
	// for their turn. Default: [DefaultPerHost].
	PerHost int
	// Roots are the authorities that a task trusts when it names none.
	// Default: the system's.
	Roots *x509.CertPool
}

// DefaultPerHost is how many looks are at one host and port at once.
const DefaultPerHost = 4

// Net is what the looks of one executor share.
type Net struct {
	agent    string
	guard    guard.Options
	roots    *x509.CertPool
	dialer   *guard.Dialer // for checks: no time limit of its own
	racing   *guard.Dialer // for jobs
	resolver *net.Resolver

	transports cache.Map[Route, *http.Transport]
	trusts     cache.Map[string, *trust]
	hosts      hosts
	shakes     gate
	pulse      pulse
}

// New makes a net.
func New(o Options) *Net {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.PerHost <= 0 {
		o.PerHost = DefaultPerHost
	}
	n := &Net{agent: "Belfry/" + o.Version, guard: o.Guard, roots: o.Roots, racing: guard.NewDialer(o.Guard), resolver: o.Guard.Resolver}
	if n.resolver == nil {
		n.resolver = net.DefaultResolver
	}
	if o.Guard.ConnectTimeout <= 0 {
		o.Guard.ConnectTimeout = monitor.MaxCheckTimeout.D()
	}
	n.dialer = guard.NewDialer(o.Guard)
	n.transports.Evicted = func(t *http.Transport) { t.CloseIdleConnections() }
	n.hosts.limit = o.PerHost
	n.shakes = make(gate, 4*runtime.GOMAXPROCS(0))
	return n
}

// Agent is how looks call themselves.
func (n *Net) Agent() string { return n.agent }

// Close lets idle connections go.
func (n *Net) Close() { n.transports.Clear() }
