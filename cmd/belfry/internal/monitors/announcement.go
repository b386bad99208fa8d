package monitors

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// Announcement is the command announcement.
func Announcement(c *cli.CLI) *cobra.Command {
	return cli.Noun("announcement", "Manage announcements on status pages", []string{"announcements"},
		announcementList(c), announcementCreate(c), announcementUpdate(c), announcementEnd(c))
}

func announcementList(c *cli.CLI) *cobra.Command {
	var current bool
	cmd := &cobra.Command{Use: "list PAGE", Aliases: []string{"ls"}, Short: "List the announcements of a status page, the newest first", Args: cobra.ExactArgs(1)}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().BoolVar(&current, "current", false, "only those that are not over")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[public.Announcement], error) {
			return s.Announcements(ctx, view.AnnouncementFilter{Paging: pg, Namespace: ns, StatusPage: args[0], Current: current})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no announcements")
				return
			}
			g := c.Grid("ID", "STATE", "LEVEL", "FROM", "UNTIL", "BY", "TITLE")
			for _, a := range p.Items {
				g.Row(strconv.FormatInt(a.ID, 10), string(a.State), string(a.Level), cli.Stamp(shownFrom(a)), cli.Stamp(a.Until), a.By, cli.Clip(a.Title, 60))
			}
			g.Write(w)
		})
	})
	return cmd
}

// shownFrom returns the time from which an announcement is shown.
func shownFrom(a public.Announcement) time.Time {
	if a.From.IsZero() {
		return a.CreatedAt
	}
	return a.From
}

// announcementFlags adds the flags of a new announcement and of an edit.
func announcementFlags(fs *pflag.FlagSet) func(s *cli.Conn, a *public.Announcement) error {
	var text, level, from, until, long, zone string
	fs.StringVar(&text, "text", "", "more than the title, at most 4,000 characters")
	fs.StringVar(&level, "level", "", "info, notice or warning; default: info")
	fs.StringVar(&from, "from", "", "when it begins to be shown; default: at once")
	fs.StringVar(&until, "until", "", "when it is over; default: when it is ended")
	fs.StringVar(&long, "for", "", "instead of --until: for how long it is shown")
	fs.StringVar(&zone, "zone", "", "time zone of these times; default: UTC")
	return func(s *cli.Conn, a *public.Announcement) error {
		cli.Set(fs.Changed("text"), text, &a.Text)
		cli.Set(fs.Changed("level"), public.Level(level), &a.Level)
		if fs.Changed("until") && fs.Changed("for") {
			return core.InvalidField("--for", long, "cannot stand beside --until", "keep one of them")
		}
		if err := cli.Instant(from != "", "--from", from, zone, &a.From); err != nil {
			return err
		}
		if err := cli.Instant(until != "", "--until", until, zone, &a.Until); err != nil {
			return err
		}
		if fs.Changed("from") && from == "" {
			a.From = time.Time{}
		}
		if fs.Changed("until") && until == "" {
			a.Until = time.Time{}
		}
		if fs.Changed("for") {
			var span core.Duration
			if err := cli.Duration(fs.Changed, "for", long, &span); err != nil {
				return err
			}
			begin := a.From
			if begin.IsZero() {
				begin = core.Micro(s.Now)
			}
			a.Until = begin.Add(span.D())
		}
		return nil
	}
}

func announcementCreate(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create PAGE TITLE", Aliases: []string{"add"}, Short: "Announce something on a status page", Args: cobra.ExactArgs(2),
		Example: `  belfry announcement create public 'New data centre on Sunday' --level notice --until '2026-12-06 12:00'
  belfry announcement create public 'Mail is late' --level warning --text 'Nothing is lost.' --for 4h`,
	}
	set := announcementFlags(cmd.Flags())
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		a := public.Announcement{Namespace: ns, Page: args[0], Title: args[1]}
		if err := set(s, &a); err != nil {
			return err
		}
		a, err = s.CreateAnnouncement(ctx, a)
		if err != nil {
			return err
		}
		return c.Emit(a, func(w io.Writer) { fmt.Fprintf(w, "announcement %d on %s is %s\n", a.ID, a.Page, a.State) })
	})
	return cmd
}

func announcementUpdate(c *cli.CLI) *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use: "update PAGE ID", Aliases: []string{"edit"}, Short: "Change an announcement; what is not named stays", Args: cobra.ExactArgs(2),
		Example: `  belfry announcement update public 3 --text 'We are done with the first half.'
  belfry announcement update public 3 --until ''`,
	}
	set := announcementFlags(cmd.Flags())
	cmd.Flags().StringVar(&title, "title", "", "one line")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
		ns, id, err := announcementOf(s, args)
		if err != nil {
			return err
		}
		a, err := s.Announcement(ctx, ns, args[0], id)
		if err != nil {
			return err
		}
		cli.Set(cmd.Flags().Changed("title"), title, &a.Title)
		if err := set(s, &a); err != nil {
			return err
		}
		if a, err = s.UpdateAnnouncement(core.WithVersion(ctx, a.Version()), a); err != nil {
			return err
		}
		return c.Emit(a, func(w io.Writer) { fmt.Fprintf(w, "announcement %d on %s is %s\n", a.ID, a.Page, a.State) })
	})
	return cmd
}

func announcementEnd(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "end PAGE ID", Short: "End an announcement now", Args: cobra.ExactArgs(2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, id, err := announcementOf(s, args)
			if err != nil {
				return err
			}
			a, err := s.EndAnnouncement(ctx, ns, args[0], id)
			if err != nil {
				return err
			}
			return c.Emit(a, func(w io.Writer) {
				fmt.Fprintf(w, "announcement %d on %s is %s\n", a.ID, a.Page, cmp.Or(a.State, public.Over))
			})
		}),
	}
}

// announcementOf reads the arguments PAGE and ID.
func announcementOf(s *cli.Conn, args []string) (namespace string, id int64, err error) {
	if namespace, err = s.OneNamespace(); err != nil {
		return "", 0, err
	}
	if id, err = job.IDFromText("ID", args[1]); err != nil {
		return "", 0, core.InvalidField("ID", args[1], "is not the number of an announcement", "see: belfry announcement list "+args[0])
	}
	return namespace, id, nil
}
