package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// OnOff returns the word for a setting that can be switched off.
func OnOff(off bool) string {
	if off {
		return "off"
	}
	return "on"
}

// Labels returns the labels of a worker in one line.
func Labels(labels map[string]string) string {
	return strings.ReplaceAll(setting.Entries(labels, "="), "\n", ",")
}

// The styles of all output, which painters apply.
var (
	StyleHead = lipgloss.NewStyle().Bold(true)
	StyleGood = lipgloss.NewStyle().Foreground(lipgloss.Green)
	StyleBad  = lipgloss.NewStyle().Foreground(lipgloss.Red)
	StyleBusy = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	StyleWarn = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	StyleDim  = lipgloss.NewStyle().Faint(true)
)

// painter returns a function that applies styles, or none without color.
func painter(color bool) func(lipgloss.Style, string) string {
	if !color {
		return func(_ lipgloss.Style, s string) string { return s }
	}
	return func(st lipgloss.Style, s string) string { return st.Render(s) }
}

// Painter returns a function that applies styles if stdout is a terminal that shows them.
func (c *CLI) Painter() func(lipgloss.Style, string) string {
	return painter(c.colorOn(c.Stdout))
}

// Emit writes v in the format of -o; table draws it for people.
func (c *CLI) Emit(v any, table func(w io.Writer)) error {
	switch c.Output {
	case "json":
		return WriteJSON(c.Stdout, v)
	case "yaml":
		return config.WriteYAML(c.Stdout, v)
	}
	table(c.Stdout)
	return nil
}

// CheckOutput refuses an unknown value of -o, before the verb runs.
func (c *CLI) CheckOutput() error {
	if !slices.Contains([]string{"table", "json", "yaml"}, c.Output) {
		return core.InvalidField("--output", c.Output, "is not an output", "one of table, json, yaml")
	}
	return nil
}

// WriteJSON writes v with indents.
func WriteJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", plainjson.Indent(text))
	return err
}

// Grid is a table of aligned columns, plain enough for cut and awk.
type Grid struct {
	head  []string
	rows  [][]string
	Least []int // minimum widths of columns
	Paint func(lipgloss.Style, string) string
}

// Grid returns an empty table with these columns. A column whose head begins with
// a question mark is left out if all its cells are empty.
func (c *CLI) Grid(head ...string) *Grid {
	return &Grid{head: head, Paint: c.Painter()}
}

// Row adds a row. Line breaks in cells become spaces, so that foreign text cannot look like a row.
func (g *Grid) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = inLine.Replace(cell)
	}
	g.rows = append(g.rows, row)
}

var inLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// leaveOut removes optional columns that are empty.
func (g *Grid) leaveOut() {
	for i := len(g.head) - 1; i >= 0; i-- {
		name, optional := strings.CutPrefix(g.head[i], "?")
		g.head[i] = name
		if !optional || slices.ContainsFunc(g.rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		g.head = slices.Delete(g.head, i, i+1)
		for at, row := range g.rows {
			g.rows[at] = slices.Delete(row, i, i+1)
		}
		if i < len(g.Least) {
			g.Least = slices.Delete(g.Least, i, i+1)
		}
	}
}

// Write writes the table.
func (g *Grid) Write(w io.Writer) {
	g.leaveOut()
	widths := make([]int, len(g.head))
	copy(widths, g.Least)
	g.Least = widths
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	head := make([]string, len(g.head))
	for i, h := range g.head {
		head[i] = g.Paint(StyleHead, h)
	}
	writeRow(w, head, widths)
	for _, row := range g.rows {
		writeRow(w, row, widths)
	}
}

// WriteNext writes one more row below the table. A cell that is wider than its column widens the column of the rows to come.
func (g *Grid) WriteNext(w io.Writer, row []string) {
	for i, cell := range row {
		row[i] = inLine.Replace(cell)
		g.Least[i] = max(g.Least[i], lipgloss.Width(row[i]))
	}
	writeRow(w, row, g.Least)
}

// writeRow writes one row with these minimum widths of columns.
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

// Pairs writes a table of names and values. Empty values are left out.
func (c *CLI) Pairs(w io.Writer, pairs ...string) {
	paint := c.Painter()
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
		fmt.Fprintf(w, "%s%s  %s\n", paint(StyleDim, pairs[i]), strings.Repeat(" ", width-len(pairs[i])), value)
	}
}

// State returns a state in its color.
func (g *Grid) State(s string) string { return g.Paint(StateStyle(s), s) }

// StateStyle returns the style of a state.
func StateStyle(s string) lipgloss.Style {
	switch s {
	case string(job.Succeeded), string(schedule.Active), string(job.OutcomeOK), string(monitor.StatusUp), string(alert.Sent):
		return StyleGood
	case string(job.Failed), string(job.OutcomeError), string(job.OutcomeTimeout), string(job.OutcomeLost), string(monitor.StatusDown), string(task.CheckFail):
		return StyleBad
	case string(job.Running):
		return StyleBusy
	case string(schedule.Paused), string(job.Canceled), string(job.Skipped), string(task.CheckDegraded), string(monitor.SpanMaintenance):
		return StyleWarn
	}
	return lipgloss.NewStyle()
}

// When formats an instant for people: the local time, and its distance from now.
func When(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Stamp(t) + " (" + Ago(t, now) + ")"
}

// Stamp formats an instant as local time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return core.StampIn(t, time.Local)
}

// Ago formats the distance of an instant from now, such as "3m ago" or "in 5s".
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	if d := now.Sub(t); d >= 0 {
		return core.SpanText(d) + " ago"
	}
	return "in " + core.SpanText(t.Sub(now))
}

// Count formats a number that is only counted up to a limit.
func Count(n int) string {
	if n > core.CountLimit {
		return fmt.Sprintf(">%d", core.CountLimit)
	}
	return fmt.Sprint(n)
}

// Clip returns the first line of a text, cut for a table.
func Clip(s string, n int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	} else if more {
		return s + " …"
	}
	return s
}

// InZone formats an instant in the zone of its schedule.
func InZone(t time.Time, zone string) string {
	loc, err := cron.LoadZone(zone)
	if err != nil {
		loc = time.UTC
	}
	return core.StampIn(t, loc)
}
