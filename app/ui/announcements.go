package ui

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// announcementView is an announcement as the template wants it.
type announcementView struct {
	Title, Text string
	From, To    moment
	Tone, Mark  string // of its colour and its shape
	Word        string
}

func newAnnouncements(b view.Board) (out []announcementView) {
	for _, a := range b.Announced {
		v := announcementView{Title: a.Title, Text: a.Text, From: moment{a.From}, To: moment{a.Until}, Tone: "maintenance", Mark: "info", Word: "Info"}
		switch a.Level {
		case public.Notice:
			v.Mark, v.Word = "maintenance", "Notice"
		case public.Warning:
			v.Tone, v.Mark, v.Word = "degraded", "degraded", "Warning"
		}
		out = append(out, v)
	}
	return out
}

// announcementEntry is an announcement in a feed, with the same id after an edit.
func announcementEntry(feed uuid.UUID, page atomLink, a view.BoardAnnouncement) atomEntry {
	summary := a.Text
	if summary == "" {
		summary = a.Title
	}
	return atomEntry{
		ID:    uuid.NewSHA1(feed, []byte("announcement "+strconv.FormatInt(a.ID, 10))).URN(),
		Title: a.Title, Published: moment{a.From}.Attr(), Updated: moment{core.Later(a.From, a.UpdatedAt)}.Attr(), Link: page, Summary: summary,
	}
}
