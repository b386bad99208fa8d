package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// Hook is the command hook.
func Hook(c *cli.CLI) *cobra.Command {
	return cli.Noun("hook", "Send events of jobs, schedules and monitors to programs, as signed webhooks", []string{"hooks"},
		append(hooks(c).Verbs(), hookStatus(c), hookEvents(c), hookReplay(c), hookPause(c, true), hookPause(c, false), hookTest(c), hookListen(c))...)
}

func hooks(c *cli.CLI) cli.Document[hook.Hook] {
	return cli.Document[hook.Hook]{
		CLI: c, Noun: "hook", Many: "hooks", Empty: "belfry hook set billing --url URL --secret-file hook.key",
		Arguments: "--url URL --secret-file FILE | --pull [flags]",
		Long: `Make or change a hook. It posts each event that it selects to its URL, signed with
its secret. What no flag names stays as it is, secrets included, as long as the URL
has the same host. Each filter that is given must match. Patterns have * for any
characters.

A URL or a secret that is written out stands in the list of processes and in the
shell's history. @FILE reads it from a file, and - from standard input. No answer
shows it again.

With --pull nothing is posted, and programs ask for the events: belfry hook listen NAME

See whether it works with: belfry hook test NAME`,
		Example: `  belfry hook set billing --url https://example.com/belfry --secret-file hook.key --task 'billing-*'
  belfry hook set failures --url https://example.com/belfry --secret @hook.key --on '*.failed,monitor.down,monitor.up'
  belfry hook set audit --pull --on 'job.*'`,
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[hook.Hook], error) {
			return s.ListHooks(ctx, f)
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (hook.Hook, error) {
			return s.Hook(ctx, ns, name)
		},
		Save: func(ctx context.Context, s *cli.Conn, d hook.Hook) (hook.Hook, error) { return s.SaveHook(ctx, d) },
		Drop: func(ctx context.Context, s *cli.Conn, ns, name string) error { return s.DeleteHook(ctx, ns, name) },

		Owner: func(d *hook.Hook) (namespace, name *string) { return &d.Namespace, &d.Name },
		Head:  []string{"TITLE", "DELIVERY", "PAUSED", "ON", "FILTER", "DESCRIPTION"},
		Row: func(_ *cli.Conn, d hook.Hook) []string {
			delivery, paused := "posted", "no"
			if d.Pull {
				delivery = "pulled"
			}
			if d.Paused {
				paused = "yes"
			}
			return []string{cli.Clip(d.Title, 40), delivery, paused, cli.Clip(strings.Join(d.On, ", "), 40), cli.Clip(selects(d), 50), cli.Clip(d.Description, 40)}
		},
		Draw:  func(w io.Writer, _ *cli.Conn, d hook.Hook) { drawHook(c, w, d) },
		Flags: func(fs *pflag.FlagSet) cli.Setter[hook.Hook] { return hookFlags(c, fs) },
		Said:  func(_ *cli.Conn, d hook.Hook) string { return ", on " + strings.Join(d.On, ", ") },
		Try: func(d hook.Hook) string {
			if d.Pull {
				return "belfry hook listen"
			}
			return "belfry hook test"
		},
	}
}

