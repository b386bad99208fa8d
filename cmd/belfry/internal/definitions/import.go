package definitions

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/intake"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// intakeFlags are the flags for reading files of other schedulers.
type intakeFlags struct{ zone, format, queue, envFile string }

func (f *intakeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.zone, "zone", "", "where times are read that have no zone of their own; default: UTC")
	fs.StringVar(&f.format, "format", "", "of a crontab: user, or system with a user before each command; default: found out")
	fs.StringVar(&f.queue, "queue", "", "queue of the tasks; default: default")
}

func (f *intakeFlags) options() intake.Options {
	return intake.Options{Zone: f.zone, Format: intake.Format(f.format), Queue: f.queue}
}

// readIntake reads files, or standard input, of a kind.
func readIntake(c *cli.CLI, kind string, paths []string, f intakeFlags) (intake.Result, error) {
	o := f.options()
	if kind == "gatus" {
		return readGatus(c, paths, f)
	}
	in, err := intakeFile(c, paths[0])
	if err != nil {
		return intake.Result{}, err
	}
	switch kind {
	case "crontab":
		return intake.Crontab(in, o)
	case "k8s":
		return intake.CronJobs(in, o)
	case "uptime-kuma":
		return intake.Kuma(in, o)
	}
	return intake.Read(in, o)
}

func intakeFile(c *cli.CLI, path string) (io.Reader, error) {
	if path == "-" {
		return c.Stdin, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, core.InvalidField("FILE", path, err.Error(), "name a file, or - for standard input")
	}
	return bytes.NewReader(text), nil
}

// readGatus reads files and folders as one configuration.
func readGatus(c *cli.CLI, paths []string, f intakeFlags) (intake.Result, error) {
	env, err := gatusEnv(f.envFile)
	if err != nil {
		return intake.Result{}, err
	}
	var names []string
	for _, path := range paths {
		found, err := yamlFiles(path)
		if err != nil {
			return intake.Result{}, err
		}
		names = append(names, found...)
	}
	files := make([]intake.File, len(names))
	for i, name := range names {
		if files[i].Text, err = intakeFile(c, name); err != nil {
			return intake.Result{}, err
		}
		if len(names) > 1 {
			files[i].Name = name
		}
	}
	o := f.options()
	o.Env = env
	return intake.GatusFiles(files, o)
}

// yamlFiles returns a file, or the YAML files of a folder and its subfolders, in
// the order of their names.
func yamlFiles(path string) (names []string, err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil // the later read reports errors
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err == nil && !d.IsDir() && (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(d.Name(), ".") {
			names = append(names, name)
		}
		if len(names) > intake.MaxFiles {
			return fs.SkipAll
		}
		return err
	})
	switch {
	case err != nil:
		return nil, core.InvalidField("FILE", path, err.Error(), "")
	case len(names) == 0:
		return nil, core.InvalidField("FILE", path, "is a folder without a file that ends in .yaml or .yml", "")
	}
	return names, nil
}

// gatusEnv returns the environment of this process, overridden by a file with
// lines such as TOKEN=secret.
func gatusEnv(file string) (map[string]string, error) {
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	if file == "" {
		return env, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, core.InvalidField("--env-file", file, err.Error(), "name a file of lines such as TOKEN=secret")
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		name, value, isPair := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		switch {
		case line == "" || line[0] == '#':
			continue
		case !isPair || strings.TrimSpace(name) == "":
			return nil, core.InvalidField("--env-file", fmt.Sprintf("%s, line %d", file, n), "is not a line such as TOKEN=secret", "")
		}
		env[strings.TrimSpace(name)] = unquoted(strings.TrimSpace(value))
	}
	return env, nil
}

