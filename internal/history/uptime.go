package history

import (
	"cmp"
	"slices"
	"time"
)

// uptimes compares the uptime of each monitor with the log of its target.
func (c *checker) uptimes() {
	changes := map[string][]At[Target]{}
	for _, t := range c.h.Targets {
		changes[t.V.Monitor] = append(changes[t.V.Monitor], t)
	}
	for _, m := range c.h.Monitors {
		c.uptime(m, changes[m.V.Name])
	}
}

func (c *checker) uptime(at At[Monitor], log []At[Target]) {
	m := at.V
	if sum := m.Up + m.Down + m.Maintenance + m.Paused + m.Unknown; sum != m.To-m.From {
		c.broken(PromiseUptime, []int{at.Line}, "monitor %s: its parts add up to %s of %s", m.Name, span(sum), span(m.To-m.From))
	}
	if len(log) == 0 {
		return // the target has no log
	}
	slices.SortStableFunc(log, func(a, b At[Target]) int { return cmp.Compare(a.V.Time, b.V.Time) })
	lines := []int{at.Line}
	var up, down int64
	changes := int64(0)
	for i, t := range log {
		end := m.To
		if i+1 < len(log) {
			end = min(log[i+1].V.Time, m.To)
		}
		if begin := max(t.V.Time, m.From); begin < end {
			if t.V.State == "up" {
				up += end - begin
			} else {
				down += end - begin
			}
			lines = append(lines, t.Line)
			if i > 0 && t.V.Time > m.From && t.V.State != log[i-1].V.State {
				changes++
			}
		}
	}
	// Unobserved time may count either way, and so may each change for as long as it may be seen late.
	unseen := m.Maintenance + m.Paused + m.Unknown + changes*m.Slack
	if first := log[0].V.Time; first > m.From {
		unseen += min(first, m.To) - m.From
	}
	if (m.Down-down) > unseen || (down-m.Down) > unseen {
		c.broken(PromiseUptime, lines, "monitor %s: %s down are recorded, and by the log of its target it was down for %s, give or take %s", m.Name, span(m.Down), span(down), span(unseen))
	}
	if (m.Up-up) > unseen || (up-m.Up) > unseen {
		c.broken(PromiseUptime, lines, "monitor %s: %s up are recorded, and by the log of its target it was up for %s, give or take %s", m.Name, span(m.Up), span(up), span(unseen))
	}
}

func span(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }
