// Package operate has the commands doctor, check-history, broker, config,
// migrate, version and completion. Each noun has a file, and each verb a
// function. They talk to the server through package cli, which also prints
// tables and JSON, and know no other package of commands.
package operate

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

// Config is the command config.
func Config(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show the configuration and where each value comes from", Args: cobra.NoArgs,
		Long: `Show every value of the configuration and where it comes from. Secrets are
hidden. A key has one name everywhere: session_ttl in the file is
BELFRY_SESSION_TTL in the environment and --session-ttl on the command line. A
flag counts before the environment, the environment before the file, the file
before the default.`,
		RunE: c.Local(func(_ *cobra.Command, l *config.Loaded) error {
			strangers(c)
			return drawConfig(c, l)
		}),
	}
	for _, group := range []string{"node", "worker"} {
		c.ConfigFlags(cmd.Flags(), group)
	}
	return cmd
}

// strangers warns about unknown BELFRY_ variables that are probably mistyped.
// Others are ignored: a worker sets some for its commands, and so do container
// platforms.
func strangers(c *cli.CLI) {
	known := []string{"BELFRY_CONFIG"}
	for _, k := range config.Keys() {
		known = append(known, k.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if !strings.HasPrefix(name, "BELFRY_") || slices.Contains(known, name) {
			continue
		}
		if s := config.Suggest(strings.TrimPrefix(name, "BELFRY_"), trimmed(known)); s != "" {
			fmt.Fprintf(c.Stderr, "note: %s is not read; did you mean BELFRY_%s?\n", name, s)
		}
	}
}

func trimmed(names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strings.TrimPrefix(n, "BELFRY_")
	}
	return list
}

func drawConfig(c *cli.CLI, l *config.Loaded) error {
	type entry struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Source string `json:"source"`
		Env    string `json:"env"`
		Flag   string `json:"flag"`
	}
	var list []entry
	for _, k := range config.Keys() {
		list = append(list, entry{k.Name, k.Text(l.Config), l.Source(k.Name), k.Env, "--" + k.Flag})
	}
	return c.Emit(struct {
		File  string  `json:"file,omitempty"`
		Items []entry `json:"items"`
	}{l.File, list}, func(w io.Writer) {
		g := c.Grid("KEY", "VALUE", "SOURCE")
		for _, e := range list {
			g.Row(e.Key, cmp.Or(e.Value, "-"), e.Source)
		}
		g.Write(w)
	})
}

// Migrate is the command migrate.
func Migrate(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the schema of the database up to date", Args: cobra.NoArgs,
		Long: `Bring the schema of the database up to date. A node does so itself when it
starts; this is for doing it before. Schemas go forward only: make a backup
first.`,
		RunE: c.Local(func(cmd *cobra.Command, l *config.Loaded) error {
			from, to, err := app.Migrate(cmd.Context(), l.Config)
			if err != nil {
				return err
			}
			return c.Emit(map[string]any{"database": config.Mask(l.Database), "from": from, "to": to}, func(w io.Writer) {
				if from == to {
					fmt.Fprintf(w, "%s is at schema version %d already\n", config.Mask(l.Database), to)
					return
				}
				fmt.Fprintf(w, "%s migrated from schema version %d to %d\n", config.Mask(l.Database), from, to)
			})
		}),
	}
	return cmd
}

// Version is the command version.
func Version(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := c.CheckOutput(); err != nil {
				return err
			}
			return c.Emit(map[string]string{"version": c.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "time_zones": cron.ZoneVersion()},
				func(w io.Writer) {
					fmt.Fprintf(w, "belfry %s, %s, %s/%s, time zones %s\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, cron.ZoneVersion())
				})
		},
	}
}

// Completion is the command completion.
func Completion(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "Write a completion script for bash, zsh, fish or powershell", Args: cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Long: `Write a completion script. For example:

  source <(belfry completion bash)
  belfry completion zsh > "${fpath[1]}/_belfry"
  belfry completion fish > ~/.config/fish/completions/belfry.fish`,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(c.Stdout)
			case "fish":
				return root.GenFishCompletion(c.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(c.Stdout)
			}
			return core.InvalidField("SHELL", args[0], "is not a shell that is known", "bash, zsh, fish or powershell")
		},
	}
}