// unquoted returns a value without surrounding quotes.
func unquoted(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// ScheduleCheck is the command schedule check.
func ScheduleCheck(c *cli.CLI) *cobra.Command {
	var f intakeFlags
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Say what each line of a crontab, or each CronJob of Kubernetes, means", Args: cobra.ExactArgs(1),
		Long: `Say what each line of a crontab, or each CronJob of Kubernetes, means, when it
runs next, and what is wrong with it. Nothing is changed, and no server is
needed. It ends with 2 when a line cannot be understood.`,
		Example: `  crontab -l | belfry schedule check -
  belfry schedule check /etc/crontab --zone Europe/Sofia
  kubectl get cronjob -o yaml | belfry schedule check -`,
		RunE: func(_ *cobra.Command, args []string) error { return checkIntake(c, "", args, f) },
	}
	f.add(cmd.Flags())
	return cmd
}

// checkIntake explains each entry of a file.
func checkIntake(c *cli.CLI, kind string, paths []string, f intakeFlags) error {
	if err := c.CheckOutput(); err != nil {
		return err
	}
	r, err := readIntake(c, kind, paths, f)
	if err != nil {
		return err
	}
	if err := c.Emit(r, func(w io.Writer) { drawIntake(c, w, r) }); err != nil {
		return err
	}
	return r.Err()
}

func drawIntake(c *cli.CLI, w io.Writer, r intake.Result) {
	paint, file := c.Painter(), ""
	for _, l := range r.Lines {
		if l.File != file {
			file = l.File
			fmt.Fprintln(w, paint(cli.StyleDim, file))
		}
		fmt.Fprintf(w, "%s %s\n", paint(cli.StyleDim, fmt.Sprintf("%4d", l.Number)), cli.Clip(l.Text, 100))
		if l.Err != nil {
			fmt.Fprintf(w, "     %s\n", paint(cli.StyleBad, l.Err.String()))
			continue
		}
		if l.Means != "" {
			fmt.Fprintf(w, "     %s\n", l.Means)
		}
		for i, t := range l.Next {
			fmt.Fprintf(w, "     %s %s\n", [...]string{"next", "then"}[min(i, 1)], core.StampIn(t, t.Location()))
		}
		for _, n := range l.Notes {
			fmt.Fprintf(w, "     %s\n", paint(cli.StyleWarn, n))
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, paint(cli.StyleWarn, n))
	}
}

// importFlags are the flags of an import, with those for reading.
type importFlags struct {
	intakeFlags
	yes, dry, print, check bool
}

// ScheduleImport is the command schedule import.
func ScheduleImport(c *cli.CLI) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import crontab|k8s FILE", Short: "Import tasks and schedules from a crontab, or from CronJobs of Kubernetes", Args: cobra.ExactArgs(2),
		Long: `Import tasks and schedules from a crontab, or from CronJobs of Kubernetes. Lines that
cannot be carried over are told and left out. The plan is shown first, as by
apply; --print writes the definitions instead, to be kept and applied as a file,
and needs no server.`,
		Example: `  crontab -l | belfry schedule import crontab - --print > belfry.yaml
  belfry schedule import crontab /etc/crontab --dry-run`,
	}
	connected := c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		return imported(ctx, c, s, args[0], args[1:], f)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] != "crontab" && args[0] != "k8s" {
			return core.InvalidField("KIND", args[0], "is not something to make schedules of", "crontab or k8s; for monitors: belfry import gatus|uptime-kuma FILE")
		}
		if f.print {
			return printed(c, args[0], args[1:], f)
		}
		return connected(cmd, args)
	}
	f.add(cmd.Flags())
	f.addPlan(cmd.Flags())
	return cmd
}

func (f *importFlags) addPlan(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&f.dry, "dry-run", false, "show the plan and do nothing")
	fs.BoolVar(&f.print, "print", false, "write the definitions as YAML and do nothing")
}

// printed writes the definitions of a file, without a server.
func printed(c *cli.CLI, kind string, paths []string, f importFlags) error {
	r, err := readIntake(c, kind, paths, f.intakeFlags)
	if err != nil {
		return err
	}
	tellIntake(c, r)
	return config.WriteYAML(c.Stdout, r.Manifest)
}

