package ui_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

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
	}{{"full", fullBoard()}, {"calm", calmBoard()}, {"own", ownBoard()}, {"empty", empty}, {"hostile", hostileBoard()}} {
		t.Run(tt.name, func(t *testing.T) {
			h := handler(t, ui.Options{Board: fixed(tt.board), PublicURL: "https://status.example.com"})
			golden(t, tt.name+".html", assetHash.ReplaceAllString(get(t, h, "/status/main"), "${1}HASH/"))
			golden(t, tt.name+".atom", get(t, h, "/status/main/feed.atom"))
		})
	}
	h := handler(t, ui.Options{Board: fixed(calmBoard())})
	golden(t, "gone.html", assetHash.ReplaceAllString(ask(h, http.MethodGet, "/status/none").body, "${1}HASH/"))
}

func TestTheJSONOfAStatusPageIsItsBoard(t *testing.T) {
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
	elements   = words("html head meta title link body header main section div footer h1 h2 h3 h4 p ul li span b a time details summary svg g path circle rect")
	attributes = words("lang charset name content rel type title href class id aria-labelledby aria-label aria-hidden role dir datetime viewbox preserveaspectratio d cx cy r rx width height")
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

var timesScript = regexp.MustCompile(`<script type="module" src="/status-assets/[A-Za-z0-9_-]+/times\.js"></script>`)

// withoutTimes is a page without its own script, which is there once.
func withoutTimes(t *testing.T, page string) string {
	t.Helper()
	if n := len(timesScript.FindAllString(page, -1)); n != 1 {
		t.Errorf("the script of times is there %d times", n)
	}
	return timesScript.ReplaceAllString(page, "")
}

func TestStatusPageTextIsEscaped(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(hostileBoard())})
	page := withoutTimes(t, get(t, h, "/status/main"))
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

func TestStatusPageHasNoScriptsFormsOrForeignLinks(t *testing.T) {
	page := withoutTimes(t, get(t, handler(t, ui.Options{Board: fixed(fullBoard())}), "/status/main"))
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
		{"a is down", []view.BoardEntry{down}},
		{"a and d are down", []view.BoardEntry{down, slow, repair, down}},
		{"a is degraded", []view.BoardEntry{slow, repair, up}},
		{"a is in maintenance", []view.BoardEntry{repair, up}},
		{"a, b and c are down", []view.BoardEntry{down, down, down, up}},
		{"a, b and 2 others are down", []view.BoardEntry{down, down, down, down, slow}},
		{"All systems are down", []view.BoardEntry{down, down}},
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

// What goes on stands first; short outages of a day are one entry, and none is
// lost.
func TestAShortOutageThatPeopleWroteAboutIsNotFolded(t *testing.T) {
	b := calmBoard()
	for n := range 4 {
		b.Incidents = append(b.Incidents, view.BoardEntry{Monitor: "api", StartedAt: ago(time.Duration(n+2) * time.Minute), EndedAt: ago(time.Duration(n+1) * time.Minute)})
	}
	b.Incidents[1].Updates = []view.BoardUpdate{{At: ago(time.Minute), State: monitor.IncidentResolved, Text: "a <cable>"}}
	page := get(t, handler(t, ui.Options{Board: fixed(b)}), "/status/main")
	for _, says := range []string{"3 short outages", `<b>resolved:</b> a &lt;cable&gt;`} {
		if strings.Count(page, says) != 1 {
			t.Errorf("%q stands %d times", says, strings.Count(page, says))
		}
	}
}

func TestIncidentsByDay(t *testing.T) {
	b := calmBoard()
	end := func(name string, back, lasted time.Duration) {
		b.Incidents = append(b.Incidents, view.BoardEntry{Monitor: name, StartedAt: ago(back), EndedAt: ago(back - lasted)})
	}
	for i := range 9 {
		end("shop", time.Duration(i+1)*time.Hour, 10*time.Second)
	}
	end("shop", 10*time.Hour, time.Hour)
	end("mail", 11*time.Hour, 5*time.Second)
	end("shop", 30*time.Hour, 5*time.Second)
	b.Incidents = append(b.Incidents, view.BoardEntry{Monitor: "billing", StartedAt: ago(60 * time.Hour)})
	page := get(t, handler(t, ui.Options{Board: fixed(b)}), "/status/main")
	if n := strings.Count(page, "<h4 dir=\"auto\">shop</h4>"); n != 3 {
		t.Errorf("the shop stands %d times", n)
	}
	for _, says := range []string{"9 short outages, down for 1 min 30 s in all", `<h2 id="ongoing">Ongoing</h2>`, "<h4 dir=\"auto\">mail</h4>", `<time datetime="2026-11-20">`} {
		if strings.Count(page, says) != 1 {
			t.Errorf("%q stands %d times", says, strings.Count(page, says))
		}
	}
	if strings.Index(page, "<h3 dir=\"auto\">billing</h3>") > strings.Index(page, `id="section-0"`) {
		t.Error("what goes on stands below")
	}
	if n := strings.Count(page, ", 10 s</li>"); n != 9 {
		t.Errorf("%d short outages are listed", n)
	}
}
