// Package cli is shared by all commands of belfry: streams, flags, output, errors and
// exit codes, and the connection to a server or to the database directly.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/termtext"
)

// CLI is the execution of one command line.
type CLI struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Bars           io.Writer // raw stderr, for progress bars
	Env            map[string]string
	Version        string         // of this program
	Output         string         // table, json or yaml
	Loaded         *config.Loaded // the configuration, once a verb has begun

	configFile string
	texts      map[string]*string // values of configuration flags, by key name
	began      bool               // the command line was parsed
	stdinTaken bool               // a secret was read from stdin
	tokenFile  string             // file of the token, unless the user named it
}

// New returns a CLI with the streams and the environment of a process.
func New(stdin io.Reader, stdout, stderr io.Writer, env []string) *CLI {
	c := &CLI{Stdin: stdin, Stdout: forTerminal(stdout), Stderr: forTerminal(stderr), Bars: stderr, Env: map[string]string{}, texts: map[string]*string{}, Output: "table"}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		c.Env[name] = value
	}
	return c
}

// Attach prepares the root command: its streams, and the flags of all commands.
func (c *CLI) Attach(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { c.began = true }
	root.SetIn(c.Stdin)
	root.SetOut(c.Stdout)
	root.SetErr(c.Stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	f := root.PersistentFlags()
	f.StringVar(&c.configFile, "config", "", "configuration file; default: ./"+config.DefaultFile+" if there is one")
	f.StringVarP(&c.Output, "output", "o", "table", "table, json or yaml")
	c.ConfigFlags(f, "client")
}

// Run executes one command line, reports its error, and returns the exit code.
func (c *CLI) Run(ctx context.Context, root *cobra.Command, args []string) int {
	readLines(root)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !c.began {
		err = c.usage(root, args, err)
	}
	report(c.Stderr, c.nameToken(err), c.colorOn(c.Stderr))
	return ExitCode(err)
}

// ConfigFlags adds the flags of the configuration keys of a group.
func (c *CLI) ConfigFlags(f *pflag.FlagSet, group string) {
	if group != "client" {
		Alias(f, "label", "labels")
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
		v := &configValue{text: text, isBool: k.Bool}
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

// Alias adds another name for a flag.
func Alias(f *pflag.FlagSet, other, name string) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// configValue is a flag that package config parses, together with the file and
// the environment.
type configValue struct {
	text   *string
	set    bool
	isBool bool
}

func (v *configValue) String() string { return "" }
func (v *configValue) Type() string { // the help shows it
	if v.isBool {
		return "bool"
	}
	return "value"
}
func (v *configValue) Set(s string) error {
	if v.set && !v.isBool {
		s = *v.text + "," + s // --queues a=1 --queues b=2
	}
	*v.text, v.set = s, true
	return nil
}

// lowerFirst lowers the first letter of a text, for use within a sentence. A name such as PostgreSQL stays unchanged.
func lowerFirst(s string) string {
	if word, _, _ := strings.Cut(s, " "); len(word) > 1 && word[1:] == strings.ToLower(word[1:]) {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// config loads the configuration for a command, once.
func (c *CLI) config(cmd *cobra.Command) (*config.Loaded, error) {
	if c.Loaded != nil {
		return c.Loaded, nil
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
	c.Loaded = &l
	return c.Loaded, nil
}

func (c *CLI) getenv(name string) string { return c.Env[name] }

// Logger returns a logger to stderr, with the level and format of the configuration.
func (c *CLI) Logger(cfg config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // checked by Validate
	o := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(c.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(c.Stderr, o))
}

// usage turns an error of cobra into a Belfry error with a hint.
func (c *CLI) usage(root *cobra.Command, args []string, err error) error {
	var be *core.Error
	if errors.As(err, &be) {
		return err
	}
	var value *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &value) && errors.As(err, &number) {
		return core.InvalidField("--"+value.GetFlag().Name, value.GetValue(), notOf(value.GetFlag().Value.Type(), number.Err), "")
	}
	cmd, rest, findErr := root.Find(args)
	if findErr == nil && cmd.Name() == "help" {
		cmd, rest, findErr = root.Find(cmd.Flags().Args())
	}
	if findErr != nil || cmd == nil {
		cmd = root
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	// Flags of a mistyped command are read as those of the noun before it.
	if findErr == nil && strings.HasPrefix(text, "unknown ") && !strings.HasPrefix(text, "unknown command") && cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		text = fmt.Sprintf("unknown command %q for %q", rest[0], cmd.CommandPath())
	}
	if strings.Contains(text, "arg(s)") || strings.HasPrefix(text, "unknown command") && !cmd.HasSubCommands() {
		return wrongArguments(cmd)
	}
	hint := cmd.CommandPath() + " --help"
	if name, found := strings.CutPrefix(text, "unknown flag: --"); found {
		if s := config.Suggest(name, flagNames(cmd)); s != "" {
			hint = "--" + s + ", or " + hint
		}
	}
	if strings.HasPrefix(text, "unknown command") {
		if verbs := verbsNamed(cmd, firstWord(text)); len(verbs) > 0 {
			hint = strings.Join(verbs, ", or ")
		} else if s := config.Suggest(firstWord(text), commandNames(cmd)); s != "" {
			hint = cmd.CommandPath() + " " + s
		}
	}
	return core.Errorf(core.Invalid, "%s", text).WithHint("%s", hint)
}

// notOf describes a value that does not fit the type of its flag.
func notOf(flag string, why error) string {
	switch {
	case errors.Is(why, strconv.ErrRange):
		return "is out of range"
	case flag == "bool":
		return "is not true or false"
	case strings.HasPrefix(flag, "float"):
		return "is not a number"
	}
	return "is not a whole number"
}

// wrongArguments returns an error that names the missing or superfluous argument.
func wrongArguments(cmd *cobra.Command) error {
	given, wanted, hint := cmd.Flags().Args(), Arguments(cmd), "write: "+cmd.UseLine()
	if len(given) < len(wanted) {
		return core.InvalidField(strings.TrimSuffix(wanted[len(given)], "..."), "", "is missing", hint)
	}
	if rule := cmd.Flags().Lookup("cron"); rule != nil && rule.Changed {
		hint = "put the rule in quotes, such as --cron '0 3 * * *'"
	}
	return core.InvalidField("argument", strings.Join(given[len(wanted):], " "), "is one too many", hint)
}

// Arguments returns the names of a command's arguments, from its usage line.
func Arguments(cmd *cobra.Command) []string {
	words := strings.Fields(cmd.Use)[1:]
	flags := func(word string) bool {
		return strings.HasPrefix(word, "-") || strings.HasPrefix(word, "[-") || word == "[flags]"
	}
	if i := slices.IndexFunc(words, flags); i >= 0 {
		words = words[:i]
	}
	return words
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

// verbsNamed returns the commands with a name one level further below cmd: those of the usual nouns first.
func verbsNamed(cmd *cobra.Command, name string) (paths []string) {
	usual := []string{"job", "task", "schedule"}
	nouns := slices.Clone(cmd.Commands())
	slices.SortStableFunc(nouns, func(a, b *cobra.Command) int {
		place := func(c *cobra.Command) int {
			if i := slices.Index(usual, c.Name()); i >= 0 {
				return i
			}
			return len(usual)
		}
		return cmp.Compare(place(a), place(b))
	})
	for _, noun := range nouns {
		for _, verb := range noun.Commands() {
			if verb.IsAvailableCommand() && (verb.Name() == name || verb.HasAlias(name)) {
				paths = append(paths, verb.CommandPath())
			}
		}
	}
	if len(paths) > len(usual) {
		return append(paths[:len(usual)], "that of another noun")
	}
	return paths
}

// Help sets the help command of the root.
func Help(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		cmd.Use, cmd.Short = "help [COMMAND...]", "Show the help of a command"
		cmd.Long = "Show the help of a command, as --help after it does."
		cmd.Example = "  belfry help job retry"
		cmd.Run = nil
		cmd.Args = func(_ *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 && of.HasSubCommands() {
				err = fmt.Errorf("unknown command %q for %q", rest[0], of.CommandPath())
			}
			return err
		}
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			of, _, err := root.Find(args)
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		}
	}
}

// Noun returns a command that only has subcommands.
func Noun(use, short string, aliases []string, verbs ...*cobra.Command) *cobra.Command {
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

// forTerminal removes control sequences in foreign text before a terminal. Output
// to a file or a pipe stays unchanged.
func forTerminal(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return &termtext.Writer{W: w}
	}
	return w
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(v any) bool {
	if w, is := v.(*termtext.Writer); is {
		v = w.W
	}
	f, ok := v.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

func (c *CLI) colorOn(w io.Writer) bool {
	return IsTerminal(w) && c.Env["NO_COLOR"] == "" && c.Env["TERM"] != "dumb"
}
