package app

import (
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/worker"
)

// Options says what a node is. The zero value is a node with every role on
// belfry.db in the current directory and on 127.0.0.1:7420.
type Options struct {
	config.Config

	// Handlers are the Go functions that jobs of kind func run here. The
	// canary is added to them.
	Handlers *worker.Handlers
	// Version is shown to people and told by the API.
	Version string
	// Logger gets what an operator wants to know. Default: discarded.
	Logger *slog.Logger
	// Registry gets the metrics, and /metrics shows what is in it.
	// Default: one of its own, with those of Go and of the process.
	Registry *prometheus.Registry
}

func (o Options) withDefaults() Options {
	o.Config = o.Config.WithDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Handlers == nil {
		o.Handlers = &worker.Handlers{}
	}
	if !slices.Contains(o.Handlers.Names(), CanaryTask) {
		RegisterCanary(o.Handlers)
	}
	if o.Registry == nil {
		o.Registry = newRegistry()
	}
	return o
}
