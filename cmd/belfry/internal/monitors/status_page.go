package monitors

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// StatusPage is the command status-page.
func StatusPage(c *cli.CLI) *cobra.Command {
	return cli.Noun("status-page", "Manage public status pages", []string{"status-pages"}, statusPages(c).Verbs()...)
}

func statusPages(c *cli.CLI) cli.Document[public.StatusPage] {
	return cli.Document[public.StatusPage]{
		CLI: c, Noun: "status page", Many: "status pages", Empty: "belfry status-page set public --title 'How we are'",
		Arguments: "[--title TITLE] [--section TITLE=MONITOR,MONITOR]...",
		Long: `Make or change a status page. What its sections name is shown to everyone; without
a section it shows all monitors that are public. A monitor is named by its name,
and all that have a tag as tag:TAG.`,
		Example: `  belfry status-page set public --title 'How we are' --section 'Shop=site,api' --section 'Inside=tag:infra'
  belfry status-page set public --off`,
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[public.StatusPage], error) {
			return s.StatusPages(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (public.StatusPage, error) {
			return s.StatusPage(ctx, ns, name)
		},
		Save: func(ctx context.Context, s *cli.Conn, d public.StatusPage) (public.StatusPage, error) {
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

		Owner: func(d *public.StatusPage) (namespace, name *string) { return &d.Namespace, &d.Name },
		Head:  []string{"STATE", "TITLE", "SHOWS"},
		Row: func(_ *cli.Conn, d public.StatusPage) []string {
			return []string{cli.OnOff(d.Off), cli.Clip(d.Title, 50), cli.Clip(strings.ReplaceAll(sections(d), "\n", "; "), 60)}
		},
		Draw: func(w io.Writer, _ *cli.Conn, d public.StatusPage) {
			accent, logo := look(d)
			c.Pairs(w, "name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "state", cli.OnOff(d.Off),
				"shows", sections(d), "accent", accent, "logo", logo, "subscriptions", subscriptions(d), "generation", strconv.FormatInt(d.Generation, 10), "created", cli.Stamp(d.CreatedAt), "updated", cli.Stamp(d.UpdatedAt))
		},
		Flags: statusPageFlags,
		Said:  func(*cli.Conn, public.StatusPage) string { return "" },
	}
}

// subscriptions describes how visitors can subscribe to a status page.
func subscriptions(d public.StatusPage) string {
	var ways []string
	if d.Subscribe.IsWay(public.Mail) {
		ways = append(ways, "by mail through channel "+d.Subscribe.Mail)
	}
	if d.Subscribe.IsWay(public.Webhook) {
		ways = append(ways, "by webhook")
	}
	return cmp.Or(strings.Join(ways, ", "), "off")
}

// sections describes the content of a status page.
func sections(d public.StatusPage) string {
	var lines []string
	for _, s := range d.Sections {
		line := strings.TrimPrefix(s.Title+": "+targets(s.Monitors, s.Tags), ": ")
		for _, name := range slices.Sorted(maps.Keys(s.Titles)) {
			line += fmt.Sprintf("; %s as %q", name, s.Titles[name])
		}
		lines = append(lines, line)
	}
	return cmp.Or(strings.Join(lines, "\n"), "all monitors that are public")
}

func statusPageFlags(fs *pflag.FlagSet) cli.Setter[public.StatusPage] {
	var title, description string
	var list, called []string
	var off, webhooks bool
	var mail, logo, accent, accentDark string
	fs.StringVar(&logo, "logo", "", "PNG or JPEG file of at most 32 KiB, shown beside the title; an empty name removes it")
	fs.StringVar(&accent, "accent", "", "colour of links and buttons, such as #0b5cad; an empty one is Belfry's own")
	fs.StringVar(&accentDark, "accent-dark", "", "the same in the dark theme; default: the nearest to --accent that can be read there")
	fs.StringVar(&mail, "subscribe-mail", "", "channel of kind email through which visitors subscribe by mail; an empty one ends that")
	fs.BoolVar(&webhooks, "subscribe-webhooks", false, "visitors may subscribe webhooks; =false ends that")
	fs.StringVar(&title, "title", "", "default: the name")
	fs.StringArrayVar(&list, "section", nil, "TITLE=MONITOR,tag:TAG,...; may be repeated; an empty one leaves only the monitors that are public")
	fs.StringArrayVar(&called, "monitor-title", nil, "MONITOR=TITLE, shown on this page instead of the monitor's own title; may be repeated; an empty title ends that")
	fs.BoolVar(&off, "off", false, "nobody sees it; --off=false ends that")
	fs.StringVar(&description, "description", "", "for people")
	return func(_ *cli.Conn, fs *pflag.FlagSet, d *public.StatusPage, rest []string) error {
		cli.Set(fs.Changed("title"), title, &d.Title)
		cli.Set(fs.Changed("off"), off, &d.Off)
		cli.Set(fs.Changed("description"), description, &d.Description)
		cli.Set(fs.Changed("accent"), accent, &d.Accent)
		cli.Set(fs.Changed("accent-dark"), accentDark, &d.AccentDark)
		if fs.Changed("logo") {
			text, err := imageText(logo)
			if err != nil {
				return err
			}
			d.Logo = text
		}
		if fs.Changed("subscribe-mail") || fs.Changed("subscribe-webhooks") {
			ways := public.Subscribing{}
			if d.Subscribe != nil {
				ways = *d.Subscribe
			}
			cli.Set(fs.Changed("subscribe-mail"), mail, &ways.Mail)
			cli.Set(fs.Changed("subscribe-webhooks"), webhooks, &ways.Webhooks)
			d.Subscribe = &ways
		}
		if fs.Changed("section") {
			before := d.Sections
			d.Sections = nil
			for _, text := range list {
				if text == "" {
					continue
				}
				s, err := sectionOf(text)
				if err != nil {
					return err
				}
				d.Sections = append(d.Sections, withTitles(s, before))
			}
		}
		for _, text := range called {
			if err := nameMonitor(d, text); err != nil {
				return err
			}
		}
		return cli.NoRest(rest)
	}
}

// imageText returns an image file in base64. It reads only enough of a large file to refuse it.
func imageText(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", core.InvalidField("--logo", path, "cannot be read: "+core.OneLine(err.Error()), "name a PNG or JPEG file")
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, public.MaxLogo+3))
	if err != nil {
		return "", core.InvalidField("--logo", path, "cannot be read: "+core.OneLine(err.Error()), "name a PNG or JPEG file")
	}
	return base64.StdEncoding.EncodeToString(all), nil
}

