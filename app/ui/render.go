package ui

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/view"
)

// render makes all forms of a page.
func (p *Pages) render(k key, b view.Board, stale bool) (r rendered, err error) {
	page, err := p.html("board", newView(b, p.links(k), stale))
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
		Style: assetLink(p.opt.Prefix, "style.css"), Icon: p.opt.Prefix,
	}
}

func assetLink(prefix, name string) string { return prefix + assetsPath + assets().Link(name) }

// apology is a page without a board.
func (p *Pages) apology(title, text string) (asset.Document, error) {
	body, err := p.html("apology", struct{ Title, Text, Style, Icon string }{
		title, text, assetLink(p.opt.Prefix, "style.css"), assetLink(p.opt.Prefix, iconOf(unknown)),
	})
	return asset.NewDocument("text/html; charset=utf-8", body), err
}