// selects returns the filters of a hook, without event types.
func selects(d hook.Hook) string {
	var parts []string
	for _, list := range []struct {
		noun  string
		names []string
	}{{"tasks ", d.Tasks}, {"queues ", d.Queues}, {"schedules ", d.Schedules}, {"monitors ", d.Monitors}, {"tags ", d.Tags}} {
		if len(list.names) > 0 {
			parts = append(parts, list.noun+strings.Join(list.names, ", "))
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "all")
}

func drawHook(c *cli.CLI, w io.Writer, d hook.Hook) {
	pull := ""
	if d.Pull {
		pull = "true"
	}
	headers := slices.Sorted(maps.Keys(d.Headers))
	c.Pairs(w, "name", d.Name, "namespace", d.Namespace, "title", d.Title, "description", d.Description, "pull", pull, "url", string(d.URL), "secret", string(d.Secret), "headers", strings.Join(headers, ", "),
		"on", strings.Join(d.On, ", "), "filter", selects(d), "paused", strconv.FormatBool(d.Paused),
		"generation", strconv.FormatInt(d.Generation, 10), "created", cli.Stamp(d.CreatedAt), "updated", cli.Stamp(d.UpdatedAt))
}

func hookFlags(c *cli.CLI, fs *pflag.FlagSet) cli.Setter[hook.Hook] {
	var url, secret, file, title, description string
	var headers, on, tasks, queues, schedules, monitors, tags []string
	var paused, pull bool
	fs.StringVar(&url, "url", "", "where events are posted; @FILE reads it from a file, - from standard input")
	fs.StringVar(&secret, "secret", "", "key of the signature, 16 bytes or more; @FILE reads it from a file, - from standard input")
	fs.StringVar(&file, "secret-file", "", "file with the key of the signature")
	fs.BoolVar(&pull, "pull", false, "post nothing: programs ask for the events; without --url and --secret")
	fs.StringArrayVar(&headers, "header", nil, "header of each request, as 'Name: value'; may be repeated")
	fs.StringSliceVar(&on, "on", nil, "types of events, such as job.failed or monitor.*; default: *, all of them")
	fs.StringSliceVar(&tasks, "task", nil, "only of these tasks: names or patterns")
	fs.StringSliceVar(&queues, "queue", nil, "only of jobs in these queues: names or patterns")
	fs.StringSliceVar(&schedules, "schedule", nil, "only of these schedules and of their jobs: names or patterns")
	fs.StringSliceVar(&monitors, "monitor", nil, "only of these monitors: names or patterns")
	fs.StringSliceVar(&tags, "tag", nil, "only of what has one of these tags")
	fs.BoolVar(&paused, "paused", false, "record events and deliver them when it is resumed; --paused=false ends that")
	fs.StringVar(&title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&description, "description", "", "for people")
	return func(_ *cli.Conn, fs *pflag.FlagSet, d *hook.Hook, rest []string) error {
		given := fs.Changed
		if given("secret") && given("secret-file") {
			return core.InvalidField("--secret-file", file, "cannot stand beside --secret", "keep one of them")
		}
		if err := c.SetSecret(given, "url", url, &d.URL); err != nil {
			return err
		}
		if err := c.SetSecret(given, "secret", secret, &d.Secret); err != nil {
			return err
		}
		if given("secret-file") {
			read, err := cli.SecretFile("--secret-file", file)
			if err != nil {
				return err
			}
			d.Secret = read
		}
		if given("header") {
			texts, err := cli.NameValues("--header", headers, ":")
			if err != nil {
				return err
			}
			d.Headers = map[string]core.Secret{}
			for name, value := range texts {
				if d.Headers[name], err = c.Secret("--header", value); err != nil {
					return err
				}
			}
		}
		cli.Set(given("pull"), pull, &d.Pull)
		cli.Set(given("on"), on, &d.On)
		cli.Set(given("task"), tasks, &d.Tasks)
		cli.Set(given("queue"), queues, &d.Queues)
		cli.Set(given("schedule"), schedules, &d.Schedules)
		cli.Set(given("monitor"), monitors, &d.Monitors)
		cli.Set(given("tag"), tags, &d.Tags)
		cli.Set(given("paused"), paused, &d.Paused)
		cli.Set(given("title"), title, &d.Title)
		cli.Set(given("description"), description, &d.Description)
		return cli.NoRest(rest)
	}
}

func hookStatus(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "status [NAME]", Aliases: []string{"deliveries"}, Short: "Show how the deliveries of all hooks are going, or of one with the last of them", Args: cobra.MaximumNArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return hookStatuses(ctx, c, s)
			}
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			st, err := s.HookStatus(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.Emit(st, func(w io.Writer) { drawStatus(c, w, st) })
		}),
	}
}

