package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

var typeOfVersioned = reflect.TypeFor[versioned]()

// versioned is a definition whose version is its ETag.
type versioned interface{ Version() string }

// expecting binds an edit to a version of the definition: that of If-Match, or
// the version in the body. With If-None-Match: * the definition must not exist.
// Without any of these, an edit applies to any version.
func (a *API) expecting(ctx context.Context, c *Call, e Endpoint, body any) (context.Context, error) {
	if e.Method != http.MethodPut && e.Method != http.MethodDelete {
		return ctx, nil
	}
	version := ""
	if d, is := body.(versioned); is {
		version = d.Version()
	}
	match, fresh := c.r.Header.Get("If-Match"), c.r.Header.Get("If-None-Match")
	if !a.versioned[e.Path] && (match != "" && match != "*" || fresh != "") {
		return ctx, core.InvalidField("If-Match", wire.Shorten(match+fresh), "is for definitions, and this has no version", "leave it out")
	}
	if fresh != "" {
		if fresh != "*" || match != "" || len(c.r.Header.Values("If-None-Match")) > 1 {
			return ctx, core.InvalidField("If-None-Match", wire.Shorten(fresh), "must be * alone, which creates a definition and changes none", "name the version to change in If-Match")
		}
		return core.WithVersion(ctx, core.NotThere), nil
	}
	if match == "*" || match == "" && version == "" {
		return ctx, nil
	}
	if match != "" {
		quoted, found := strings.CutPrefix(match, `"`)
		quoted, ends := strings.CutSuffix(quoted, `"`)
		if !found || !ends || quoted == "" || strings.Contains(quoted, `"`) || len(c.r.Header.Values("If-Match")) > 1 {
			return ctx, core.InvalidField("If-Match", wire.Shorten(match), "must be one ETag in quotes", "send the ETag that the definition was answered with")
		}
		version = quoted
	}
	return core.WithVersion(ctx, version), nil
}
