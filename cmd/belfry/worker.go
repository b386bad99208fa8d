package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/worker"
)

func (c *cli) workerCmd() *cobra.Command {
	cmd := noun("worker", "Run a worker on this machine, or show who runs jobs", []string{"workers"}, c.workerList(), c.workerShow(), c.workerDrain(), c.workerInit(), c.workerMain())
	cmd.Long = `Run a worker on this machine, for a server elsewhere. It needs the server's URL
and a token with the scope worker, and no database credentials. Give each
machine a token of its own, for one namespace. With --join the machine gets it
by itself, the first time.`
	cmd.Example = `  belfry token create build-1 --scope worker --for builds > worker.token
  belfry worker --server https://belfry.example.com --token-file worker.token --allow-commands
  belfry worker list`
	var join string
	cmd.RunE = c.local(func(cmd *cobra.Command, l *config.Loaded) error { return c.remoteWorker(cmd.Context(), l, join) })
	c.configFlags(cmd.Flags(), "worker")
	cmd.Flags().StringVar(&join, "join", "", "join token, exchanged once for a token of this machine's that is kept in its state folder; @FILE reads it from a file; also BELFRY_JOIN")
	return cmd
}

func (c *cli) remoteWorker(ctx context.Context, l *config.Loaded, join string) error {
	w, err := c.workers(ctx, l, join)
	if err != nil {
		return err
	}
	w.Logger.Info("working", "server", l.ServerURL(), "commands", l.AllowCommands)
	return w.Run(ctx)
}

// workerClient is how a worker talks to its server.
func (c *cli) workerClient(l *config.Loaded) client.Options {
	return client.Options{CAFile: l.CAFile, UserAgent: "belfry-worker/" + c.version}
}

// workers are those of a machine that has a server elsewhere. It joins with a
// join token, if there is one and it has no token yet.
func (c *cli) workers(ctx context.Context, l *config.Loaded, join string) (*app.Workers, error) {
	token, err := c.workerToken(ctx, l, join)
	if err != nil {
		return nil, err
	}
	client, err := client.New(l.ServerURL(), token, c.workerClient(l))
	if err != nil {
		return nil, err
	}
	log := c.logger(l.Config)
	// A token that is wrong now will not get better. A server that is away may
	// come back, and the worker waits for it.
	switch _, err := client.Queues(ctx); core.CodeOf(err) {
	case core.Unauthorized, core.NotFound, core.Invalid:
		return nil, err
	case core.Unavailable:
		log.Warn("the server does not answer yet", "server", l.ServerURL(), "error", err)
	}
	handlers := &worker.Handlers{}
	app.RegisterCanary(handlers)
	w := &app.Workers{Broker: client, Queues: client, Config: l.Config, Handlers: handlers, Version: c.version, Logger: log, Server: l.ServerURL()}
	if l.Given("namespace") {
		w.Namespace = l.Namespace
	}
	return w, nil
}
