package ui_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"flag"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leaks"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { leaks.Main(browser.Main(m)) }

var now = time.Date(2026, 11, 21, 12, 43, 5, 0, time.UTC)

// ago is a time before now.
func ago(d time.Duration) time.Time { return now.Add(-d) }

// days are 90 of which all was up but those that are named, by how many days ago.
func days(down map[int]time.Duration, unknown ...int) []view.BoardDay {
	today := now.Truncate(24 * time.Hour)
	out := make([]view.BoardDay, view.BoardDays)
	for i := range out {
		back := view.BoardDays - 1 - i
		up := 1 - float64(down[back])/float64(24*time.Hour)
		out[i] = view.BoardDay{Day: today.AddDate(0, 0, -back), Uptime: &up, Down: core.Duration(down[back])}
	}
	for _, back := range unknown {
		out[view.BoardDays-1-back].Uptime = nil
	}
	return out
}

func ratio(f float64) *float64 { return &f }

func upTo(n int) (out []int) {
	for i := 89; i >= n; i-- {
		out = append(out, i)
	}
	return out
}

// fullBoard has everything that a page can show.
func fullBoard() view.Board {
	return view.Board{
		Title: "Acme Cloud", Description: "State of our services.\nWe also write to you before planned work.", At: now,
		Sections: []view.BoardSection{
			{Title: "Public", Monitors: []view.BoardEntry{
				{Monitor: "website", Description: "The shop and the blog", Status: monitor.StatusUp, Uptime: ratio(1), Days: days(nil)},
				{Monitor: "api", Description: "REST and webhooks", Status: monitor.StatusDown, Since: ago(17 * time.Minute), Uptime: ratio(0.9989991),
					Days: days(map[int]time.Duration{0: 17 * time.Minute, 12: 25 * time.Second, 30: 5 * time.Hour, 41: 24 * time.Hour, 42: 13 * time.Hour, 60: time.Hour, 70: time.Minute})},
				{Monitor: "checkout", Status: monitor.StatusUp, Degraded: true, Uptime: ratio(0.999994), Days: days(map[int]time.Duration{8: 47 * time.Second})},
			}},
			{Title: "Internal", Monitors: []view.BoardEntry{
				{Monitor: "db-eu-1", Status: monitor.StatusDown, Maintenance: true, Since: ago(time.Hour), Uptime: ratio(0.973), Days: days(map[int]time.Duration{3: 3 * time.Hour})},
				{Monitor: "mail", Status: monitor.StatusPaused, Since: ago(48 * time.Hour), Uptime: ratio(1), Days: days(nil, 0, 1)},
				{Monitor: "search", Status: monitor.StatusNew, Days: days(nil, upTo(0)...)},
				{Monitor: "edge.cdn-frankfurt_with-a-name-that-is-much-too-long-for-any-phone-there-is", Status: monitor.StatusUp, Uptime: ratio(1), Days: days(nil, upTo(20)...)},
				{Monitor: "backup", Status: monitor.StatusUp, Stale: true, Uptime: ratio(1), Days: days(nil)},
			}},
			{Monitors: []view.BoardEntry{}},
		},
		Announced: []view.BoardAnnouncement{
			{ID: 3, Title: "New data centre on Sunday", Text: "All is moved between 02:00 and 06:00.\nNothing is lost.", Level: public.Notice, From: ago(time.Hour), Until: now.Add(72 * time.Hour), UpdatedAt: ago(time.Hour)},
			{ID: 2, Title: "Mail is late", Level: public.Warning, From: ago(2 * time.Hour), UpdatedAt: ago(90 * time.Minute)},
			{ID: 1, Title: "We have a new look", Level: public.Info, From: ago(50 * time.Hour), UpdatedAt: ago(50 * time.Hour)},
		},
		Incidents: []view.BoardEntry{
			{Monitor: "api", StartedAt: ago(17 * time.Minute), Updates: []view.BoardUpdate{
				{At: ago(3 * time.Minute), State: monitor.IncidentIdentified, Text: "A disk is full.\nWe expect to be back by 15:00 UTC."},
				{At: ago(12 * time.Minute), Text: "Orders are kept, and are sent later."},
			}},
			{Monitor: "checkout", StartedAt: ago(8 * 24 * time.Hour), EndedAt: ago(8*24*time.Hour - 47*time.Second)},
			{Monitor: "api", StartedAt: ago(12 * 24 * time.Hour), EndedAt: ago(12*24*time.Hour - 25*time.Second)},
		},
		Windows: []monitor.ActiveWindow{
			{Name: "network", Title: "Netz in Пловдив", From: now.Add(48 * time.Hour), To: now.Add(50 * time.Hour)},
			{Name: "db-upgrade", From: ago(time.Hour), To: now.Add(time.Hour)},
			{Name: "db-upgrade", From: ago(time.Hour), To: now.Add(time.Hour)},
		},
	}
}

