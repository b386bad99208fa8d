package frame

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/belfry-run/belfry/app/ui/console/internal/fresh"
	"github.com/belfry-run/belfry/core"
)

const (
	flashCookie = "belfry_flash"
	themeCookie = "belfry_theme"
	maxFlash    = 1 << 10 // bytes of text
	year        = 365 * 24 * 60 * 60
)

// flash is the result of an action, shown once on the next page.
type flash struct {
	Text string `json:"text"`
	Bad  bool   `json:"bad,omitempty"`
	Undo string `json:"undo,omitempty"` // where the form goes that takes it back
}

func (p *Page) setFlash(f flash) {
	f.Text, _ = core.CleanText(f.Text, maxFlash)
	text, _ := json.Marshal(f) // three plain fields
	p.Site.SetCookie(p.W, p.R, OfPort(flashCookie, p.R), base64.RawURLEncoding.EncodeToString(text), 60)
}

func (p *Page) takeFlash() {
	cookie, err := p.R.Cookie(OfPort(flashCookie, p.R))
	if err != nil || p.R.Header.Get(fresh.Asks) != "" {
		return
	}
	p.Site.SetCookie(p.W, p.R, OfPort(flashCookie, p.R), "", -1)
	var f flash
	if text, err := base64.RawURLEncoding.DecodeString(cookie.Value); err == nil && json.Unmarshal(text, &f) == nil && f.Text != "" {
		if f.Undo != "" && LocalPath(f.Undo) != f.Undo {
			f.Undo = "" // a neighbour on this host wrote it
		}
		p.Flash = &f
	}
}

// SetTheme keeps the theme in which a person wants to see pages.
func (s *Site) SetTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	theme, age := r.PostFormValue("theme"), year
	if theme != "light" && theme != "dark" {
		theme, age = "", -1
	}
	s.SetCookie(w, r, themeCookie, theme, age)
	http.Redirect(w, r, s.Prefix+LocalPath(r.PostFormValue("next")), http.StatusSeeOther)
}
