package main

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) statusPageCmd() *cobra.Command {
	return noun("status-page", "What is shown to everyone", []string{"status-pages"}, c.statusPages().verbs()...)
}

func (c *cli) statusPages() document[monitor.StatusPage] {
	return document[monitor.StatusPage]{
		c: c, noun: "status page", many: "status pages", empty: "belfry status-page set public --title 'How we are'",
		arguments: "[--title TITLE] [--section TITLE=MONITOR,MONITOR]...",
		long: `Make or change a status page. What its sections name is shown to everyone; without
a section it shows all monitors that are public. A monitor is named by its name,
and all that have a tag as tag:TAG.`,
		example: `  belfry status-page set public --title 'How we are' --section 'Shop=site,api' --section 'Inside=tag:infra'
  belfry status-page set public --off`,
		list: func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[monitor.StatusPage], error) {
			return s.StatusPages(ctx, f)
		},
		show: func(ctx context.Context, s *conn, ns, name string) (monitor.StatusPage, error) {
			return s.StatusPage(ctx, ns, name)
		},
		save: func(ctx context.Context, s *conn, d monitor.StatusPage) (monitor.StatusPage, error) {
			saved, err := s.SaveStatusPage(ctx, d)
			if err == nil {
				for _, section := range saved.Sections {
					c.noteAbsent(ctx, s, saved.Namespace, section.Monitors, nil, nil)
				}
			}
			return saved, err
		},
		drop: func(ctx context.Context, s *conn, ns, name string) error { return s.DeleteStatusPage(ctx, ns, name) },

		owner: func(d *monitor.StatusPage) (namespace, name *string) { return &d.Namespace, &d.Name },
		head:  []string{"STATE", "TITLE", "SHOWS"},
		row: func(_ *conn, d monitor.StatusPage) []string {
			return []string{onOff(d.Off), clip(d.Title, 50), clip(strings.ReplaceAll(sections(d), "\n", "; "), 60)}
		},
		draw: func(w io.Writer, _ *conn, d monitor.StatusPage) {
			c.pairs(w, "name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "state", onOff(d.Off),
				"shows", sections(d), "generation", strconv.FormatInt(d.Generation, 10), "created", stamp(d.CreatedAt), "updated", stamp(d.UpdatedAt))
		},
		flags: statusPageFlags,
		said:  func(*conn, monitor.StatusPage) string { return "" },
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

func statusPageFlags(fs *pflag.FlagSet) func(*conn, *pflag.FlagSet, *monitor.StatusPage, []string) error {
	var title, description string
	var list []string
	var off bool
	fs.StringVar(&title, "title", "", "default: the name")
	fs.StringArrayVar(&list, "section", nil, "TITLE=MONITOR,tag:TAG,...; may be repeated; an empty one leaves only the monitors that are public")
	fs.BoolVar(&off, "off", false, "nobody sees it; --off=false ends that")
	fs.StringVar(&description, "description", "", "for people")
	return func(_ *conn, fs *pflag.FlagSet, d *monitor.StatusPage, rest []string) error {
		set(fs.Changed("title"), title, &d.Title)
		set(fs.Changed("off"), off, &d.Off)
		set(fs.Changed("description"), description, &d.Description)
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
		return noRest(rest)
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
