// Package reach connects checks to their targets. It measures how long each part
// takes, and decides whether a failure is a fault of the target or of this
// machine. Other packages evaluate the answers.
//
// A [Check] is one check of a target. [Net] is shared by checks: the guarded dialer,
// kept connections, and turns at hosts. A [Look] has a [Trip] for each
// connection, and ends in a [task.CheckResult], with or without a [Fault]. Over
// HTTP a check fetches one document, hop by hop, with [Check.Fetch].
package reach

import (
	"crypto/x509"
	"net"
	"runtime"

	"github.com/belfry-run/belfry/app/internal/clock"
	"github.com/belfry-run/belfry/app/worker/internal/cache"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/monitor"
)

// Options of a net. The zero value reaches the public internet only.
type Options struct {
	// Guard sets the allowed addresses.
	Guard guard.Options
	// Version is the version in the User-Agent. Default: "dev".
	Version string
	// PerHost is the number of concurrent checks at one host and port; more wait
	// for their turn. Default: [DefaultPerHost].
	PerHost int
	// Roots are the authorities that a task trusts if it names none.
	// Default: the system's.
	Roots *x509.CertPool
}

// DefaultPerHost is the default number of concurrent checks at one host and port.
const DefaultPerHost = 4

// Net is shared by the checks of one executor.
type Net struct {
	agent    string
	guard    guard.Options
	roots    *x509.CertPool
	dialer   *guard.Dialer // for checks: no time limit of its own
	racing   *guard.Dialer // for jobs
	resolver *net.Resolver

	transports cache.Map[Route, *keptTransport]
	trusts     cache.Map[string, *trust]
	hosts      hostLimiter
	clock      clock.Clock
	shakes     semaphore
	pulse      starvation
}

// New returns a Net.
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
	n.transports.Evicted = (*keptTransport).end
	n.hosts.limit = o.PerHost
	n.shakes = make(semaphore, 4*runtime.GOMAXPROCS(0))
	return n
}

// Agent returns the User-Agent of checks.
func (n *Net) Agent() string { return n.agent }

// Close closes idle connections.
func (n *Net) Close() { n.transports.Clear() }