// calmBoard is one on which all is well.
func calmBoard() view.Board {
	b := fullBoard()
	b.Windows, b.Announced, b.Incidents = nil, nil, []view.BoardEntry{}
	b.Sections = []view.BoardSection{{Monitors: b.Sections[0].Monitors[:1]}}
	return b
}

// ownBoard is a calm one with a logo and a colour of its own.
func ownBoard() view.Board {
	b := calmBoard()
	var err error
	if b.Logo, err = (public.StatusPage{Logo: acmeLogo()}).Image(); err != nil {
		panic(err)
	}
	b.Accent, b.AccentDark = public.StatusPage{Accent: "#8a1c6b"}.Accents()
	b.Subscribe = []public.SubscriberKind{public.Mail}
	return b
}

// acmeLogo is a PNG in base64.
func acmeLogo() string {
	m := image.NewRGBA(image.Rect(0, 0, 320, 112))
	for y := range 112 {
		for x := range 320 {
			if dx, dy := x-56, y-56; dx*dx+dy*dy < 54*54 || x > 130 && y > 40 && y < 72 {
				m.SetRGBA(x, y, color.RGBA{138, 28, 107, 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// hostileBoard has markup and worse wherever people may write.
func hostileBoard() view.Board {
	b := fullBoard()
	b.Sections = b.Sections[:1]
	b.Sections[0].Monitors = b.Sections[0].Monitors[:1]
	b.Accent, b.AccentDark = "red;}</style><script>alert(7)</script>", "#fff;} * { display: none"
	b.Title = `</title><script>alert(1)</script>"'` + "\u202egnp.exe"
	b.Description = "<img src=x onerror=alert(2)>\x1b[31m\x01 \xff ]]> <!-- {{.At}}"
	b.Sections[0].Title = `"><svg onload=alert(3)>`
	b.Sections[0].Monitors[0].Monitor = `" onmouseover="alert(4)` + "\x08"
	b.Sections[0].Monitors[0].Description = `</p></li></main><a href="javascript:alert(5)">x</a>`
	b.Incidents[0].Monitor = `<b>&amp;]]></b>`
	b.Incidents[0].Updates[0].Text = `</li><script>alert(6)</script>` + "\u202e\x1b[31m \xff ]]>"
	b.Announced[0].Title, b.Announced[0].Text = `<svg onload=alert(7)>`+"\u202e", `</p></section><script>alert(8)</script>`+"\x1b[31m \xff ]]>"
	b.Windows[0].Name = `<style>*{display:none}</style>`
	return b
}

// fixed shows always the same.
func fixed(b view.Board) func(context.Context, string, string) (view.Board, error) {
	return func(_ context.Context, namespace, name string) (view.Board, error) {
		if name == "none" || name == "off" {
			return view.Board{}, core.Errorf(core.NotFound, "no status page %q in namespace %q", name, namespace)
		}
		return b, nil
	}
}

func handler(t *testing.T, o ui.Options) http.Handler {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := ui.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Handler()
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request, with headers in pairs.
func ask(h http.Handler, method, path string, headers ...string) answer {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

func get(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	a := ask(h, http.MethodGet, path)
	if a.status != http.StatusOK {
		t.Fatalf("GET %s: %d\n%s", path, a.status, a.body)
	}
	return a.body
}

func unpack(t *testing.T, s string) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader([]byte(s)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (write it anew with -update, and read it):\n%s", path, got)
	}
}
