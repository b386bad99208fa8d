// Package probe runs network checks: HTTP, TCP, DNS, TLS, ping, gRPC and
// WebSocket. A check contacts a target once, and returns a [task.CheckResult].
// For other jobs, a result that is not good is a failed attempt.
//
// Every connection goes through the guarded dialer, also after redirects. All
// denied addresses have the same error, so that a check cannot scan ports. A
// check dials one address of its target, because a target of which only some
// addresses work must not count as up. (A job of kind http that is not a check
// tries all addresses.)
//
// One deadline limits the whole exchange, from name resolution to the last byte
// of the body, also for a server that sends one byte a minute. A body is read up
// to the task's limit, counted after decompression. Header values, query values
// and passwords of URLs do not appear in logs, errors, outputs and snapshots.
//
// A fault of the worker, or an unclear one, has the outcome error and says
// nothing about the target: a denied address, invalid settings, a machine
// without a network, a check that waited too long for its turn. The machine
// counts as cut off if its system reports an unreachable network; a timeout
// counts as the target's.
//
// A latency is the target's. It excludes the time that a check waits for its
// turn at a host, see [Options], and a slot for its handshake: these use much
// CPU, and concurrent ones would delay each other.
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
	// Guard sets the allowed addresses.
	Guard guard.Options
	// Version is the version in the User-Agent. Default: "dev".
	Version string
	// PerHost is the number of concurrent checks of one host and port; more wait
	// for their turn. Default: 4.
	PerHost int
	// ResolvConf is the file with the servers for kind dns if a task names none.
	// Default: /etc/resolv.conf.
	ResolvConf string
	// Registries are the servers for kind domain if a task names none.
	Registries Registries
}

// DefaultPerHost is the default number of concurrent checks of one host and port.
const DefaultPerHost = reach.DefaultPerHost

// Executor implements [worker.Executor] for the kinds of [Executor.Kinds].
type Executor struct {
	net        *reach.Net
	resolvConf string
	patterns   cache.Map[string, *pattern]
	registries *registries
}

// New returns an executor.
func New(o Options) *Executor {
	if o.ResolvConf == "" {
		o.ResolvConf = "/etc/resolv.conf"
	}
	return &Executor{net: reach.New(reach.Options{Guard: o.Guard, Version: o.Version, PerHost: o.PerHost}), resolvConf: o.ResolvConf, registries: newRegistries(o)}
}

// Close closes idle connections.
func (e *Executor) Close() {
	e.net.Close()
	e.registries.client.CloseIdleConnections()
}

// Kinds returns the executor for each kind that it runs.
func (e *Executor) Kinds() map[task.Kind]worker.Executor {
	all := map[task.Kind]worker.Executor{}
	for kind := range kinds {
		all[kind] = e
	}
	return all
}
