package monitors

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// StatusPage is the command status-page.
func StatusPage(c *cli.CLI) *cobra.Command {
	return cli.Noun("status-page", "What is shown to everyone", []string{"status-pages"}, statusPages(c).Verbs()...)
}

func statusPages(c *cli.CLI) cli.Document[monitor.StatusPage] {
	return cli.Document[monitor.StatusPage]{
		CLI: c, Noun: "status page", Many: "status pages", Empty: "belfry status-page set public --title 'How we are'",
		Arguments: "[--title TITLE] [--section TITLE=MONITOR,MONITOR]...",
		Long: `Make or change a status page. What its sections name is shown to everyone; without
a section it shows all monitors that are public. A monitor is named by its name,
and all that have a tag as tag:TAG.`,
		Example: `  belfry status-page set public --title 'How we are' --section 'Shop=site,api' --section 'Inside=tag:infra'
  belfry status-page set public --off`,
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[monitor.StatusPage], error) {
			return s.StatusPages(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (monitor.StatusPage, error) {
			return s.StatusPage(ctx, ns, name)
		},
		Save: func(ctx context.Context, s *cli.Conn, d monitor.StatusPage) (monitor.StatusPage, error) {
			saved, err := s.SaveStatusPage(ctx, d)
			if err == nil {
				for _, section := range saved.Sections {
					c.NoteAbsent(ctx, s, saved.Namespace, section.Monitors, nil, nil)
				}
			}
			return saved, err
		},
		Drop: func(ctx context.Context, s *cli.Conn, ns, name string) error {
			return s.DeleteStatusPage(ctx, ns, name)
		},

		Owner: func(d *monitor.StatusPage) (namespace, name *string) { return &d.Namespace, &d.Name },
		Head:  []string{"STATE", "TITLE", "SHOWS"},
		Row: func(_ *cli.Conn, d monitor.StatusPage) []string {
			return []string{cli.OnOff(d.Off), cli.Clip(d.Title, 50), cli.Clip(strings.ReplaceAll(sections(d), "\n", "; "), 60)}
		},
		Draw: func(w io.Writer, _ *cli.Conn, d monitor.StatusPage) {
			c.Pairs(w, "name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "state", cli.OnOff(d.Off),
				"shows", sections(d), "generation", strconv.FormatInt(d.Generation, 10), "created", cli.Stamp(d.CreatedAt), "updated", cli.Stamp(d.UpdatedAt))
		},
		Flags: statusPageFlags,
		Said:  func(*cli.Conn, monitor.StatusPage) string { return "" },
	}
}

// sections is what a status page shows.
func sections(d monitor.StatusPage) string {
	var lines []string
	for _, s := range d.Sections {
		lines = append(lines, strings.TrimPrefix(s.Title+": "+targets(s.Monitors, s.Tags), ": "))
	}
	return cmp.Or(strings.Join(lines, "\n"), "all monitors that are public")
}

func statusPageFlags(fs *pflag.FlagSet) cli.Setter[monitor.StatusPage] {
	var title, description string
	var list []string
	var off bool
	fs.StringVar(&title, "title", "", "default: the name")
	fs.StringArrayVar(&list, "section", nil, "TITLE=MONITOR,tag:TAG,...; may be repeated; an empty one leaves only the monitors that are public")
	fs.BoolVar(&off, "off", false, "nobody sees it; --off=false ends that")
	fs.StringVar(&description, "description", "", "for people")
	return func(_ *cli.Conn, fs *pflag.FlagSet, d *monitor.StatusPage, rest []string) error {
		cli.Set(fs.Changed("title"), title, &d.Title)
		cli.Set(fs.Changed("off"), off, &d.Off)
		cli.Set(fs.Changed("description"), description, &d.Description)
		if fs.Changed("section") {
			d.Sections = nil
			for _, text := range list {
				if text == "" {
					continue
				}
				s, err := sectionOf(text)
				if err != nil {
					return err
				}
				d.Sections = append(d.Sections, s)
			}
		}
		return cli.NoRest(rest)
	}
}

// sectionOf reads "Shop=site,api,tag:infra".
func sectionOf(text string) (s monitor.StatusSection, err error) {
	title, names, found := strings.Cut(text, "=")
	if !found {
		return s, core.InvalidField("--section", text, "does not say what it shows", "write TITLE=MONITOR,MONITOR, or TITLE=tag:TAG")
	}
	s.Title = title
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if tag, is := strings.CutPrefix(name, "tag:"); is {
			s.Tags = append(s.Tags, tag)
		} else if name != "" {
			s.Monitors = append(s.Monitors, name)
		}
	}
	return s, nil
}
