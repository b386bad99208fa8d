package ui

import (
	"encoding/xml"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// The parts of an Atom feed (RFC 4287) that we write.
type (
	atomFeed struct {
		XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID        string      `xml:"id"`
		Title     string      `xml:"title"`
		Subtitle  string      `xml:"subtitle,omitempty"`
		Updated   string      `xml:"updated"`
		Author    string      `xml:"author>name"`
		Links     []atomLink  `xml:"link"`
		Generator string      `xml:"generator"`
		Entries   []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	atomEntry struct {
		ID        string   `xml:"id"`
		Title     string   `xml:"title"`
		Published string   `xml:"published"`
		Updated   string   `xml:"updated"`
		Link      atomLink `xml:"link"`
		Summary   string   `xml:"summary"`
	}
)

// feed writes the incidents of a board. It says nothing of when the board was
// read, so the bytes stay the same until there is news.
func (p *Pages) feed(k key, b view.Board) ([]byte, error) {
	page := p.opt.PublicURL + p.opt.Prefix + k.path()
	// A feed is told from all others by its id, wherever they come from. One
	// that does not know its host is told from those of the same node only.
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(page))
	html := atomLink{"alternate", "text/html", page}
	f := atomFeed{
		ID: id.URN(), Title: b.Title, Subtitle: b.Description, Author: b.Title, Generator: "Belfry",
		Links: []atomLink{{"self", "application/atom+xml", page + feedSuffix}, html},
	}
	var last time.Time
	for _, e := range b.Incidents {
		entry := newEntry(id, e)
		entry.Link = html
		f.Entries = append(f.Entries, entry)
		times := []time.Time{e.StartedAt, e.EndedAt}
		for _, u := range e.Updates {
			times = append(times, u.At)
		}
		for _, t := range times {
			if t.After(last) {
				last = t
			}
		}
	}
	for _, a := range b.Announced {
		f.Entries = append(f.Entries, announcementEntry(id, html, a))
		last = core.Later(last, core.Later(a.From, a.UpdatedAt))
	}
	if last.IsZero() { // something must be there
		last = b.At.UTC().Truncate(24 * time.Hour)
	}
	f.Updated = moment{last}.Attr()
	body, err := xml.MarshalIndent(f, "", "  ")
	return append([]byte(xml.Header), append(body, '\n')...), err
}

// newEntry is one incident, with the same id before and after its end.
func newEntry(feed uuid.UUID, e view.BoardEntry) atomEntry {
	begin := moment{e.StartedAt}
	entry := atomEntry{
		ID:        uuid.NewSHA1(feed, []byte(e.Monitor+" "+e.StartedAt.UTC().Format(time.RFC3339Nano))).URN(),
		Title:     e.Label() + " is down",
		Published: begin.Attr(), Updated: begin.Attr(),
		Summary: fmt.Sprintf("%s is down since %s.", e.Label(), begin.Text()),
	}
	if !e.EndedAt.IsZero() {
		end, lasted := moment{e.EndedAt}, core.SpanText(e.EndedAt.Sub(e.StartedAt))
		entry.Title = fmt.Sprintf("%s was down for %s", e.Label(), lasted)
		entry.Updated = end.Attr()
		entry.Summary = fmt.Sprintf("%s was down from %s to %s, %s.", e.Label(), begin.Text(), begin.Until(end), lasted)
	}
	if len(e.Updates) > 0 {
		newest := e.Updates[0]
		entry.Summary += "\n" + newest.Text
		if newest.At.After(e.StartedAt) && newest.At.After(e.EndedAt) {
			entry.Updated = moment{newest.At}.Attr()
		}
	}
	return entry
}
