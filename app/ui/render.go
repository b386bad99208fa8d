package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// render makes all forms of a page.
func (p *Pages) render(k key, b view.Board, stale bool) (r rendered, err error) {
	if p.opt.PublicURL == "" { // messages would have no links
		b.Subscribe = nil
	}
	page, err := p.html("board", newView(b, p.linksOf(k, b), stale))
	if err != nil {
		return r, err
	}
	plain, err := json.Marshal(struct {
		view.Board
		Stale bool `json:"stale,omitempty"` // it could not be read anew
	}{b, stale})
	if err != nil {
		return r, fmt.Errorf("write status page %s as JSON: %w", k.path(), err)
	}
	feed, err := p.feed(k, b)
	if err != nil {
		return r, fmt.Errorf("write the feed of status page %s: %w", k.path(), err)
	}
	r[asStyle] = asset.NewDocument("text/css; charset=utf-8", coloursOf(b))
	r[asLogo] = asset.NewDocument(b.Logo.Type, b.Logo.Bytes)
	r[asHTML] = asset.NewDocument("text/html; charset=utf-8", page)
	r[asJSON] = asset.NewDocument("application/json; charset=utf-8", plain)
	r[asFeed] = asset.NewDocument("application/atom+xml; charset=utf-8", feed)
	return r, nil
}

func (p *Pages) html(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return b.Bytes(), nil
}

func (p *Pages) links(k key) links {
	page := p.opt.Prefix + k.path()
	return links{
		Page: page, JSON: page + jsonSuffix, Feed: page + feedSuffix,
		Style: assetLink(p.opt.Prefix, "style.css"), Times: assetLink(p.opt.Prefix, "times.js"), Icon: p.opt.Prefix,
	}
}

// linksOf are the links of a page, including those that only some pages have. A changed file has another address.
func (p *Pages) linksOf(k key, b view.Board) links {
	l := p.links(k)
	if css := coloursOf(b); len(css) > 0 {
		l.Colours = l.Page + styleSuffix + version(css)
	}
	if len(b.Logo.Bytes) > 0 {
		l.Logo = l.Page + logoSuffix + version(b.Logo.Bytes)
	}
	return l
}

func version(of []byte) string {
	sum := sha256.Sum256(of)
	return "?" + hex.EncodeToString(sum[:6])
}

// coloursOf is the style of a page's accents. Colours that are none were refused when the page was saved.
func coloursOf(b view.Board) []byte {
	css := strings.Builder{}
	if public.Light.Contrast(b.Accent) > 0 {
		css.WriteString(":root { --link: " + b.Accent + "; }\n")
	}
	if public.Dark.Contrast(b.AccentDark) > 0 {
		css.WriteString("@media (prefers-color-scheme: dark) { :root { --link: " + b.AccentDark + "; } }\n")
	}
	if css.Len() > 0 {
		css.WriteString("body::before { content: \"\"; position: absolute; inset: 0 0 auto; height: .3rem; background: var(--link); }\n")
	}
	return []byte(css.String())
}

func assetLink(prefix, name string) string { return prefix + assetsPath + assets().Link(name) }

// apology is a page without a board.
func (p *Pages) apology(title, text string) (asset.Document, error) {
	body, err := p.html("apology", struct{ Title, Text, Style, Icon, Times string }{
		Title: title, Text: text, Style: assetLink(p.opt.Prefix, "style.css"), Icon: assetLink(p.opt.Prefix, iconOf(unknown)),
	})
	return asset.NewDocument("text/html; charset=utf-8", body), err
}
