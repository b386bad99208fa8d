// Package probe runs network checks: HTTP, TCP, DNS, TLS, ping, gRPC and
// WebSocket. A check looks once at a target and says what it saw, as a
// [task.CheckResult]; as a job, a result that is not good is a failed attempt.
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
// A fault of our own, or one that cannot be decided, is an outcome of error and says
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
	"github.com/belfry-run/belfry/app/worker/internal/cache"
	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
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
	// Registries say whom kind domain asks when a task names no server.
	Registries Registries
}

// DefaultPerHost is how many checks look at one host and port at once.
const DefaultPerHost = reach.DefaultPerHost

// Executor implements [worker.Executor] for the kinds of [Executor.Kinds].
type Executor struct {
	net        *reach.Net
	resolvConf string
	patterns   cache.Map[string, *pattern]
	registries *registries
}

// New makes an executor.
func New(o Options) *Executor {
	if o.ResolvConf == "" {
		o.ResolvConf = "/etc/resolv.conf"
	}
	return &Executor{net: reach.New(reach.Options{Guard: o.Guard, Version: o.Version, PerHost: o.PerHost}), resolvConf: o.ResolvConf, registries: newRegistries(o)}
}

// Close lets idle connections go.
func (e *Executor) Close() {
	e.net.Close()
	e.registries.client.CloseIdleConnections()
}

// Kinds is what the executor runs.
func (e *Executor) Kinds() map[task.Kind]worker.Executor {
	all := map[task.Kind]worker.Executor{}
	for kind := range kinds {
		all[kind] = e
	}
	return all
}
