package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// document is what channels, alert rules, windows and status pages have in
// common: they are saved as a whole, under a name.
type document[T any] struct {
	c          *cli
	noun, many string // such as window, windows
	empty      string // what to do when there are none
	arguments  string // of set, besides NAME
	long       string // about set
	example    string

	list func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[T], error)
	show func(ctx context.Context, s *conn, ns, name string) (T, error)
	save func(ctx context.Context, s *conn, d T) (T, error)
	drop func(ctx context.Context, s *conn, ns, name string) error

	owner func(d *T) (namespace, name *string)
	head  []string
	row   func(s *conn, d T) []string
	draw  func(w io.Writer, s *conn, d T)

	// flags adds the flags of set and answers what puts them into a definition;
	// args are those after the name.
	flags func(fs *pflag.FlagSet) func(s *conn, fs *pflag.FlagSet, d *T, args []string) error
	// said is what there is to say of one that was saved, and try what may be
	// done next.
	said func(s *conn, d T) string
	try  string
}

func (d document[T]) verbs() []*cobra.Command {
	return []*cobra.Command{d.listVerb(), d.showVerb(), d.setVerb(), d.deleteVerb()}
}

func (d document[T]) listVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List " + d.many, Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.RunE = d.c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[T], error) {
			return d.list(ctx, s, view.DocumentFilter{Paging: pg, Namespace: s.namespace})
		})
		if err != nil {
			return err
		}
		defer d.c.more(p.Next, len(p.Items))
		return d.c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintf(d.c.stderr, "no %s; try: %s\n", d.many, d.empty)
				return
			}
			g := d.c.grid(append([]string{"NAME"}, d.head...)...)
			for _, item := range p.Items {
				namespace, name := d.owner(&item)
				g.row(append([]string{s.label(*namespace, *name)}, d.row(s, item)...)...)
			}
			g.write(w)
		})
	})
	return cmd
}

func (d document[T]) showVerb() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show one of the " + d.many, Args: cobra.ExactArgs(1),
		RunE: d.c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			item, err := d.show(ctx, s, ns, args[0])
			if err != nil {
				return err
			}
			return d.c.emit(item, func(w io.Writer) { d.draw(w, s, item) })
		}),
	}
}

func (d document[T]) setVerb() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "set NAME " + d.arguments, Aliases: []string{"create", "update", "edit"},
		Short: "Make or change one of the " + d.many + "; what no flag names stays as it is",
		Long:  d.long, Example: d.example,
	}
	fs := cmd.Flags()
	fs.StringVarP(&file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	apply := d.flags(fs)
	cmd.RunE = d.c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
		name, rest, err := nameAndRest(cmd, args)
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
		if item, err = d.save(ctx, s, item); err != nil {
			return err
		}
		return d.c.emit(item, func(w io.Writer) {
			_, name := d.owner(&item)
			fmt.Fprintf(w, "%s %s saved%s\n", d.noun, *name, d.said(s, item))
			if d.try != "" {
				fmt.Fprintf(d.c.stderr, "try: %s %s\n", d.try, *name)
			}
		})
	})
	return cmd
}

// begin is the definition that flags change: of the file, of the one that is
// there, or an empty one.
func (d document[T]) begin(ctx context.Context, s *conn, file, name string) (item T, err error) {
	ns, err := s.one()
	if err != nil {
		return item, err
	}
	switch {
	case file != "":
		err = d.c.definition(file, d.noun, &item)
	case name != "":
		if item, err = d.show(ctx, s, ns, name); core.CodeOf(err) == core.NotFound {
			var fresh T
			item, err = fresh, nil
		}
	}
	if err != nil {
		return item, err
	}
	ownNamespace, ownName := d.owner(&item)
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

func (d document[T]) deleteVerb() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete " + d.many, Args: cobra.MinimumNArgs(1),
		RunE: d.c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			return d.c.each(s, args, "deleted", func(ns, name string) error { return d.drop(ctx, s, ns, name) })
		}),
	}
}

// draft reads a definition from its file, if there is one, and gives it the
// name and the namespace of the command line. They are places in v.
func (c *cli) draft(s *conn, file, what string, args []string, v any, name, namespace *string) error {
	ns, err := s.one()
	if err != nil {
		return err
	}
	if file != "" {
		if err := c.definition(file, what, v); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		*name = args[0]
	}
	set(*namespace == "", ns, namespace)
	return nil
}

// definition reads one definition from a file.
func (c *cli) definition(path, what string, v any) error {
	srcs, err := config.ReadSources([]string{path}, c.stdin)
	if err != nil {
		return err
	}
	if len(srcs) != 1 {
		return core.InvalidField("--file", path, "is a folder", "name one file, or use: belfry apply -f FOLDER")
	}
	return config.Decode(srcs[0], what, v)
}

// each does something to every named thing and says so.
func (c *cli) each(s *conn, names []string, done string, fn func(ns, name string) error) error {
	ns, err := s.one()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := fn(ns, name); err != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "%s %s\n", name, done)
	}
	return nil
}
