package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui"
)

func TestABadgeOfAPage(t *testing.T) {
	full, calm := handler(t, ui.Options{Board: fixed(fullBoard())}), handler(t, ui.Options{Board: fixed(calmBoard())})
	hostile := handler(t, ui.Options{Board: fixed(hostileBoard())})
	for _, tt := range []struct {
		h     http.Handler
		query string
		says  []string
	}{
		{full, "", []string{"Acme Cloud: down", ">down</text>", "#b3261e", `rx="3"`}},
		{calm, "", []string{"Acme Cloud: operational", "#2a7d34"}},
		{calm, "?label=Status&style=square", []string{"Acme Cloud, Status: operational", `rx="0"`}},
		{calm, "?label=%3Cb%3E", []string{"&lt;b&gt;"}},
		{hostile, "", []string{"&lt;/title&gt;"}},
	} {
		a := ask(tt.h, http.MethodGet, "/status/main/badge.svg"+tt.query)
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "image/svg+xml; charset=utf-8" || a.header.Get("Cache-Control") != "public, max-age=60" || strings.Contains(a.body, "<script") {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		for _, says := range tt.says {
			if !strings.Contains(a.body, says) {
				t.Errorf("%s: no %q in %s", tt.query, says, a.body)
			}
		}
	}
	if a := ask(calm, http.MethodGet, "/status/main/badge.svg?style=round"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "flat, square") {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, path := range []string{"/status/none/badge.svg", "/status/off/badge.svg", "/status/a/none/badge.svg"} {
		if a := ask(calm, http.MethodGet, path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}
