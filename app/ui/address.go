package ui

import (
	"strings"

	"github.com/belfry-run/belfry/core"
)

// address is the page and the form of it that a path asks for.
type address struct {
	page key
	form form
}

// key names a status page.
type key struct{ namespace, name string }

// path is where the page is, without a prefix. Names are plain, so nothing
// needs to be escaped.
func (k key) path() string {
	if k.namespace == core.DefaultNamespace {
		return pagesPath + k.name
	}
	return pagesPath + k.namespace + "/" + k.name
}

// form is how a page is served.
type form int

const (
	asHTML form = iota
	asJSON
	asFeed
	asStyle // its colours
	asLogo
	forms // how many are rendered beforehand

	asBadge // drawn for each request
)

const (
	pagesPath  = "/status/"
	assetsPath = "/status-assets/"
	jsonSuffix = ".json"
	feedSuffix = "/feed.atom"

	badgeSuffix = "/badge.svg"
	styleSuffix = "/colours.css"
	logoSuffix  = "/logo.img"
)

// parseAddress reads a path. Of a name that ends in .json only the JSON can be
// reached, as NAME.json.json.
func parseAddress(path string) (a address, ok bool) {
	rest, ok := strings.CutPrefix(path, pagesPath)
	if !ok {
		return a, false
	}
	if before, is := strings.CutSuffix(rest, feedSuffix); is {
		rest, a.form = before, asFeed
	} else if before, is := strings.CutSuffix(rest, badgeSuffix); is {
		rest, a.form = before, asBadge
	} else if before, is := strings.CutSuffix(rest, styleSuffix); is {
		rest, a.form = before, asStyle
	} else if before, is := strings.CutSuffix(rest, logoSuffix); is {
		rest, a.form = before, asLogo
	} else if before, is := strings.CutSuffix(rest, jsonSuffix); is {
		rest, a.form = before, asJSON
	}
	namespace, name, two := strings.Cut(rest, "/")
	if !two {
		namespace, name = core.DefaultNamespace, rest
	}
	a.page = key{namespace, name}
	return a, core.ValidName("namespace", namespace) == nil && core.ValidName("name", name) == nil
}
