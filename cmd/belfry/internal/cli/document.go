package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// NoteAbsent notes names in a saved definition that do not exist. This is not an
// error, because they may be created later; but a mistyped name looks the same.
func (c *CLI) NoteAbsent(ctx context.Context, s *Conn, namespace string, monitors, tasks, schedules []string) {
	look := func(noun string, names []string, read func(name string) error) {
		for _, name := range names {
			if core.CodeOf(read(name)) == core.NotFound {
				fmt.Fprintf(c.Stderr, "note: there is no %s %q yet\n", noun, name)
			}
		}
	}
	look("monitor", monitors, func(name string) error { _, err := s.Monitor(ctx, namespace, name); return err })
	look("task", tasks, func(name string) error { _, err := s.Task(ctx, namespace, name); return err })
	look("schedule", schedules, func(name string) error { _, err := s.Schedule(ctx, namespace, name); return err })
}

// Document has the shared verbs of channels, alert rules, maintenance windows and
// status pages: they are saved as a whole, under a name.
type Document[T any] struct {
	CLI        *CLI
	Noun, Many string // such as window, windows
	Empty      string // hint for an empty list
	Arguments  string // of set, after NAME
	Long       string // long help of set
	Example    string

	List func(ctx context.Context, s *Conn, f view.DocumentFilter) (core.Page[T], error)
	Show func(ctx context.Context, s *Conn, ns, name string) (T, error)
	Save func(ctx context.Context, s *Conn, d T) (T, error)
	Drop func(ctx context.Context, s *Conn, ns, name string) error

	Owner func(d *T) (namespace, name *string)
	Head  []string
	Row   func(s *Conn, d T) []string
	Draw  func(w io.Writer, s *Conn, d T)

	// Flags adds the flags of set, and returns the function that puts them into a definition.
	Flags func(fs *pflag.FlagSet) Setter[T]
	// Said describes a saved definition, and Try suggests the next command.
	Said func(s *Conn, d T) string
	Try  func(T) string
}

// Setter puts the given flags into a definition; args are the arguments after
// the name.
type Setter[T any] func(s *Conn, fs *pflag.FlagSet, d *T, args []string) error

// Verbs returns the verbs list, show, set and delete.
func (d Document[T]) Verbs() []*cobra.Command {
	return []*cobra.Command{d.ListVerb(), d.ShowVerb(), d.setVerb(), d.DeleteVerb()}
}

// ListVerb returns the verb list.
func (d Document[T]) ListVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List " + d.Many, Args: cobra.NoArgs}
	limit := LimitFlag(cmd)
	cmd.RunE = d.CLI.Verb(func(ctx context.Context, s *Conn, _ *cobra.Command, _ []string) error {
		p, err := AllPages(*limit, func(pg core.Paging) (core.Page[T], error) {
			return d.List(ctx, s, view.DocumentFilter{Paging: pg, Namespace: s.NS})
		})
		if err != nil {
			return err
		}
		defer d.CLI.More(p.Next, len(p.Items))
		return d.CLI.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintf(d.CLI.Stderr, "no %s; try: %s\n", d.Many, d.Empty)
				return
			}
			g := d.CLI.Grid(append([]string{"NAME"}, d.Head...)...)
			for _, item := range p.Items {
				namespace, name := d.Owner(&item)
				g.Row(append([]string{s.Label(*namespace, *name)}, d.Row(s, item)...)...)
			}
			g.Write(w)
		})
	})
	return cmd
}

// ShowVerb returns the verb show.
func (d Document[T]) ShowVerb() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show one of the " + d.Many, Args: cobra.ExactArgs(1),
		RunE: d.CLI.Verb(func(ctx context.Context, s *Conn, _ *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			item, err := d.Show(ctx, s, ns, args[0])
			if err != nil {
				return err
			}
			return d.CLI.Emit(item, func(w io.Writer) { d.Draw(w, s, item) })
		}),
	}
}

