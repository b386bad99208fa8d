package console_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
)

// What a page may cost, and a tab that is watched in a minute, in bytes as they travel. Where something
// ends every second pages were seen to take 40,000 to 90,000, and 140,000 to 275,000 when
// each update brought the whole page.
const (
	mostOfPage        = 60_000
	mostOfQuietMinute = 20_000
	mostOfBusyMinute  = 200_000
)

// A tab costs next to nothing where nothing happens, whatever page that has something to keep up to date.
func TestPagesThroughLiveUpdatesThatDoNotCome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	v := s.visitor(s.admin)
	seen, pages := map[string]bool{}, []string(nil)
	for _, tt := range everyPage {
		path, query, _ := strings.Cut(tt.path, "?")
		if _, body := v.get(tt.path); tt.status != 0 || seen[path] || strings.Contains(query, "namespace=") || !strings.Contains(body, "data-live=") {
			continue
		}
		seen[path] = true
		pages = append(pages, tt.path)
	}
	if len(pages) < 20 {
		t.Errorf("only %d pages keep themselves up to date", len(pages))
	}
	for some := range slices.Chunk(pages, 16) { // a tab has its time
		quiet(s, some)
	}
}

// quiet watches pages for longer than any waits to be read again.
func quiet(s *site, pages []string) {
	s.Helper()
	tabs := make([]*browser.Tab, len(pages))
	for i, path := range pages {
		b := s.at(path)
		tabs[i] = b
		b.Until(`document.getElementById('live').dataset.state === 'on'`)
		b.Eval(`(window.since = performance.now()) > 0`, new(bool))
		b.Events = nil
	}
	for i, b := range tabs {
		b.Until(`performance.now() - since >= 22000`) // in which those are read again that no change is told of
		var ms float64
		b.Eval(`performance.now() - since`, &ms)
		s.Run(pages[i], func(t *testing.T) { costs(t, b, 0, ms/1000, mostOfQuietMinute) })
		b.Quiet(s.url)
		b.Close()
	}
}

// costs fails the test if a tab was sent more than so many bytes a minute since an event. Scripts and styles do not count:
// those for the first chart of a page are fetched once.
func costs(t *testing.T, b *browser.Tab, since int, seconds, most float64) {
	t.Helper()
	n, once := 0, map[string]bool{}
	for _, e := range b.Events[since:] {
		var got struct {
			RequestID         string
			EncodedDataLength int
			Response          struct {
				URL               string
				EncodedDataLength int
			}
		}
		if e.Method != "Network.dataReceived" && e.Method != "Network.responseReceived" {
			continue
		}
		if err := json.Unmarshal(e.Params, &got); err != nil {
			t.Fatal(err)
		}
		if once[got.RequestID] = once[got.RequestID] || strings.Contains(got.Response.URL, "/assets/"); once[got.RequestID] {
			continue
		}
		n += got.EncodedDataLength + got.Response.EncodedDataLength
	}
	if minute := float64(n) * 60 / seconds; minute > most {
		t.Errorf("it costs %.0f bytes a minute, more than %.0f", minute, most)
	} else {
		t.Logf("%.0f bytes a minute", minute)
	}
}