// hookStatuses shows the state of all hooks.
func hookStatuses(ctx context.Context, c *cli.CLI, s *cli.Conn) error {
	f := view.DocumentFilter{Namespace: s.NS}
	p, err := cli.AllPages(0, func(pg core.Paging) (core.Page[hook.Standing], error) {
		f.Paging = pg
		return s.HookStatuses(ctx, f)
	})
	if err != nil {
		return err
	}
	return c.Emit(p, func(w io.Writer) {
		if len(p.Items) == 0 {
			fmt.Fprintln(c.Stderr, "no hooks; make one: belfry hook set billing --url URL --secret-file hook.key")
			return
		}
		g := c.Grid("NAME", "STATE", "PENDING", "LAST TAKEN", "FAILING SINCE", "REASON")
		for _, st := range p.Items {
			g.Row(st.Hook, g.State(string(st.State)), pendingText(st), stamp(st.SentAt), stamp(st.FailingAt), cli.Clip(st.Reason, 60))
		}
		g.Write(w)
	})
}

func pendingText(st hook.Standing) string {
	if st.Pending == hook.MaxPending {
		return strconv.Itoa(st.Pending) + " or more"
	}
	return strconv.Itoa(st.Pending)
}

// stamp formats an instant; zero gives "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return cli.Stamp(t)
}

func drawStatus(c *cli.CLI, w io.Writer, st hook.Status) {
	pending, dropped := pendingText(st.Standing), ""
	if st.Pending > 0 {
		pending += ", the oldest of " + cli.Stamp(st.OldestAt)
	}
	if st.Dropped > 0 {
		dropped = strconv.FormatInt(st.Dropped, 10)
	}
	c.Pairs(w, "hook", st.Hook, "state", string(st.State), "reason", st.Reason, "pending", pending, "dropped", dropped, "failing since", stamp(st.FailingAt), "next try", stamp(st.NextTryAt),
		"disabled", stamp(st.DisabledAt), "last taken", stamp(st.SentAt))
	if len(st.Deliveries) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := c.Grid("AT", "EVENTS", "FIRST", "LAST", "DURATION", "RESULT")
	for _, t := range st.Deliveries {
		said := g.Paint(cli.StyleGood, "taken")
		if t.Error != "" {
			said = cli.Clip(t.Error, 120)
		}
		g.Row(cli.Stamp(t.At), strconv.Itoa(t.Events), strconv.FormatInt(t.First, 10), strconv.FormatInt(t.Last, 10), core.SpanText(t.Took.D()), said)
	}
	g.Write(w)
}

func hookEvents(c *cli.CLI) *cobra.Command {
	var state, kind string
	cmd := &cobra.Command{Use: "events NAME", Short: "List the events of a hook that are kept, the newest first", Args: cobra.ExactArgs(1)}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only pending or sent ones")
	cmd.Flags().StringVar(&kind, "type", "", "only of this type, or of a pattern such as 'job.*'")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		if err := cli.Choice("--state", hook.State(state), hook.Pending, hook.Sent); err != nil {
			return err
		}
		f := hook.Filter{Namespace: ns, Hook: args[0], State: hook.State(state), Type: kind}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[hook.Recorded], error) {
			f.Paging = pg
			return s.HookEvents(ctx, f)
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no events; they are recorded once the hook is saved, and kept for 3 days")
				return
			}
			g := c.Grid("ID", "AT", "TYPE", "SUBJECT", "STATE")
			for _, e := range p.Items {
				g.Row(strconv.FormatInt(e.ID, 10), cli.Stamp(e.At), e.Type, cli.Clip(thingOf(e.Event), 60), g.State(string(e.State)))
			}
			g.Write(w)
		})
	})
	return cmd
}

