package app

import (
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/worker"
)

// Options configure a node. The zero value is a node with all roles, with
// belfry.db in the current directory, on 127.0.0.1:7420.
type Options struct {
	config.Config

	// Handlers are the Go functions for jobs of kind func. The handler of the
	// canary is added.
	Handlers *worker.Handlers
	// Version is shown in the console and by the API.
	Version string
	// Logger gets log lines for the operator. Default: discarded.
	Logger *slog.Logger
	// Registry gets the metrics; /metrics shows all metrics in it.
	// Default: a new registry with the metrics of Go and of the process.
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
