package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry"
)

// versioned is a definition that can be edited: its version is its ETag.
type versioned interface{ Version() string }

// tag gives an answer its ETag.
func (c *call) tag(v any) {
	if d, is := v.(versioned); is && d.Version() != "" {
		c.w.Header().Set("ETag", `"`+d.Version()+`"`)
	}
}

// expecting makes an edit apply to one version: that of If-Match, or of the
// definition in the body, if it holds one that was answered before. Without
// either an edit applies to whatever is there.
func (c *call) expecting(ctx context.Context, e endpoint, body any) (context.Context, error) {
	if e.method != http.MethodPut && e.method != http.MethodDelete {
		return ctx, nil
	}
	version := ""
	if d, is := body.(versioned); is {
		version = d.Version()
	}
	match := c.r.Header.Get("If-Match")
	if match == "*" || match == "" && version == "" {
		return ctx, nil
	}
	if match != "" {
		quoted, found := strings.CutPrefix(match, `"`)
		quoted, ends := strings.CutSuffix(quoted, `"`)
		if !found || !ends || quoted == "" || strings.Contains(quoted, `"`) || len(c.r.Header.Values("If-Match")) > 1 {
			return ctx, belfry.InvalidField("If-Match", shorten(match), "must be one ETag in quotes", "send the ETag that the definition was answered with")
		}
		version = quoted
	}
	return belfry.WithVersion(ctx, version), nil
}
