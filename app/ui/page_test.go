package ui_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// assetHash is in golden files by its place only, so that a change of the
// style does not change them all.
var assetHash = regexp.MustCompile(`(/status-assets/)[0-9a-f]{12}/`)

func TestPagesAreAsTheyWere(t *testing.T) {
	empty := view.Board{Title: "New", At: now, Sections: []view.BoardSection{{Monitors: []view.BoardEntry{}}}, Incidents: []view.BoardEntry{}}
	for _, tt := range []struct {
		name  string
		board view.Board
	}{{"full", fullBoard()}, {"calm", calmBoard()}, {"empty", empty}, {"hostile", hostileBoard()}} {
		t.Run(tt.name, func(t *testing.T) {
			h := handler(t, ui.Options{Board: fixed(tt.board), PublicURL: "https://status.example.com"})
			golden(t, tt.name+".html", assetHash.ReplaceAllString(get(t, h, "/status/main"), "${1}HASH/"))
			golden(t, tt.name+".atom", get(t, h, "/status/main/feed.atom"))
		})
	}
	h := handler(t, ui.Options{Board: fixed(calmBoard())})
	golden(t, "gone.html", assetHash.ReplaceAllString(ask(h, http.MethodGet, "/status/none").body, "${1}HASH/"))
}

func TestJSONIsTheBoard(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	body := get(t, h, "/status/ops/main.json")
	want, err := json.Marshal(fullBoard())
	if err != nil {
		t.Fatal(err)
	}
	if body != string(want) {
		t.Errorf("got %s\nwant %s", body, want)
	}
}

// elements that a page is made of, and nothing else: a hostile name that became
// an element or an attribute would show here.
var (
	elements   = words("html head meta title link body header main section footer h1 h2 h3 p ul li span b a time details summary svg g path circle rect")
	attributes = words("lang charset name content rel type title href class id aria-labelledby aria-label aria-hidden role dir datetime viewbox preserveaspectratio d cx cy r rx width height")
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

func TestWhatPeopleWriteStaysText(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(hostileBoard())})
	page := get(t, h, "/status/main")
	tree, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range tree.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("comment %q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		inSVG := n.Namespace == "svg"
		if !elements[n.Data] && !(inSVG && n.Data == "title") {
			t.Errorf("element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch key := strings.ToLower(a.Key); {
			case !attributes[key]:
				t.Errorf("attribute %s of <%s>", a.Key, n.Data)
			case key == "href" && !strings.HasPrefix(a.Val, "/status"):
				t.Errorf("link to %q", a.Val)
			case key == "id" && ids[a.Val]:
				t.Errorf("id %q twice", a.Val)
			case key == "id":
				ids[a.Val] = true
			}
		}
	}
	for _, part := range []string{"<script", "<img", "<style", "onload=alert(3)>", `" onmouseover="`} {
		if strings.Contains(page, part) {
			t.Errorf("%s is in the page", part)
		}
	}
	for _, part := range []string{"&lt;script&gt;", "&lt;img src=x", "&lt;/main&gt;"} {
		if !strings.Contains(page, part) {
			t.Errorf("%s is not shown", part)
		}
	}
}

func TestNothingBeyondTheBoard(t *testing.T) {
	page := get(t, handler(t, ui.Options{Board: fixed(fullBoard())}), "/status/main")
	for _, part := range []string{"http://", "https://", "<script", "<form", "<iframe", "http-equiv", "style="} {
		if strings.Contains(page, part) {
			t.Errorf("%s is in the page", part)
		}
	}
}

func TestBannerSaysTheWorst(t *testing.T) {
	up, down := view.BoardEntry{Status: monitor.StatusUp}, view.BoardEntry{Status: monitor.StatusDown}
	slow := view.BoardEntry{Status: monitor.StatusUp, Degraded: true}
	repair := view.BoardEntry{Status: monitor.StatusDown, Maintenance: true}
	paused, fresh := view.BoardEntry{Status: monitor.StatusPaused}, view.BoardEntry{Status: monitor.StatusNew}
	stale := view.BoardEntry{Status: monitor.StatusDown, Stale: true}
	for _, tt := range []struct {
		want     string
		monitors []view.BoardEntry
	}{
		{"Nothing is monitored here yet", nil},
		{"All systems operational", []view.BoardEntry{up, up}},
		{"Down: 1 of 1 system", []view.BoardEntry{down}},
		{"Down: 2 of 4 systems", []view.BoardEntry{down, slow, repair, down}},
		{"Degraded: 1 of 3 systems", []view.BoardEntry{slow, repair, up}},
		{"Maintenance: 1 of 2 systems", []view.BoardEntry{repair, up}},
		{"Operational: 1 of 4 systems", []view.BoardEntry{up, paused, fresh, stale}},
		{"Paused: 1 of 2 systems", []view.BoardEntry{paused, fresh}},
		{"No data: 2 of 2 systems", []view.BoardEntry{fresh, stale}},
	} {
		for i := range tt.monitors {
			tt.monitors[i].Monitor = string(rune('a' + i))
		}
		// In two sections each, which must not count twice.
		section := view.BoardSection{Monitors: tt.monitors}
		b := view.Board{Title: "T", At: now, Sections: []view.BoardSection{section, section}}
		page := get(t, handler(t, ui.Options{Board: fixed(b)}), "/status/main")
		if !strings.Contains(page, `<h2 id="overall">`+tt.want+`</h2>`) {
			t.Errorf("%q is not the banner of %v", tt.want, tt.monitors)
		}
	}
}
