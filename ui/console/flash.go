package console

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/belfry-run/belfry/core"
)

const (
	flashCookie = "belfry_flash"
	themeCookie = "belfry_theme"
	maxFlash    = 1 << 10 // bytes of text
	year        = 365 * 24 * 60 * 60
)

// flash is what an action came to, shown once on the next page.
type flash struct {
	Text string `json:"text"`
	Bad  bool   `json:"bad,omitempty"`
}

func (p *page) setFlash(f flash) {
	f.Text, _ = core.CleanText(f.Text, maxFlash)
	text, _ := json.Marshal(f) // two plain fields
	p.c.setCookie(p.w, p.r, ofPort(flashCookie, p.r), base64.RawURLEncoding.EncodeToString(text), 60)
}

func (p *page) takeFlash() {
	cookie, err := p.r.Cookie(ofPort(flashCookie, p.r))
	if err != nil || p.r.Header.Get("X-Belfry-Live") != "" {
		return
	}
	p.c.setCookie(p.w, p.r, ofPort(flashCookie, p.r), "", -1)
	var f flash
	if text, err := base64.RawURLEncoding.DecodeString(cookie.Value); err == nil && json.Unmarshal(text, &f) == nil && f.Text != "" {
		p.Flash = &f
	}
}

// setTheme keeps how somebody wants to see pages.
func (c *Console) setTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	theme, age := r.PostFormValue("theme"), year
	if theme != "light" && theme != "dark" {
		theme, age = "", -1
	}
	c.setCookie(w, r, themeCookie, theme, age)
	http.Redirect(w, r, c.prefix+localPath(r.PostFormValue("next")), http.StatusSeeOther)
}
