package ui_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

func TestHeaders(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	for _, tt := range []struct{ method, path, kind, cache string }{
		{"GET", "/status/main", "text/html; charset=utf-8", "public, max-age=60"},
		{"GET", "/status/ops/main", "text/html; charset=utf-8", "public, max-age=60"},
		{"GET", "/status/main.json", "application/json; charset=utf-8", "public, max-age=60"},
		{"GET", "/status/ops/main/feed.atom", "application/atom+xml; charset=utf-8", "public, max-age=60"},
		{"GET", "/status/none", "text/html; charset=utf-8", "public, max-age=5"},
		{"GET", "/status/none.json", "application/problem+json", "public, max-age=5"},
		{"POST", "/status/main", "text/plain; charset=utf-8", "no-store"},
	} {
		a := ask(h, tt.method, tt.path, "X-Forwarded-Prefix", "/evil", "Host", "evil")
		for name, want := range map[string]string{
			"Content-Type": tt.kind, "Cache-Control": tt.cache, "Content-Security-Policy": policy,
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Set-Cookie": "", "Refresh": "",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s %s: %s is %q, not %q", tt.method, tt.path, name, got, want)
			}
		}
		if strings.Contains(a.body, "evil") {
			t.Errorf("%s %s: what the request said is in the answer", tt.method, tt.path)
		}
	}
}

// A logo is an image and nothing else, in whatever it is opened.
func TestALogoIsServedAsAnImage(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(ownBoard())})
	page := get(t, h, "/status/main")
	for part, kind := range map[string]string{"logo.img": "image/png", "colours.css": "text/css; charset=utf-8"} {
		link := regexp.MustCompile(`"(/status/main/` + part + `\?[0-9a-f]{12})"`).FindStringSubmatch(page)
		if link == nil {
			t.Fatalf("the page has no link to %s", part)
		}
		a := ask(h, http.MethodGet, link[1])
		if a.status != http.StatusOK || a.header.Get("Content-Type") != kind || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "public, max-age=60" {
			t.Errorf("%s: %d %v", part, a.status, a.header)
		}
		switch csp := a.header.Get("Content-Security-Policy"); part {
		case "logo.img":
			if csp != "default-src 'none'; sandbox; frame-ancestors 'none'" || a.body != string(ownBoard().Logo.Bytes) {
				t.Errorf("%s with %q", part, csp)
			}
		case "colours.css":
			if !strings.Contains(a.body, "--link: #8a1c6b;") || !strings.Contains(a.body, "dark) { :root { --link: "+ownBoard().AccentDark) {
				t.Error(a.body)
			}
		}
	}
	for _, board := range []view.Board{calmBoard(), hostileBoard()} {
		plain := handler(t, ui.Options{Board: fixed(board)})
		if a := ask(plain, http.MethodGet, "/status/main/logo.img"); a.status != http.StatusNotFound {
			t.Errorf("a logo that is not there: %d", a.status)
		}
		if a := ask(plain, http.MethodGet, "/status/main/colours.css"); a.status != http.StatusOK || strings.Contains(a.body, "link") {
			t.Errorf("colours that are not there: %d %q", a.status, a.body)
		}
	}
}

func TestMissingStatusPagesLookAllTheSame(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	want := ask(h, http.MethodGet, "/status/none")
	if want.status != http.StatusNotFound {
		t.Fatalf("%d", want.status)
	}
	long := strings.Repeat("a", 200)
	for _, path := range []string{
		"/status/off", "/status/ops/off", "/status/", "/status/-bad", "/status/" + long, "/status/a/b/c", "/status//main", "/status/main/",
		"/status/%3Cscript%3E", "/status/..%2f..%2fetc", "/status/a%00b", "/status/%ff", "/status/off/feed.atom", "/other",
		"/status-assets/", "/status-assets/style.css", "/status-assets/0123456789ab/board.html", "/status-assets/../status/board.html", "/status-assets/0123456789ab/x.css",
	} {
		got := ask(h, http.MethodGet, path)
		if got.status != want.status || got.body != want.body {
			t.Errorf("%s: %d\n%s", path, got.status, got.body)
		}
	}
}

func TestStatusPageAnswersNotModifiedToItsETag(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	for _, path := range []string{"/status/main", "/status/main.json", "/status/main/feed.atom"} {
		for _, coding := range []string{"identity", "gzip"} {
			first := ask(h, http.MethodGet, path, "Accept-Encoding", coding)
			tag := first.header.Get("ETag")
			if first.status != http.StatusOK || tag == "" {
				t.Fatalf("%s: %d %q", path, first.status, tag)
			}
			again := ask(h, http.MethodGet, path, "Accept-Encoding", coding, "If-None-Match", `"other", W/`+tag)
			if again.status != http.StatusNotModified || again.body != "" || again.header.Get("Cache-Control") == "" || again.header.Get("Vary") == "" {
				t.Errorf("%s: %d, %d bytes, %v", path, again.status, len(again.body), again.header)
			}
			if other := ask(h, http.MethodGet, path, "Accept-Encoding", coding, "If-None-Match", `"other"`); other.status != http.StatusOK {
				t.Errorf("%s: %d for another version", path, other.status)
			}
		}
	}
}

func TestHeadIsGetWithoutTheBody(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	for _, path := range []string{"/status/main", "/status/main.json", "/status/none", "/status/none.json"} {
		full, head := ask(h, http.MethodGet, path), ask(h, http.MethodHead, path)
		if head.status != full.status || head.body != "" || head.header.Get("Content-Length") != full.header.Get("Content-Length") || head.header.Get("ETag") != full.header.Get("ETag") {
			t.Errorf("%s: %d %v, %d %v", path, head.status, head.header, full.status, full.header)
		}
	}
}