func (d Document[T]) setVerb() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "set NAME " + d.Arguments, Aliases: []string{"create", "update", "edit"},
		Short: "Make or change one of the " + d.Many + "; what no flag names stays as it is",
		Long:  d.Long, Example: d.Example,
	}
	fs := cmd.Flags()
	fs.StringVarP(&file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	apply := d.Flags(fs)
	cmd.RunE = d.CLI.Verb(func(ctx context.Context, s *Conn, cmd *cobra.Command, args []string) error {
		name, rest, err := NameAndRest(cmd, args)
		if err != nil {
			return err
		}
		item, err := d.begin(ctx, s, file, name)
		if err != nil {
			return err
		}
		if err := apply(s, cmd.Flags(), &item, rest); err != nil {
			return err
		}
		if item, err = d.Save(ctx, s, item); err != nil {
			return err
		}
		return d.CLI.Emit(item, func(w io.Writer) {
			_, name := d.Owner(&item)
			fmt.Fprintf(w, "%s %s saved%s\n", d.Noun, *name, d.Said(s, item))
			if d.Try != nil {
				fmt.Fprintf(d.CLI.Stderr, "try: %s %s\n", d.Try(item), *name)
			}
		})
	})
	return cmd
}

// begin returns the definition that flags change: that of the file, the existing
// one, or an empty one.
func (d Document[T]) begin(ctx context.Context, s *Conn, file, name string) (item T, err error) {
	ns, err := s.OneNamespace()
	if err != nil {
		return item, err
	}
	switch {
	case file != "":
		err = d.CLI.Definition(file, d.Noun, &item)
	case name != "":
		if item, err = d.Show(ctx, s, ns, name); core.CodeOf(err) == core.NotFound {
			var fresh T
			item, err = fresh, nil
		}
	}
	if err != nil {
		return item, err
	}
	ownNamespace, ownName := d.Owner(&item)
	if name != "" {
		*ownName = name
	}
	if *ownNamespace == "" {
		*ownNamespace = ns
	}
	if *ownName == "" {
		return item, core.InvalidField("NAME", "", "is missing", "write the name, or give a --file that has one")
	}
	return item, nil
}

// DeleteVerb returns the verb delete.
func (d Document[T]) DeleteVerb() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete " + d.Many, Args: cobra.MinimumNArgs(1),
		RunE: d.CLI.Verb(func(ctx context.Context, s *Conn, _ *cobra.Command, args []string) error {
			return d.CLI.Each(s, args, "deleted", func(ns, name string) error { return d.Drop(ctx, s, ns, name) })
		}),
	}
}

// Draft reads a definition from its file, if there is one, and sets its name and
// namespace from the command line. name and namespace point into v.
func (c *CLI) Draft(s *Conn, file, what string, args []string, v any, name, namespace *string) error {
	ns, err := s.OneNamespace()
	if err != nil {
		return err
	}
	if file != "" {
		if err := c.Definition(file, what, v); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		*name = args[0]
	}
	Set(*namespace == "", ns, namespace)
	return nil
}

// Definition reads one definition from a file.
func (c *CLI) Definition(path, what string, v any) error {
	srcs, err := config.ReadSources([]string{path}, c.Stdin)
	if err != nil {
		return err
	}
	if len(srcs) != 1 {
		return core.InvalidField("--file", path, "is a folder", "name one file, or use: belfry apply -f FOLDER")
	}
	return config.Decode(srcs[0], what, v)
}

// Each calls fn for each name, and prints done for each.
func (c *CLI) Each(s *Conn, names []string, done string, fn func(ns, name string) error) error {
	ns, err := s.OneNamespace()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := fn(ns, name); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "%s %s\n", name, done)
	}
	return nil
}

// NotePause notes that a pause from before keeps its reason, if it is not the
// one that is asked for.
func (c *CLI) NotePause(name, by, reason, asked string) {
	if asked = strings.TrimSpace(asked); asked == "" || asked == strings.TrimSpace(reason) {
		return
	}
	if reason != "" {
		by += ": " + reason
	}
	fmt.Fprintf(c.Stderr, "note: %s was already paused by %s\n", name, by)
}
