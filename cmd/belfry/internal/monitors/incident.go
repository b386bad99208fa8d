package monitors

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// Incident is the command incident.
func Incident(c *cli.CLI) *cobra.Command {
	return cli.Noun("incident", "Show and handle incidents: outages of monitored targets", []string{"incidents", "outage"}, incidentList(c), incidentShow(c),
		incidentAcknowledge(c), incidentUnacknowledge(c), incidentAssign(c), incidentUnassign(c), incidentUpdate(c))
}

func incidentList(c *cli.CLI) *cobra.Command {
	var m, assigned string
	var open, over bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List incidents, the newest first", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&m, "monitor", "", "only those of a monitor")
	cmd.Flags().BoolVar(&open, "open", false, "only those that have not ended")
	cmd.Flags().BoolVar(&over, "over", false, "only those that have")
	cmd.Flags().StringVar(&assigned, "assigned", "", "only those of a person")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[monitor.Incident], error) {
			return s.Incidents(ctx, view.IncidentFilter{Paging: pg, Namespace: s.NS, Monitor: m, Open: open, Over: over, Assigned: assigned})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no incidents")
				return
			}
			g := c.Grid("ID", "MONITOR", "STARTED", "DURATION", "ENDED", "ACKNOWLEDGED", "ASSIGNED", "CAUSE")
			for _, i := range p.Items {
				g.Row(strconv.FormatInt(i.ID, 10), s.Label(i.Namespace, i.Monitor), cli.Stamp(i.StartedAt), lasted(i, s.Now),
					incidentEnd(g, i), acknowledgedBy(i), i.Assignee(), cli.Clip(fault(i.Code, i.Message), 80))
			}
			g.Write(w)
		})
	})
	return cmd
}

func lasted(i monitor.Incident, now time.Time) string {
	if i.EndedAt.IsZero() {
		return core.SpanText(now.Sub(i.StartedAt))
	}
	return core.SpanText(i.EndedAt.Sub(i.StartedAt))
}

func incidentEnd(g *cli.Grid, i monitor.Incident) string {
	if i.EndedAt.IsZero() {
		return g.Paint(cli.StyleBad, "open")
	}
	return i.EndedBy
}

func incidentShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show an incident: what came back instead, and what people wrote", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := incidentID(args[0])
			if err != nil {
				return err
			}
			i, err := s.Incident(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(i, func(w io.Writer) { drawIncident(c, w, i, s.Now) })
		}),
	}
}

func incidentID(text string) (int64, error) {
	id, err := job.IDFromText("ID", text)
	if err != nil {
		return 0, core.InvalidField("ID", text, "is not the number of an incident", "see: belfry incident list")
	}
	return id, nil
}

func incidentAcknowledge(c *cli.CLI) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "acknowledge ID", Aliases: []string{"ack"}, Short: "Say that you look after an incident; no reminder of it is sent then", Args: cobra.ExactArgs(1),
		Example: `  belfry incident acknowledge 12 --note 'restarting the database'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := incidentID(args[0])
			if err != nil {
				return err
			}
			i, err := s.AcknowledgeIncident(ctx, s.NS, id, note)
			if err != nil {
				return err
			}
			return c.Emit(i, func(w io.Writer) {
				fmt.Fprintf(w, "incident %d of %s is acknowledged by %s\n", i.ID, i.Monitor, acknowledgedBy(i))
			})
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "what you do about it")
	return cmd
}

func acknowledgedBy(i monitor.Incident) string {
	if i.Acknowledged == nil {
		return ""
	}
	return i.Acknowledged.By
}

func acknowledgement(i monitor.Incident, now time.Time) string {
	if i.Acknowledged == nil {
		return ""
	}
	text := "by " + i.Acknowledged.By + ", " + cli.When(i.Acknowledged.At, now)
	if i.Acknowledged.Note != "" {
		text += ": " + i.Acknowledged.Note
	}
	return text
}

func incidentUnacknowledge(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "unacknowledge ID", Aliases: []string{"unack"}, Short: "Take an acknowledgement back; it may be that of another person", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := incidentID(args[0])
			if err != nil {
				return err
			}
			i, err := s.UnacknowledgeIncident(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(i, func(w io.Writer) { fmt.Fprintf(w, "incident %d of %s is not acknowledged\n", i.ID, i.Monitor) })
		}),
	}
}

func incidentUpdate(c *cli.CLI) *cobra.Command {
	var u monitor.Update
	cmd := &cobra.Command{
		Use: "update ID TEXT", Short: "Write an update of an incident, which cannot be changed afterwards", Args: cobra.ExactArgs(2),
		Example: `  belfry incident update 12 'the disk of db1 is full'
  belfry incident update 12 --state identified --public 'We found the cause and expect to be back by 15:00 UTC.'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := incidentID(args[0])
			if err != nil {
				return err
			}
			u.Text = args[1]
			u, err := s.UpdateIncident(ctx, s.NS, id, u)
			if err != nil {
				return err
			}
			return c.Emit(u, func(w io.Writer) { fmt.Fprintf(w, "incident %d has update %d\n", id, u.Seq) })
		}),
	}
	cmd.Flags().StringVar((*string)(&u.State), "state", "", "investigating, identified, monitoring or resolved; default: a note")
	cmd.Flags().BoolVar(&u.Public, "public", false, "show it on status pages that show the monitor, without your name")
	return cmd
}

// drawUpdates writes the updates of people, oldest first.
func drawUpdates(c *cli.CLI, w io.Writer, updates []monitor.Update, now time.Time) {
	paint := c.Painter()
	for n, u := range updates {
		if n == 0 {
			fmt.Fprintf(w, "\n%s\n", paint(cli.StyleDim, "updates:"))
		}
		head := cli.When(u.At, now) + "  " + u.Actor
		if u.State != "" {
			head += "  " + string(u.State)
		}
		if u.Public {
			head += "  public"
		}
		fmt.Fprintf(w, "%s\n  %s\n", head, strings.ReplaceAll(u.Text, "\n", "\n  "))
	}
}

func drawIncident(c *cli.CLI, w io.Writer, i monitor.Incident, now time.Time) {
	ended := "not yet"
	if !i.EndedAt.IsZero() {
		ended = cli.When(i.EndedAt, now) + ", " + i.EndedBy
	}
	maintenance := ""
	if i.Maintenance {
		maintenance = "it began in a window"
	}
	c.Pairs(w, "id", strconv.FormatInt(i.ID, 10), "monitor", i.Monitor, "namespace", i.Namespace,
		"began", cli.When(i.StartedAt, now), "ended", ended, "lasted", lasted(i, now), "cause", fault(i.Code, i.Message),
		"last good", cli.When(i.LastGoodAt, now), "failures", fmt.Sprintf("%d until it was confirmed", i.Failures), "maintenance", maintenance,
		"acknowledged", acknowledgement(i, now), "assigned", assignment(i, now))
	drawUpdates(c, w, i.Updates, now)
	if i.Snapshot == nil {
		return
	}
	paint := c.Painter()
	fmt.Fprintf(w, "\n%s\n", paint(cli.StyleDim, "what came back:"))
	if i.Snapshot.Status != "" {
		fmt.Fprintln(w, i.Snapshot.Status)
	}
	for _, name := range slices.Sorted(maps.Keys(i.Snapshot.Headers)) {
		fmt.Fprintf(w, "%s: %s\n", name, i.Snapshot.Headers[name])
	}
	if i.Snapshot.Body != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSuffix(i.Snapshot.Body, "\n"))
	}
	if i.Snapshot.Cut {
		fmt.Fprintln(c.Stderr, "there was more, which is not kept")
	}
}
