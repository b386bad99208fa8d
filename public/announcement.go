package public

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Announcement is a text on a status page for all visitors, besides incidents.
type Announcement struct {
	Namespace string    `json:"namespace,omitempty" doc:"Owner of the status page; default: default"`
	Page      string    `json:"page,omitempty" doc:"Name of the status page"`
	Title     string    `json:"title" doc:"One line, at most 200 bytes"`
	Text      string    `json:"text,omitempty" doc:"At most 4,000 characters"`
	Level     Level     `json:"level,omitempty" enum:"info,notice,warning" doc:"Default: info"`
	From      time.Time `json:"from,omitzero" doc:"From when on it is shown; default: at once"`
	Until     time.Time `json:"until,omitzero" doc:"Until when it is shown; default: until a person ends it"`

	ID         int64             `json:"id,omitempty" readOnly:"true"`
	Generation int64             `json:"generation,omitempty" readOnly:"true"`
	State      AnnouncementState `json:"state,omitempty" enum:"planned,shown,over" readOnly:"true"`
	By         string            `json:"by,omitempty" readOnly:"true" doc:"Who wrote it; never shown to everyone"`
	CreatedAt  time.Time         `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time         `json:"updated_at,omitzero" readOnly:"true"`
}

// Level is the importance of an announcement.
type Level string

// The levels: an information, a planned event, a problem.
const (
	Info    Level = "info"
	Notice  Level = "notice"
	Warning Level = "warning"
)

// Levels lists all levels, the least important first.
var Levels = []Level{Info, Notice, Warning}

// AnnouncementState is whether an announcement is upcoming, current or over.
type AnnouncementState string

// The states of an announcement.
const (
	Planned AnnouncementState = "planned"
	Shown   AnnouncementState = "shown"
	Over    AnnouncementState = "over"
)

// Limits of announcements.
const (
	MaxAnnouncements     = 20   // announcements of a status page that are not over
	KeptAnnouncements    = 100  // announcements of a status page that are over; older ones are removed
	MaxAnnouncementText  = 4000 // characters
	announcedTwiceWithin = 10 * time.Minute
)

// WithDefaults returns a copy with the defaults of empty fields.
func (a Announcement) WithDefaults() Announcement {
	a.Namespace = core.Or(a.Namespace, core.DefaultNamespace)
	a.Level = core.Or(a.Level, Info)
	a.Title, _ = core.CleanText(strings.TrimSpace(a.Title), title.Max+1)
	a.Text, _ = core.CleanText(strings.TrimSpace(strings.ReplaceAll(a.Text, "\r\n", "\n")), 4*MaxAnnouncementText+1)
	a.From, a.Until = core.Micro(a.From), core.Micro(a.Until)
	return a
}

// Validate returns the problems of an announcement that has its defaults as one error, or nil.
func (a Announcement) Validate() error {
	var p core.Problems
	if a.Title == "" {
		p.Add("title", "", "is missing", "say in one line what visitors have to know")
	}
	title.Check(&p, "title", a.Title)
	if utf8.RuneCountInString(a.Text) > MaxAnnouncementText {
		p.Add("text", "", fmt.Sprintf("has more than %d characters", MaxAnnouncementText), "shorten it, and link to the rest")
	}
	if !slices.Contains(Levels, a.Level) {
		p.Add("level", string(a.Level), "is not a level", "one of "+core.List(Levels))
	}
	if !a.From.IsZero() && !a.Until.IsZero() && !a.Until.After(a.From) {
		p.Add("until", a.Until.Format(time.RFC3339), "must be after from", "")
	}
	return p.Err("announcement")
}

// StateAt returns the state of an announcement at now.
func (a Announcement) StateAt(now time.Time) AnnouncementState {
	switch {
	case !a.Until.IsZero() && !now.Before(a.Until):
		return Over
	case a.From.After(now):
		return Planned
	}
	return Shown
}

// Version returns the version of the announcement.
func (a Announcement) Version() string { return core.Version(a.Generation, a.UpdatedAt) }

// Ended returns the announcement ended at now. An announcement that is over stays unchanged. One that has not begun ends
// without being shown.
func (a Announcement) Ended(now time.Time) Announcement {
	if a.StateAt(now) != Over {
		a.Until = now
		if a.From.After(now) {
			a.From = now
		}
	}
	return a
}

// sameWords reports whether two announcements have the same text and times.
func (a Announcement) sameWords(b Announcement) bool {
	return a.Title == b.Title && a.Text == b.Text && a.Level == b.Level && a.From.Equal(b.From) && a.Until.Equal(b.Until) && a.By == b.By
}

// Announce decides about a new announcement, given all announcements of the page, newest first. If it repeats one of the
// last ten minutes, that one is returned as existing, because the answer to the first call may have been lost. old are
// the IDs of announcements to remove.
func Announce(a Announcement, all []Announcement, now time.Time) (existing *Announcement, old []int64, _ error) {
	if err := a.Validate(); err != nil {
		return nil, nil, err
	}
	if a.StateAt(now) == Over {
		return nil, nil, core.InvalidField("until", a.Until.Format(time.RFC3339), "has passed", "name a time to come, or none")
	}
	if len(all) > 0 && all[0].sameWords(a) && all[0].StateAt(now) != Over && now.Sub(all[0].CreatedAt) < announcedTwiceWithin {
		return &all[0], nil, nil
	}
	open, over := 0, 0
	for _, is := range all {
		if is.StateAt(now) != Over {
			open++
		} else if over++; over > KeptAnnouncements {
			old = append(old, is.ID)
		}
	}
	return nil, old, room(a, open)
}

// Change returns an error if an edited announcement is not allowed, given all announcements of its page.
func Change(a Announcement, all []Announcement, now time.Time) error {
	if err := a.Validate(); err != nil {
		return err
	}
	open := 0
	for _, is := range all {
		if is.ID != a.ID && is.StateAt(now) != Over {
			open++
		}
	}
	if a.StateAt(now) == Over {
		return nil
	}
	return room(a, open)
}

func room(a Announcement, open int) error {
	if open >= MaxAnnouncements {
		return core.Errorf(core.Conflict, "status page %q has %d announcements that are not over, the most that it can have", a.Page, open).
			WithHint("end one first: belfry announcement list %s", a.Page)
	}
	return nil
}