// thingOf returns the subject of an event.
func thingOf(e hook.Event) string {
	switch {
	case e.Job != nil:
		return fmt.Sprintf("job %d of %s", e.Job.ID, e.Job.Task)
	case e.Schedule != nil:
		return e.Schedule.Name
	case e.Monitor != nil:
		return e.Monitor.Name
	}
	return ""
}

func hookReplay(c *cli.CLI) *cobra.Command {
	var since, until, kind, id string
	cmd := &cobra.Command{
		Use: "replay NAME", Short: "Deliver events of a hook once more", Args: cobra.ExactArgs(1),
		Long: `Deliver events of a hook once more that its receiver took before. They keep their
ids, so that a receiver which has seen them can drop them. Events are kept for 3
days.`,
		Example: `  belfry hook replay billing --since 2h
  belfry hook replay billing --since '2026-03-01 10:00' --type 'job.*'
  belfry hook replay billing --id 4711`,
	}
	cmd.Flags().StringVar(&since, "since", "", "recorded at or after this time, or this long ago, such as 2h; default: all that are kept")
	cmd.Flags().StringVar(&until, "until", "", "recorded before this time, or this long ago; default: now")
	cmd.Flags().StringVar(&kind, "type", "", "only of this type, or of a pattern such as 'job.*'")
	cmd.Flags().StringVar(&id, "id", "", "only the event with this id")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		r := hook.Replay{Type: kind}
		if err := cli.Before(time.Now(), "--since", since, &r.Since); err != nil {
			return err
		}
		if err := cli.Before(time.Now(), "--until", until, &r.Until); err != nil {
			return err
		}
		if id != "" {
			if r.ID, err = job.IDFromText("--id", id); err != nil {
				return core.InvalidField("--id", id, "is not the id of an event", "see: belfry hook events "+args[0])
			}
		}
		out, err := s.ReplayHook(ctx, ns, args[0], r)
		if err != nil {
			return err
		}
		return c.Emit(out, func(w io.Writer) {
			fmt.Fprintf(w, "%s to be delivered once more\n", core.Plural(out.Events, "event"))
			fmt.Fprintf(c.Stderr, "see: belfry hook status %s\n", args[0])
		})
	})
	return cmd
}

func hookPause(c *cli.CLI, paused bool) *cobra.Command {
	cmd := &cobra.Command{Use: "pause NAME", Short: "Pause the deliveries of a hook; its events wait, for 3 days at most", Args: cobra.ExactArgs(1)}
	said := "paused"
	if !paused {
		cmd.Use, cmd.Short, said = "resume NAME", "Resume the deliveries of a hook that is paused or disabled", "resumed"
	}
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		d, err := s.PauseHook(ctx, ns, args[0], paused)
		if err != nil {
			return err
		}
		return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "hook %s %s\n", d.Name, said) })
	})
	return cmd
}

func hookTest(c *cli.CLI) *cobra.Command {
	return sending{
		noun: "hook", what: "event", short: "Send an event of type hook.test to a hook, and show the result",
		long: `Send an event of type hook.test to a hook, and show the result. With a server,
one of its nodes sends; without one, this process does, within the allow_addresses
of its configuration. The exit code is 1 when the event was not taken.`,
		remote: func(s *cli.Conn) func(context.Context, string, string) (wire.ChannelTest, error) {
			if server, is := s.Service.(interface {
				TestHook(ctx context.Context, namespace, name string) (wire.ChannelTest, error)
			}); is {
				return server.TestHook
			}
			return nil
		},
		secrets: func(s httpapi.Secrets) func(context.Context, string, string) (alert.Channel, error) {
			return s.HookSecrets
		},
		message: func(c alert.Channel, _ string, now time.Time) alert.Message {
			return hook.TestMessage(c.Namespace, hook.NameOf(c), rand.Text(), core.Micro(now))
		},
	}.test(c)
}
