package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

var (
	styleHead = lipgloss.NewStyle().Bold(true)
	styleGood = lipgloss.NewStyle().Foreground(lipgloss.Green)
	styleBad  = lipgloss.NewStyle().Foreground(lipgloss.Red)
	styleBusy = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	styleWarn = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	styleDim  = lipgloss.NewStyle().Faint(true)
)

// painter applies styles, or does not.
func painter(color bool) func(lipgloss.Style, string) string {
	if !color {
		return func(_ lipgloss.Style, s string) string { return s }
	}
	return func(st lipgloss.Style, s string) string { return st.Render(s) }
}

// painter applies styles if standard output is a terminal that shows them.
func (c *cli) painter() func(lipgloss.Style, string) string {
	return painter(c.colorOn(c.stdout))
}

// emit writes v as -o asks; table draws it for people.
func (c *cli) emit(v any, table func(w io.Writer)) error {
	switch c.output {
	case "json":
		return writeJSON(c.stdout, v)
	case "yaml":
		return config.WriteYAML(c.stdout, v)
	}
	table(c.stdout)
	return nil
}

// checkOutput refuses a value of -o that nobody knows, before anything is done.
func (c *cli) checkOutput() error {
	if !slices.Contains([]string{"table", "json", "yaml"}, c.output) {
		return core.InvalidField("--output", c.output, "is not an output", "one of table, json, yaml")
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", plainjson.Indent(text))
	return err
}

// grid is a table of aligned columns, plain enough for cut and awk.
type grid struct {
	head  []string
	rows  [][]string
	least []int // widths that columns have at least
	paint func(lipgloss.Style, string) string
}

func (c *cli) grid(head ...string) *grid {
	return &grid{head: head, paint: c.painter()}
}

func (g *grid) row(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) write(w io.Writer) {
	widths := make([]int, len(g.head))
	copy(widths, g.least)
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	head := make([]string, len(g.head))
	for i, h := range g.head {
		head[i] = g.paint(styleHead, h)
	}
	writeRow(w, head, widths)
	for _, row := range g.rows {
		writeRow(w, row, widths)
	}
}

func writeRow(w io.Writer, row []string, widths []int) {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(cell)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", max(widths[i]-lipgloss.Width(cell), 0)+2))
		}
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

// pairs is a table of names and values. Empty values are left out.
func (c *cli) pairs(w io.Writer, pairs ...string) {
	paint := c.painter()
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, len(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		value := strings.ReplaceAll(strings.TrimRight(pairs[i+1], "\n"), "\n", "\n"+strings.Repeat(" ", width+2))
		fmt.Fprintf(w, "%s%s  %s\n", paint(styleDim, pairs[i]), strings.Repeat(" ", width-len(pairs[i])), value)
	}
}

// state is the state of anything in its colour.
func (g *grid) state(s string) string { return g.paint(stateStyle(s), s) }

func stateStyle(s string) lipgloss.Style {
	switch s {
	case string(job.Succeeded), string(schedule.Active), string(job.OutcomeOK), string(monitor.StatusUp), string(alert.Sent):
		return styleGood
	case string(job.Failed), string(job.OutcomeError), string(job.OutcomeTimeout), string(job.OutcomeLost), string(monitor.StatusDown), string(task.CheckFail):
		return styleBad
	case string(job.Running):
		return styleBusy
	case string(schedule.Paused), string(job.Canceled), string(job.Skipped), string(task.CheckDegraded), string(monitor.SpanMaintenance):
		return styleWarn
	}
	return lipgloss.NewStyle()
}

// when is an instant for people: the local time of day and how far away.
func when(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t) + " (" + ago(t, now) + ")"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// ago is how far an instant is from now, such as "3m ago" or "in 5s".
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	if d := now.Sub(t); d >= 0 {
		return span(d) + " ago"
	}
	return "in " + span(t.Sub(now))
}

// span is a length of time with at most two units.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return core.Duration(d.Round(time.Second)).String()
	case d < 48*time.Hour:
		return core.Duration(d.Round(time.Minute)).String()
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// count shows numbers that are only counted up to a limit.
func count(n int) string {
	if n > core.CountLimit {
		return fmt.Sprintf(">%d", core.CountLimit)
	}
	return fmt.Sprint(n)
}

// clip is the first line of a text, short enough for a table.
func clip(s string, n int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	} else if more {
		return s + " …"
	}
	return s
}

func entries(m map[string]string, sep string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+sep+m[k])
	}
	return strings.Join(list, "\n")
}
