package monitor

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Uptime is how much of a span of time a target was up. Its parts add up to the
// span. Only up and down count for the ratio: the state of the target is not
// known in maintenance, in pauses and in unobserved time.
type Uptime struct {
	From        time.Time     `json:"from"`
	To          time.Time     `json:"to"`
	Up          core.Duration `json:"up"`
	Down        core.Duration `json:"down"`
	Maintenance core.Duration `json:"maintenance"`
	Paused      core.Duration `json:"paused"`
	Unknown     core.Duration `json:"unknown" doc:"Nobody looked, or could"`
	Ratio       *float64      `json:"ratio" doc:"Up of up and down, 0 to 1; null when neither was seen"`
	Coverage    float64       `json:"coverage" doc:"Part of the span that was looked at or was maintenance, 0 to 1"`
	Outages     int           `json:"outages" doc:"Times that it was down; one that was under way at the begin counts"`
}

// UptimeOf sums up a timeline over [from, to). The first span may begin before.
// Unknown are the time before the first span, and an up or down beyond
// observedUntil, if that is not zero.
func UptimeOf(spans []Span, from, to, observedUntil time.Time) Uptime {
	u := Uptime{From: from, To: to}
	if !from.Before(to) {
		return u
	}
	whole := core.Duration(to.Sub(from))
	down := false // the last known state; a gap or maintenance does not end an outage
	for i, s := range spans {
		begin, end := core.Later(s.From, from), to
		if i+1 < len(spans) && spans[i+1].From.Before(to) {
			end = spans[i+1].From
		}
		if !begin.Before(end) {
			continue
		}
		switch s.State {
		case SpanUp, SpanDown:
			if !observedUntil.IsZero() && observedUntil.Before(end) {
				end = core.Later(begin, observedUntil)
			}
			if !begin.Before(end) {
				continue
			}
			if s.State == SpanUp {
				u.Up += core.Duration(end.Sub(begin))
				down = false
				break
			}
			u.Down += core.Duration(end.Sub(begin))
			if !down {
				u.Outages++
			}
			down = true
		case SpanMaintenance:
			u.Maintenance += core.Duration(end.Sub(begin))
		case SpanPaused:
			u.Paused += core.Duration(end.Sub(begin))
			down = false // a pause ends the incident
		}
	}
	u.Unknown = whole - u.Up - u.Down - u.Maintenance - u.Paused
	if counted := u.Up + u.Down; counted > 0 {
		ratio := float64(u.Up) / float64(counted)
		u.Ratio = &ratio
	}
	u.Coverage = float64(u.Up+u.Down+u.Maintenance) / float64(whole)
	return u
}
