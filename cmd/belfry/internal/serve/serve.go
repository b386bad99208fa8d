// Package serve has the command serve.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Serve is the command serve.
func Serve(c *cli.CLI) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "serve", Aliases: []string{"server"}, Short: "Run a node: the API, the engine that fires schedules, and workers", Args: cobra.NoArgs,
		Long: `Run a node. Without flags it keeps its state in ./belfry.db, listens on
127.0.0.1:7420 and has every role. On PostgreSQL any number of nodes may run at
once.

The first start on this machine creates an admin token and writes it to
belfry.token beside the database, where the other commands find it. It prints a
link that signs a browser in once; later starts do so on a terminal.

Tasks of kind command run only with --allow-commands: users who may create tasks
may then run any program as the user of this node.`,
		Example: `  belfry serve --allow-commands
  belfry serve --allow-commands --apply definitions/
  belfry serve --database postgres://belfry@db.internal/belfry --roles api,engine
  belfry serve --listen :7420 --tls-cert cert.pem --tls-key key.pem`,
		RunE: c.Local(func(cmd *cobra.Command, l *config.Loaded) error { return serve(cmd.Context(), c, l, files) }),
	}
	c.ConfigFlags(cmd.Flags(), "node")
	cmd.Flags().StringArrayVar(&files, "apply", nil, "apply definitions from a file or folder once the node has started; may be repeated")
	return cmd
}

func serve(ctx context.Context, c *cli.CLI, l *config.Loaded, files []string) error {
	defs, err := firstDefinitions(c, l, files)
	if err != nil {
		return err
	}
	a, err := app.New(app.Options{Config: l.Config, Version: c.Version, Logger: c.Logger(l.Config)})
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		return err
	}
	if err := begin(ctx, c, a, l, defs); err != nil {
		return errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
	}
	return a.Wait(ctx)
}

// firstDefinitions reads the files before the node starts, so that a fault in
// them creates nothing.
func firstDefinitions(c *cli.CLI, l *config.Loaded, files []string) (config.Definitions, error) {
	if len(files) == 0 {
		return config.Definitions{}, nil
	}
	if l.Namespace == core.AnyNamespace {
		return config.Definitions{}, core.InvalidField("namespace", "*", "names no single owner for the definitions", "leave it out, or name one")
	}
	srcs, err := config.ReadSources(files, c.Stdin)
	if err != nil {
		return config.Definitions{}, err
	}
	return config.ParseManifest(srcs, l.Namespace)
}

// begin applies the definitions to the node that has started, and prints that it is ready.
func begin(ctx context.Context, c *cli.CLI, a *app.App, l *config.Loaded, defs config.Definitions) error {
	applied, err := apply(ctx, a.Store(), c.Logger(l.Config), defs, l.Namespace)
	if err != nil {
		return err
	}
	return ready(c, a, l, applied, hasNoTasks(ctx, a.Store(), l.Namespace))
}

// applyPatience is how long definitions wait for a database that is away in the moment after the start.
const applyPatience = time.Minute

type applier interface {
	Apply(ctx context.Context, m view.Manifest, o view.ApplyOptions) (view.Applied, error)
}

// apply applies the definitions, and tries again while the database is away: the node has started and would wait for it too.
func apply(ctx context.Context, to applier, log *slog.Logger, defs config.Definitions, namespace string) (view.Applied, error) {
	if defs.Count() == 0 {
		return view.Applied{}, nil
	}
	pause := patience.Backoff{First: 200 * time.Millisecond, Most: 5 * time.Second}
	for begun := time.Now(); ; {
		applied, err := to.Apply(access.WithActor(ctx, cli.LocalActor()), defs.Manifest, view.ApplyOptions{Namespace: namespace})
		if core.CodeOf(err) != core.Unavailable || ctx.Err() != nil || time.Since(begun) > applyPatience {
			return applied, defs.Locate(err)
		}
		log.Warn("definitions could not be applied, trying again", "error", err)
		pause.Sleep(ctx)
	}
}