// look describes the accent color and the logo of a status page.
func look(d public.StatusPage) (accent, logo string) {
	if light, dark := d.Accents(); light+dark != "" {
		accent = fmt.Sprintf("%s, in the dark %s", cmp.Or(light, "as usual"), cmp.Or(dark, "as usual"))
	}
	if l, err := d.Image(); err == nil && d.Logo != "" {
		logo = l.String()
	}
	return accent, logo
}

// withTitles returns a section with the titles of monitors from the previous definition of the page.
func withTitles(s public.StatusSection, before []public.StatusSection) public.StatusSection {
	for _, old := range before {
		for name, title := range old.Titles {
			if _, has := s.Titles[name]; !has && (len(s.Tags) > 0 || slices.Contains(s.Monitors, name)) {
				s.Titles = with(s.Titles, name, title)
			}
		}
	}
	return s
}

func with(titles map[string]string, name, title string) map[string]string {
	if titles = maps.Clone(titles); titles == nil {
		titles = map[string]string{}
	}
	if titles[name] = title; title == "" {
		delete(titles, name)
	}
	return titles
}

// nameMonitor reads "site=Our shop", for all sections that name the monitor or tags.
func nameMonitor(d *public.StatusPage, text string) error {
	name, title, found := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !found || name == "" {
		return core.InvalidField("--monitor-title", text, "does not say how the monitor is called", "write MONITOR=TITLE")
	}
	d.Sections = slices.Clone(d.Sections)
	named := false
	for i, s := range d.Sections {
		if slices.Contains(s.Monitors, name) || len(s.Tags) > 0 {
			d.Sections[i].Titles, named = with(s.Titles, name, strings.TrimSpace(title)), true
		}
	}
	if !named {
		return core.InvalidField("--monitor-title", name, "is not in a section of the page", "name it in one: --section 'TITLE="+name+"'")
	}
	return nil
}

// sectionOf reads "Shop=site,api,tag:infra".
func sectionOf(text string) (s public.StatusSection, err error) {
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
