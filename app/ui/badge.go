package ui

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-run/belfry/internal/badge"
)

// badge answers with the state of all of a page, as its banner says it.
func (p *Pages) badge(w http.ResponseWriter, r *http.Request, s shown) {
	overall := newView(s.board, links{}, s.stale).Overall
	if s.stale {
		overall = unknown
	}
	b, err := badge.Badge{About: s.board.Title, Label: s.board.Title, Value: strings.ToLower(overall.Word()), Colour: badgeColours[overall]}.Asked(r.URL.Query())
	if err != nil {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.SVG()))
}

var badgeColours = map[state]string{operational: badge.Green, degraded: badge.Amber, down: badge.Red, maintenance: badge.Blue, paused: badge.Grey, unknown: badge.Grey}
