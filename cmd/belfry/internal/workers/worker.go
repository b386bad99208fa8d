// Package workers has the command worker. Each noun has a file, and each verb a
// function. They talk to the server through package cli, which also prints
// tables and JSON, and know no other package of commands.
package workers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/worker"
)

// Worker is the command worker.
func Worker(c *cli.CLI) *cobra.Command {
	cmd := cli.Noun("worker", "Run a worker on this machine, or show who runs jobs", []string{"workers"}, workerList(c), workerShow(c), workerDrain(c), workerInit(c), workerMain(c))
	cmd.Long = `Run a worker on this machine, for a server elsewhere. It needs the server's URL
and a token with the scope worker, and no database credentials. Give each
machine a token of its own, for one namespace. With --join the machine gets it
by itself, the first time.`
	cmd.Example = `  belfry token create build-1 --scope worker --for builds > worker.token
  belfry worker --server https://belfry.example.com --token-file worker.token --allow-commands
  belfry worker list`
	var join string
	cmd.RunE = c.Local(func(cmd *cobra.Command, l *config.Loaded) error { return remoteWorker(cmd.Context(), c, l, join) })
	c.ConfigFlags(cmd.Flags(), "worker")
	cmd.Flags().StringVar(&join, "join", "", "join token, exchanged once for a token of this machine's that is kept in its state folder; @FILE reads it from a file; also BELFRY_JOIN")
	return cmd
}

func remoteWorker(ctx context.Context, c *cli.CLI, l *config.Loaded, join string) error {
	w, err := workers(ctx, c, l, join)
	if err != nil {
		return err
	}
	w.Logger.Info("worker starts", "server", l.ServerURL(), "commands", l.AllowCommands)
	return w.Run(ctx)
}

// workerClient returns the client options of a worker for its server.
func workerClient(c *cli.CLI, l *config.Loaded) client.Options {
	return client.Options{CAFile: l.CAFile, UserAgent: "belfry-worker/" + c.Version}
}

// workers returns the workers of a machine with a remote server. Without a token,
// the machine joins with its join token.
func workers(ctx context.Context, c *cli.CLI, l *config.Loaded, join string) (*app.Workers, error) {
	token, err := workerToken(ctx, c, l, join)
	if err != nil {
		return nil, err
	}
	client, err := client.New(l.ServerURL(), token, workerClient(c, l))
	if err != nil {
		return nil, err
	}
	log := c.Logger(l.Config)
	// A refused token is a permanent error. An unreachable server may come back, so
	// the worker waits for it.
	switch _, err := client.Queues(ctx); core.CodeOf(err) {
	case core.Unauthorized, core.NotFound, core.Invalid:
		return nil, err
	case core.Unavailable:
		log.Warn("the server does not answer yet", "server", l.ServerURL(), "error", err)
	}
	handlers := &worker.Handlers{}
	app.RegisterCanary(handlers)
	w := &app.Workers{Leaser: client, Queues: client, Config: l.Config, Handlers: handlers, Version: c.Version, Logger: log, Server: l.ServerURL()}
	if l.Given("namespace") {
		w.Namespace = l.Namespace
	}
	return w, nil
}
