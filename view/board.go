package view

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
)

// Board is a status page with its public content. It contains no addresses and no
// messages of checks.
type Board struct {
	Title       string                  `json:"title"`
	Description string                  `json:"description,omitempty"`
	At          time.Time               `json:"at"`
	Accent      string                  `json:"accent,omitempty" doc:"Colour of links and buttons in the light theme; absent: that of Belfry"`
	AccentDark  string                  `json:"accent_dark,omitempty" doc:"The same in the dark theme"`
	Logo        public.Logo             `json:"-"`
	Sections    []BoardSection          `json:"sections"`
	Announced   []BoardAnnouncement     `json:"announcements,omitempty" doc:"Newest first"`
	Subscribe   []public.SubscriberKind `json:"subscribe,omitempty" doc:"How visitors may subscribe"`
	Incidents   []BoardEntry            `json:"incidents" doc:"Of the last 14 days, newest first; at most 50"`
	Windows     []monitor.ActiveWindow  `json:"windows,omitempty" doc:"Maintenance under way, or within a week"`
}

// BoardAnnouncement is an announcement without its author.
type BoardAnnouncement struct {
	ID        int64        `json:"id"`
	Title     string       `json:"title"`
	Text      string       `json:"text,omitempty"`
	Level     public.Level `json:"level" enum:"info,notice,warning"`
	From      time.Time    `json:"from"`
	Until     time.Time    `json:"until,omitzero" doc:"Absent: until a person ends it"`
	UpdatedAt time.Time    `json:"updated_at"`
}

// BoardSection is a group of monitors.
type BoardSection struct {
	Title    string       `json:"title,omitempty"`
	Monitors []BoardEntry `json:"monitors"`
}

// BoardEntry is one monitor, or one incident, on a status page.
type BoardEntry struct {
	Monitor     string         `json:"monitor"`
	Title       string         `json:"title,omitempty" doc:"Of the section for the monitor, or else of the monitor, when there is one"`
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
	Updates     []BoardUpdate  `json:"updates,omitempty" doc:"Of an incident: what people wrote for everyone, newest first"`
}

// Label returns the title of the monitor, or its name, for visitors.
func (e BoardEntry) Label() string { return core.Or(e.Title, e.Monitor) }

// BoardUpdate is a public update of an incident, without its author.
type BoardUpdate struct {
	At    time.Time             `json:"at"`
	State monitor.IncidentState `json:"state,omitempty" enum:"investigating,identified,monitoring,resolved"`
	Text  string                `json:"text"`
}

// BoardUpdates is the most updates of a status page, the newest of all its incidents.
const BoardUpdates = 100

// BoardDay is one day of a monitor.
type BoardDay struct {
	Day    time.Time     `json:"day"`
	Uptime *float64      `json:"uptime,omitempty" doc:"0 to 1; absent when nothing is known"`
	Down   core.Duration `json:"down,omitempty"`
}

// BoardDays is the number of days of a status page.
const BoardDays = 90