func TestPacked(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	plain := ask(h, http.MethodGet, "/status/main")
	for accept, packed := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5, *": true, "gzip;q=0": false, "gzip; q=0.000": false, "gzip;q=x": false, "br": false, "": false,
	} {
		a := ask(h, http.MethodGet, "/status/main", "Accept-Encoding", accept)
		if got := a.header.Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("%q: packed is %t", accept, got)
			continue
		}
		if packed {
			if a.header.Get("ETag") == plain.header.Get("ETag") {
				t.Error("two forms have the same tag")
			}
			a.body = unpack(t, a.body)
		}
		if a.body != plain.body || a.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: another page, or %v", accept, a.header)
		}
	}
}

var assetLink = regexp.MustCompile(`href="([^"]*/status-assets/[^"]+)"`)

func TestAssetsMayBeKeptForEver(t *testing.T) {
	h := handler(t, ui.Options{Board: fixed(fullBoard())})
	links := assetLink.FindAllStringSubmatch(get(t, h, "/status/main"), -1)
	if len(links) != 2 {
		t.Fatalf("%v", links)
	}
	for _, link := range links {
		a := ask(h, http.MethodGet, link[1])
		if a.status != http.StatusOK || a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", link[1], a.status, a.header)
		}
	}
	// A page of a node of another version refers to its own.
	a := ask(h, http.MethodGet, "/status-assets/0123456789ab/style.css")
	if a.status != http.StatusOK || a.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

var anyLink = regexp.MustCompile(`href="([^"]*)"`)

func TestPrefix(t *testing.T) {
	for _, tt := range []struct {
		opt        ui.Options
		page, feed string // what links begin with
	}{
		{ui.Options{}, "/status", "/status"},
		{ui.Options{Prefix: "/ops/belfry/"}, "/ops/belfry/status", "/ops/belfry/status"},
		{ui.Options{PublicURL: "https://example.com/b/"}, "/b/status", "https://example.com/b/status"},
		{ui.Options{PublicURL: "https://example.com", Prefix: "/p"}, "/p/status", "https://example.com/p/status"},
	} {
		tt.opt.Board = fixed(fullBoard())
		h := handler(t, tt.opt)
		for _, path := range []string{"/status/main", "/status/off"} {
			for _, link := range anyLink.FindAllStringSubmatch(ask(h, http.MethodGet, path).body, -1) {
				if !strings.HasPrefix(link[1], tt.page) {
					t.Errorf("%+v: %s links to %s", tt.opt.Prefix, path, link[1])
				}
				u, err := url.Parse(link[1])
				if err != nil {
					t.Fatal(err)
				}
				mounted := http.StripPrefix(strings.TrimSuffix(tt.page, "/status"), h)
				if a := ask(mounted, http.MethodGet, u.Path); a.status != http.StatusOK {
					t.Errorf("%s: %d", u.Path, a.status)
				}
			}
		}
		for _, link := range anyLink.FindAllStringSubmatch(get(t, h, "/status/main/feed.atom"), -1) {
			if !strings.HasPrefix(link[1], tt.feed) {
				t.Errorf("%+v: the feed links to %s", tt.opt.Prefix, link[1])
			}
		}
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	board := fixed(view.Board{})
	for name, o := range map[string]ui.Options{
		"no board": {}, "age": {Board: board, MaxAge: -1}, "url": {Board: board, PublicURL: "status.example.com"},
		"script": {Board: board, PublicURL: "javascript:alert(1)"}, "host as prefix": {Board: board, Prefix: "//evil.example.com"},
		"no slash": {Board: board, Prefix: "belfry"}, "markup": {Board: board, Prefix: `/"><x`},
	} {
		if _, err := ui.New(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzPaths(f *testing.F) {
	for _, path := range []string{"/status/main", "/status/ops/main.json", "/status/a/feed.atom", "/status-assets/x/style.css", "/status/../x", "//", "/status/\x00"} {
		f.Add(path)
	}
	board := calmBoard()
	p, err := ui.New(ui.Options{Board: fixed(board), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	gone := ask(p.Handler(), http.MethodGet, "/status/none").body
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = &url.URL{Path: path}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, r)
		switch {
		case w.Header().Get("Content-Security-Policy") != policy:
			t.Error("no policy")
		case w.Code == http.StatusNotFound && w.Body.String() != gone && !strings.HasSuffix(path, ".json"):
			t.Error("what is not there has two pages")
		case w.Code != http.StatusNotFound && w.Code != http.StatusOK:
			t.Errorf("%d", w.Code)
		}
	})
}

// A page of fifty monitors with 90 days of outages each travels light.
func TestAPageOfFiftyMonitorsIsLight(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	b := calmBoard()
	for i := range 50 {
		down := map[int]time.Duration{}
		for day := range view.BoardDays {
			if dice.IntN(4) == 0 {
				down[day] = time.Duration(dice.Int64N(int64(5 * time.Hour)))
			}
		}
		b.Sections[0].Monitors = append(b.Sections[0].Monitors, view.BoardEntry{Monitor: fmt.Sprintf("shop-%x", dice.Uint32()), Title: fmt.Sprintf("Shop %d of %x", i, dice.Uint32()), Status: monitor.StatusUp, Uptime: ratio(dice.Float64()), Days: days(down)})
	}
	h := handler(t, ui.Options{Board: fixed(b)})
	a := ask(h, http.MethodGet, "/status/main", "Accept-Encoding", "gzip")
	if n := len(a.body); n > 60_000 || strings.Count(unpack(t, a.body), "Shop ") < 50 {
		t.Errorf("it has %d bytes as they travel; at most 60,000 are allowed", n)
	} else {
		t.Logf("%d bytes", n)
	}
}
