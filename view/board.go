package view

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

// Board is a status page with what it shows: no addresses, no messages, nothing
// but what is meant for everyone.
type Board struct {
	Title       string                 `json:"title"`
	Description string                 `json:"description,omitempty"`
	At          time.Time              `json:"at"`
	Sections    []BoardSection         `json:"sections"`
	Incidents   []BoardEntry           `json:"incidents" doc:"Of the last 14 days, newest first; at most 50"`
	Windows     []monitor.ActiveWindow `json:"windows,omitempty" doc:"Maintenance under way, or within a week"`
}

// BoardSection is a group of monitors.
type BoardSection struct {
	Title    string       `json:"title,omitempty"`
	Monitors []BoardEntry `json:"monitors"`
}

// BoardEntry is one monitor, or one incident, on a status page.
type BoardEntry struct {
	Monitor     string         `json:"monitor"`
	Description string         `json:"description,omitempty"`
	Status      monitor.Status `json:"status,omitempty" enum:"new,up,down,paused"`
	Degraded    bool           `json:"degraded,omitempty"`
	Maintenance bool           `json:"maintenance,omitempty"`
	Stale       bool           `json:"stale,omitempty" doc:"Nothing is known now, through no fault of the target"`
	Since       time.Time      `json:"since,omitzero"`
	Uptime      *float64       `json:"uptime,omitempty" doc:"Over the days, 0 to 1; absent when nothing is known"`
	Days        []BoardDay     `json:"days,omitempty" doc:"90 days, oldest first"`
	StartedAt   time.Time      `json:"started_at,omitzero" doc:"Of an incident"`
	EndedAt     time.Time      `json:"ended_at,omitzero" doc:"Of an incident that is over"`
}

// BoardDay is a day of a monitor.
type BoardDay struct {
	Day    time.Time     `json:"day"`
	Uptime *float64      `json:"uptime,omitempty" doc:"0 to 1; absent when nothing is known"`
	Down   core.Duration `json:"down,omitempty"`
}

// BoardDays is how many days a status page shows.
const BoardDays = 90
