package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/termtext"
)

// cli is one command line under way.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	bars           io.Writer // stderr as it is, for drawings of our own
	env            map[string]string

	configFile string
	output     string
	texts      map[string]*string // values of configuration flags, by key name
	began      bool               // the command line was understood
	stdinTaken bool               // a secret was read from there
	loaded     *config.Loaded
	tokenFile  string // that the token was taken from, though nobody named it
	version    string // what this program calls itself
}

func newCLI(stdin io.Reader, stdout, stderr io.Writer, env []string) *cli {
	c := &cli{stdin: stdin, stdout: forTerminal(stdout), stderr: forTerminal(stderr), bars: stderr, env: map[string]string{}, texts: map[string]*string{}, output: "table"}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		c.env[name] = value
	}
	return c
}

// attach prepares the root of all commands: its streams, and the flags that every
// command has.
func (c *cli) attach(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { c.began = true }
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	f := root.PersistentFlags()
	f.StringVar(&c.configFile, "config", "", "configuration file; default: ./"+config.DefaultFile+" if there is one")
	f.StringVarP(&c.output, "output", "o", "table", "table, json or yaml")
	c.configFlags(f, "client")
}

// run carries out one command line, says what went wrong, and answers its exit
// code.
func (c *cli) run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !c.began {
		err = c.usage(root, args, err)
	}
	report(c.stderr, c.nameToken(err), c.colorOn(c.stderr))
	return exitCode(err)
}

// configFlags adds the flags of the keys that concern a group.
func (c *cli) configFlags(f *pflag.FlagSet, group string) {
	if group != "client" {
		alias(f, "label", "labels")
	}
	for _, k := range config.Keys() {
		if !slices.Contains(k.Groups, group) || c.texts[k.Name] != nil && f.Lookup(k.Flag) != nil {
			continue
		}
		text := c.texts[k.Name]
		if text == nil {
			text = new(string)
			c.texts[k.Name] = text
		}
		v := &configValue{text: text}
		doc := k.Doc
		if k.Default != "" && !k.Bool {
			doc += "; default: " + k.Default
		}
		flag := f.VarPF(v, k.Flag, "", lowerFirst(doc))
		if k.Bool {
			flag.NoOptDefVal = "true"
		}
	}
}

// alias lets a flag be written by another name, too.
func alias(f *pflag.FlagSet, other, name string) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// configValue is a flag whose text is read by package config, together with
// the file and the environment.
type configValue struct {
	text *string
	set  bool
}

func (v *configValue) String() string { return "" }
func (v *configValue) Type() string   { return "value" }
func (v *configValue) Set(s string) error {
	if v.set {
		s = *v.text + "," + s // --queues a=1 --queues b=2
	}
	*v.text, v.set = s, true
	return nil
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// config loads the configuration for a command, once.
func (c *cli) config(cmd *cobra.Command) (*config.Loaded, error) {
	if c.loaded != nil {
		return c.loaded, nil
	}
	flags := map[string]string{}
	for _, k := range config.Keys() {
		if f := cmd.Flags().Lookup(k.Flag); f != nil && f.Changed {
			if v, ok := f.Value.(*configValue); ok {
				flags[k.Name] = *v.text
			}
		}
	}
	l, err := config.Load(config.Input{File: c.configFile, Env: c.getenv, Flags: flags})
	if err != nil {
		return nil, err
	}
	c.loaded = &l
	return c.loaded, nil
}

func (c *cli) getenv(name string) string { return c.env[name] }

// logger writes to stderr, as the configuration says.
func (c *cli) logger(cfg config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // Validate has seen it
	o := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(c.stderr, o))
	}
	return slog.New(slog.NewTextHandler(c.stderr, o))
}

// usage makes an error of cobra's one of ours, with the next thing to try.
func (c *cli) usage(root *cobra.Command, args []string, err error) error {
	var be *core.Error
	if errors.As(err, &be) {
		return err
	}
	cmd, _, findErr := root.Find(args)
	if findErr != nil || cmd == nil {
		cmd = root
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	hint := cmd.CommandPath() + " --help"
	if name, found := strings.CutPrefix(text, "unknown flag: --"); found {
		if s := config.Suggest(name, flagNames(cmd)); s != "" {
			hint = "--" + s + ", or " + hint
		}
	}
	if strings.HasPrefix(text, "unknown command") {
		if s := config.Suggest(firstWord(text), commandNames(cmd)); s != "" {
			hint = cmd.CommandPath() + " " + s
		}
	}
	return core.Errorf(core.Invalid, "%s", text).WithHint("%s", hint)
}

func firstWord(text string) string {
	_, rest, _ := strings.Cut(text, `"`)
	word, _, _ := strings.Cut(rest, `"`)
	return word
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	collect := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(collect)
	cmd.InheritedFlags().VisitAll(collect)
	return names
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
		names = append(names, sub.Aliases...)
	}
	return names
}

// noun is a command that only has verbs below it.
func noun(use, short string, aliases []string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Aliases: aliases,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// forTerminal keeps what strangers have written from steering a terminal. What
// goes to a file or a pipe stays as it is.
func forTerminal(w io.Writer) io.Writer {
	if isTerminal(w) {
		return &termtext.Writer{W: w}
	}
	return w
}

func isTerminal(v any) bool {
	if w, is := v.(*termtext.Writer); is {
		v = w.W
	}
	f, ok := v.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

func (c *cli) colorOn(w io.Writer) bool {
	return isTerminal(w) && c.env["NO_COLOR"] == "" && c.env["TERM"] != "dumb"
}
