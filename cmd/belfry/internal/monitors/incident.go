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
	return cli.Noun("incident", "Outages of what is watched", []string{"incidents", "outage"}, incidentList(c), incidentShow(c))
}

func incidentList(c *cli.CLI) *cobra.Command {
	var m string
	var open, over bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List incidents, the newest first", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.Flags().StringVar(&m, "monitor", "", "only those of a monitor")
	cmd.Flags().BoolVar(&open, "open", false, "only those that have not ended")
	cmd.Flags().BoolVar(&over, "over", false, "only those that have")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[monitor.Incident], error) {
			return s.Incidents(ctx, view.IncidentFilter{Paging: pg, Namespace: s.NS, Monitor: m, Open: open, Over: over})
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
			g := c.Grid("ID", "MONITOR", "BEGAN", "LASTED", "ENDED", "CAUSE")
			for _, i := range p.Items {
				g.Row(strconv.FormatInt(i.ID, 10), s.Label(i.Namespace, i.Monitor), cli.Stamp(i.StartedAt), lasted(i, s.Now),
					incidentEnd(g, i), cli.Clip(fault(i.Code, i.Message), 80))
			}
			g.Write(w)
		})
	})
	return cmd
}

func lasted(i monitor.Incident, now time.Time) string {
	if i.EndedAt.IsZero() {
		return cli.Span(now.Sub(i.StartedAt))
	}
	return cli.Span(i.EndedAt.Sub(i.StartedAt))
}

func incidentEnd(g *cli.Grid, i monitor.Incident) string {
	if i.EndedAt.IsZero() {
		return g.Paint(cli.StyleBad, "open")
	}
	return i.EndedBy
}

func incidentShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show an incident, and what came back instead", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of an incident", "see: belfry incident list")
			}
			i, err := s.Incident(ctx, s.NS, id)
			if err != nil {
				return err
			}
			return c.Emit(i, func(w io.Writer) { drawIncident(c, w, i, s.Now) })
		}),
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
		"last good", cli.When(i.LastGoodAt, now), "failures", fmt.Sprintf("%d until it was confirmed", i.Failures), "maintenance", maintenance)
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
