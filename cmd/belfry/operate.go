package main

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
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
)

func (c *cli) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show the configuration and where each value comes from", Args: cobra.NoArgs,
		Long: `Show every value of the configuration and where it comes from. Secrets are
hidden. A key has one name everywhere: session_ttl in the file is
BELFRY_SESSION_TTL in the environment and --session-ttl on the command line. A
flag counts before the environment, the environment before the file, the file
before the default.`,
		RunE: c.local(func(_ *cobra.Command, l *config.Loaded) error {
			c.strangers()
			return c.drawConfig(l)
		}),
	}
	for _, group := range []string{"node", "worker"} {
		c.configFlags(cmd.Flags(), group)
	}
	return cmd
}

// strangers names variables that look like ours and are not, when they are
// probably a slip of the pen. Others are none of our business: a worker sets
// some for the commands it runs, and so do container platforms.
func (c *cli) strangers() {
	known := []string{"BELFRY_CONFIG"}
	for _, k := range config.Keys() {
		known = append(known, k.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		if !strings.HasPrefix(name, "BELFRY_") || slices.Contains(known, name) {
			continue
		}
		if s := config.Suggest(strings.TrimPrefix(name, "BELFRY_"), trimmed(known)); s != "" {
			fmt.Fprintf(c.stderr, "note: %s is not read; did you mean BELFRY_%s?\n", name, s)
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

func (c *cli) drawConfig(l *config.Loaded) error {
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
	return c.emit(struct {
		File  string  `json:"file,omitempty"`
		Items []entry `json:"items"`
	}{l.File, list}, func(w io.Writer) {
		g := c.grid("KEY", "VALUE", "SOURCE")
		for _, e := range list {
			g.row(e.Key, cmp.Or(e.Value, "-"), e.Source)
		}
		g.write(w)
	})
}

func (c *cli) migrateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the schema of the database up to date", Args: cobra.NoArgs,
		Long: `Bring the schema of the database up to date. A node does so itself when it
starts; this is for doing it before. Schemas go forward only: make a backup
first.`,
		RunE: c.local(func(cmd *cobra.Command, l *config.Loaded) error {
			from, to, err := app.Migrate(cmd.Context(), l.Config)
			if err != nil {
				return err
			}
			return c.emit(map[string]any{"database": config.Mask(l.Database), "from": from, "to": to}, func(w io.Writer) {
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

func (c *cli) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := c.checkOutput(); err != nil {
				return err
			}
			return c.emit(map[string]string{"version": c.version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "time_zones": cron.ZoneVersion()},
				func(w io.Writer) {
					fmt.Fprintf(w, "belfry %s, %s, %s/%s, time zones %s\n", c.version, runtime.Version(), runtime.GOOS, runtime.GOARCH, cron.ZoneVersion())
				})
		},
	}
}

func (c *cli) completionCmd() *cobra.Command {
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
				return root.GenBashCompletionV2(c.stdout, true)
			case "zsh":
				return root.GenZshCompletion(c.stdout)
			case "fish":
				return root.GenFishCompletion(c.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(c.stdout)
			}
			return core.InvalidField("SHELL", args[0], "is not a shell that is known", "bash, zsh, fish or powershell")
		},
	}
}
