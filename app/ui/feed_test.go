package ui_test

import (
	"encoding/xml"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/view"
)

// feed is what a reader makes of one.
type feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"http://www.w3.org/2005/Atom id"`
	Title   string   `xml:"http://www.w3.org/2005/Atom title"`
	Updated string   `xml:"http://www.w3.org/2005/Atom updated"`
	Author  string   `xml:"http://www.w3.org/2005/Atom author>name"`
	Links   []link   `xml:"http://www.w3.org/2005/Atom link"`
	Entries []entry  `xml:"http://www.w3.org/2005/Atom entry"`
}

type link struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type entry struct {
	ID      string `xml:"http://www.w3.org/2005/Atom id"`
	Title   string `xml:"http://www.w3.org/2005/Atom title"`
	Updated string `xml:"http://www.w3.org/2005/Atom updated"`
	Link    link   `xml:"http://www.w3.org/2005/Atom link"`
	Summary string `xml:"http://www.w3.org/2005/Atom summary"`
}

func readFeed(t *testing.T, b view.Board, o ui.Options, path string) feed {
	t.Helper()
	o.Board = fixed(b)
	var f feed
	if err := xml.Unmarshal([]byte(get(t, handler(t, o), path)), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

var urn = regexp.MustCompile(`^urn:uuid:[0-9a-f-]{36}$`)

func TestFeedsAreValid(t *testing.T) {
	empty := calmBoard()
	for name, b := range map[string]view.Board{"full": fullBoard(), "hostile": hostileBoard(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			f := readFeed(t, b, ui.Options{PublicURL: "https://example.com/b"}, "/status/ops/main/feed.atom")
			// RFC 4287, 4.1.1 and 4.1.2: what must be there, once each.
			if !urn.MatchString(f.ID) || f.Title == "" || f.Author == "" || len(f.Entries) != len(b.Announced)+len(b.Incidents) {
				t.Errorf("%+v", f)
			}
			if len(f.Links) != 2 || f.Links[0] != (link{"self", "https://example.com/b/status/ops/main/feed.atom"}) || f.Links[1] != (link{"alternate", "https://example.com/b/status/ops/main"}) {
				t.Errorf("%+v", f.Links)
			}
			seen := map[string]bool{f.ID: true}
			last := parseTime(t, f.Updated)
			for i, e := range f.Entries {
				if seen[e.ID] || !urn.MatchString(e.ID) || e.Title == "" || e.Summary == "" {
					t.Errorf("entry %d: %+v", i, e)
				}
				seen[e.ID] = true
				if parseTime(t, e.Updated).After(last) {
					t.Errorf("entry %d is newer than the feed", i)
				}
				if u, err := url.Parse(e.Link.Href); err != nil || !u.IsAbs() {
					t.Errorf("entry %d links to %q", i, e.Link.Href)
				}
			}
		})
	}
}

func parseTime(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Error(err)
	}
	return at
}

func TestFeedsKeepTheTextOfUpdates(t *testing.T) {
	f := readFeed(t, hostileBoard(), ui.Options{}, "/status/main/feed.atom")
	if want := hostileBoard().Title; f.Title != want {
		t.Errorf("%q", f.Title)
	}
	if !strings.HasPrefix(f.Entries[0].Title, `<b>&amp;]]></b> is down`) {
		t.Errorf("%q", f.Entries[0].Title)
	}
}

func TestAnIncidentKeepsItsIDWhenItEnds(t *testing.T) {
	o := ui.Options{PublicURL: "https://example.com"}
	before := readFeed(t, fullBoard(), o, "/status/main/feed.atom")
	b := fullBoard()
	b.At = b.At.Add(time.Hour)
	b.Incidents[0].EndedAt = now
	after := readFeed(t, b, o, "/status/main/feed.atom")
	if before.ID != after.ID || before.Entries[0].ID != after.Entries[0].ID {
		t.Error("it has another id")
	}
	if before.Entries[0].Updated == after.Entries[0].Updated || after.Entries[0].Title != "api was down for 17 min" || after.Updated != "2026-11-21T12:43:05Z" {
		t.Errorf("%+v", after.Entries[0])
	}
	if other := readFeed(t, fullBoard(), o, "/status/other/feed.atom"); other.ID == before.ID || other.Entries[0].ID == before.Entries[0].ID {
		t.Error("two feeds have the same id")
	}
}

func TestAFeedWithoutNewsIsTheSame(t *testing.T) {
	b := fullBoard()
	b.At = b.At.Add(time.Minute)
	o := ui.Options{Board: fixed(fullBoard())}
	later := ui.Options{Board: fixed(b)}
	if get(t, handler(t, o), "/status/main/feed.atom") != get(t, handler(t, later), "/status/main/feed.atom") {
		t.Error("it differs")
	}
}