type taskLister interface {
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
}

// hasNoTasks reports whether the namespace has no tasks yet. It chooses the example that is printed, so a database that is
// away in this moment does not end the node.
func hasNoTasks(ctx context.Context, of taskLister, namespace string) bool {
	tasks, err := of.Tasks(ctx, task.Filter{Paging: core.Paging{Limit: 2}, Namespace: namespace})
	// The worker of this node already runs, and may have created the canary task.
	own := func(t task.Task) bool { return t.Name == app.CanaryTask }
	return err == nil && len(slices.DeleteFunc(tasks.Items, own)) == 0
}

// ready prints that the node is ready, and the next commands.
func ready(c *cli.CLI, a *app.App, l *config.Loaded, applied view.Applied, empty bool) error {
	state := struct {
		URL       string   `json:"url,omitempty"`
		Database  string   `json:"database"`
		Roles     []string `json:"roles"`
		TokenFile string   `json:"token_file,omitempty"`
		Commands  bool     `json:"allow_commands"`
	}{a.URL(), config.Mask(l.Database), l.Roles, a.TokenFile(), l.AllowCommands}
	return c.Emit(state, func(w io.Writer) {
		plan := ""
		if len(applied.Changes) > 0 {
			plan = define.PlanSummary(applied)
		}
		docs, pages, link := "", "", ""
		if a.URL() != "" {
			docs = a.URL() + "/docs"
		}
		if a.HasConsole() {
			pages = a.URL() + "/"
		}
		// If stdout is not a terminal, it may be a log, which is kept and which others read. At the first start the link is shown in
		// any case: there is no data yet.
		if a.MadeToken() || cli.IsTerminal(w) {
			if address := a.SignInLink(); address != "" {
				link = fmt.Sprintf("%s (good once, for %s)", address, core.Duration(app.SignInLinkLife))
			}
		}
		fmt.Fprintf(w, "Belfry %s is ready.\n", c.Version)
		c.Pairs(w, "  web", pages, "  sign in", link, "  api", a.URL(), "  docs", docs, "  database", state.Database, "  roles", strings.Join(l.Roles, ", "),
			"  token", a.TokenFile(), "  commands", commands(l.Config), "  applied", plan)
		fmt.Fprintf(w, "Next, in another terminal: %s\n", next(a, l, empty))
	})
}

// commands returns a note whether tasks of kind command run on the node; "" if it runs no jobs.
func commands(c config.Config) string {
	switch {
	case !c.Has(config.RoleWorker):
		return ""
	case c.AllowCommands:
		return "allowed"
	}
	return "refused; --allow-commands lets tasks of kind command run here"
}

// next returns the next command to type, with the flags that it needs here.
func next(a *app.App, l *config.Loaded, empty bool) string {
	self := selfName()
	where := serverFlag(a.URL(), l)
	if path, err := app.TokenPath(config.Default()); err == nil && a.TokenFile() != "" && a.TokenFile() != path && !l.Given("token_file") {
		where += " --token-file " + a.TokenFile()
	}
	switch {
	case a.URL() == "":
		return self + " job list --watch --server URL-OF-A-NODE-WITH-THE-API"
	case !empty || !l.AllowCommands:
		return self + " job list --watch" + where
	}
	return self + " task create hello --shell 'echo hello'" + where + " && " + self + " schedule create hello --task hello --every 5s" + where
}

// serverFlag returns the flag that makes a client talk to the node at url; "" if a client with the same environment does so without.
func serverFlag(url string, l *config.Loaded) string {
	other := "http://127.0.0.1:7420"
	if l.Given("server") {
		other = l.ServerURL()
	}
	if url == "" || url == strings.TrimSuffix(other, "/") {
		return ""
	}
	return " --server " + url
}

// selfName returns the name under which this program was called. The program of go run
// is in a temporary folder that is deleted afterwards.
func selfName() string {
	if strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") {
		return "go run ./cmd/belfry"
	}
	return "belfry"
}
