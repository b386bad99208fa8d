package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// words returns query parameters from pairs of name and value, without empty values.
func words(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

func paged(p core.Paging, v url.Values) url.Values {
	if p.Limit > 0 {
		v.Set("limit", strconv.Itoa(p.Bound()))
	}
	if p.Cursor != "" {
		v.Set("cursor", p.Cursor)
	}
	return v
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// named returns the path of an object by its name, optionally with further parts.
func named(noun, name string, more ...string) string {
	return strings.Join(append([]string{"/v1/" + noun, url.PathEscape(name)}, more...), "/")
}

func numbered(noun string, id int64, more ...string) string {
	return named(noun, strconv.FormatInt(id, 10), more...)
}

// checked refuses an invalid name, which could change the path.
func checked(field, name string) error { return core.ValidName(field, name) }

// items reads a list without pages.
func items[T any](ctx context.Context, c *server, path string, query url.Values) ([]T, error) {
	p, err := get[core.Page[T]](ctx, c, path, query)
	return p.Items, err
}

// numberText formats a number; zero, which means the default, is empty.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// flags returns a query parameter that is present or absent.
func flags(name string, on bool) url.Values {
	if !on {
		return nil
	}
	return words(name, "true")
}

// The path names of documents.
const (
	channelNoun    = "channels"
	ruleNoun       = "alert-rules"
	hookNoun       = "hooks"
	windowNoun     = "windows"
	statusPageNoun = "status-pages"
)

func saved[T any](ctx context.Context, c *server, noun, name string, d T) (T, error) {
	if err := checked("name", name); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPut, named(noun, name), nil, d)
}

func shown[T any](ctx context.Context, c *server, noun, namespace, name string) (T, error) {
	if err := checked("name", name); err != nil {
		var zero T
		return zero, err
	}
	return get[T](ctx, c, named(noun, name), words("namespace", namespace))
}

func listed[T any](ctx context.Context, c *server, noun string, f view.DocumentFilter) (core.Page[T], error) {
	return get[core.Page[T]](ctx, c, "/v1/"+noun, paged(f.Paging, words("namespace", f.Namespace, "part", f.Part)))
}

// The path names of objects.
const (
	artifactNoun = "artifacts"
	secretNoun   = "secrets"
)

// drop deletes an object by its name.
func (c *server) drop(ctx context.Context, noun, namespace, name string) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.delete(ctx, named(noun, name), words("namespace", namespace))
}
