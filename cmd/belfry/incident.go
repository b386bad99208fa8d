package main

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

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) incidentCmd() *cobra.Command {
	return noun("incident", "Outages of what is watched", []string{"incidents", "outage"}, c.incidentList(), c.incidentShow())
}

func (c *cli) incidentList() *cobra.Command {
	var m string
	var open, over bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List incidents, the newest first", Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.Flags().StringVar(&m, "monitor", "", "only those of a monitor")
	cmd.Flags().BoolVar(&open, "open", false, "only those that have not ended")
	cmd.Flags().BoolVar(&over, "over", false, "only those that have")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		p, err := allPages(*limit, func(pg core.Paging) (core.Page[monitor.Incident], error) {
			return s.Incidents(ctx, view.IncidentFilter{Paging: pg, Namespace: s.namespace, Monitor: m, Open: open, Over: over})
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no incidents")
				return
			}
			g := c.grid("ID", "MONITOR", "BEGAN", "LASTED", "ENDED", "CAUSE")
			for _, i := range p.Items {
				g.row(strconv.FormatInt(i.ID, 10), s.label(i.Namespace, i.Monitor), stamp(i.StartedAt), lasted(i, s.now),
					incidentEnd(g, i), clip(fault(i.Code, i.Message), 80))
			}
			g.write(w)
		})
	})
	return cmd
}

func lasted(i monitor.Incident, now time.Time) string {
	if i.EndedAt.IsZero() {
		return span(now.Sub(i.StartedAt))
	}
	return span(i.EndedAt.Sub(i.StartedAt))
}

func incidentEnd(g *grid, i monitor.Incident) string {
	if i.EndedAt.IsZero() {
		return g.paint(styleBad, "open")
	}
	return i.EndedBy
}

func (c *cli) incidentShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show an incident, and what came back instead", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			id, err := job.IDFromText("ID", args[0])
			if err != nil {
				return core.InvalidField("ID", args[0], "is not the number of an incident", "see: belfry incident list")
			}
			i, err := s.Incident(ctx, s.namespace, id)
			if err != nil {
				return err
			}
			return c.emit(i, func(w io.Writer) { c.drawIncident(w, i, s.now) })
		}),
	}
}

func (c *cli) drawIncident(w io.Writer, i monitor.Incident, now time.Time) {
	ended := "not yet"
	if !i.EndedAt.IsZero() {
		ended = when(i.EndedAt, now) + ", " + i.EndedBy
	}
	maintenance := ""
	if i.Maintenance {
		maintenance = "it began in a window"
	}
	c.pairs(w, "id", strconv.FormatInt(i.ID, 10), "monitor", i.Monitor, "namespace", i.Namespace,
		"began", when(i.StartedAt, now), "ended", ended, "lasted", lasted(i, now), "cause", fault(i.Code, i.Message),
		"last good", when(i.LastGoodAt, now), "failures", fmt.Sprintf("%d until it was confirmed", i.Failures), "maintenance", maintenance)
	if i.Snapshot == nil {
		return
	}
	paint := c.painter()
	fmt.Fprintf(w, "\n%s\n", paint(styleDim, "what came back:"))
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
		fmt.Fprintln(c.stderr, "there was more, which is not kept")
	}
}