// imported imports a file, or shows the plan of the import.
func imported(ctx context.Context, c *cli.CLI, s *cli.Conn, kind string, paths []string, f importFlags) error {
	if _, err := s.OneNamespace(); err != nil {
		return err
	}
	r, err := readIntake(c, kind, paths, f.intakeFlags)
	if err != nil {
		return err
	}
	tellIntake(c, r)
	defs := config.Definitions{Manifest: r.Manifest}
	return apply(ctx, c, s, defs, view.ApplyOptions{Namespace: s.NS, DryRun: f.dry}, asking(c, f.yes))
}

// Import is the command import.
func Import(c *cli.CLI) *cobra.Command {
	return cli.Noun("import", "Import definitions from crontab, Kubernetes, Gatus and Uptime Kuma", nil,
		importVerb(c, "crontab", "Import tasks and schedules from a crontab", "  crontab -l | belfry import crontab - --print > belfry.yaml"),
		importVerb(c, "k8s", "Import tasks and schedules from CronJobs of Kubernetes", "  kubectl get cronjob -o yaml | belfry import k8s - --dry-run"),
		importVerb(c, "gatus", "Import monitors, channels, alert rules and windows from a configuration of Gatus", `  belfry import gatus config.yaml --check
  belfry import gatus config/ --env-file gatus.env --print > belfry.yaml`),
		importVerb(c, "uptime-kuma", "Import monitors, channels and alert rules from a backup of Uptime Kuma", `  belfry import uptime-kuma backup.json --check
  belfry import uptime-kuma backup.json --dry-run`))
}

func importVerb(c *cli.CLI, kind, short, example string) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: kind + " FILE", Short: short, Args: cobra.ExactArgs(1), Example: example,
		Long: short + `. What cannot be carried over is told and left
out. The plan is shown first, as by apply; --check says what each entry means and
becomes; --print writes the definitions, to be kept and applied as a file. Neither
needs a server. A FILE of - is standard input.`,
	}
	if kind == "gatus" {
		cmd.Use, cmd.Args = kind+" FILE...", cobra.MinimumNArgs(1)
		cmd.Long += ` Several files, and folders of
them, are one configuration, as there. Variables such as ${TOKEN} have the values of
the environment, and of --env-file. An endpoint whose variable has none is left out.`
	}
	connected := c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		return imported(ctx, c, s, kind, args, f)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.check {
			return checkIntake(c, kind, args, f.intakeFlags)
		}
		if f.print {
			return printed(c, kind, args, f)
		}
		return connected(cmd, args)
	}
	fs := cmd.Flags()
	f.addFor(kind, fs)
	if kind == "gatus" {
		fs.StringVar(&f.envFile, "env-file", "", "file of lines such as TOKEN=secret, for variables; default: the environment alone")
	}
	f.addPlan(fs)
	fs.BoolVar(&f.check, "check", false, "say what each entry means and what is wrong with it, and do nothing; exit 2 when one cannot be carried over")
	return cmd
}

// addFor adds the flags that apply to a kind of file.
func (f *intakeFlags) addFor(kind string, fs *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "format" || kind == "crontab" {
			fs.AddFlag(flag)
		}
	})
	if kind == "gatus" || kind == "uptime-kuma" {
		fs.Lookup("queue").Usage = "lane of the checks; default: checks"
	}
}

// tellIntake notes on stderr the entries that were imported with differences, or not at all.
func tellIntake(c *cli.CLI, r intake.Result) {
	for _, l := range r.Lines {
		where := fmt.Sprintf("line %d", l.Number)
		if l.File != "" {
			where = l.File + ", " + where
		}
		if l.Err != nil {
			fmt.Fprintf(c.Stderr, "%s left out: %s\n", where, l.Err)
		}
		if len(l.Notes) > 0 {
			fmt.Fprintf(c.Stderr, "%s: %s\n", where, strings.Join(l.Notes, "; "))
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(c.Stderr, n)
	}
}
