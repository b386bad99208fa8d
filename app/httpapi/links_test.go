package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/workflow"
)

// linkKey has the form of a link's key.
var linkKey = strings.Repeat("aB3_-", 8) + "xyz"

// Programs that were given a link answer it in JSON, without a token.
func TestLinksAreAnsweredByPrograms(t *testing.T) {
	t.Parallel()
	var linked workflow.Linked
	b := setup(t, func(o *Options) {
		o.Links = o.Service.(*fake)
		o.Answers = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("for people: " + r.Method + " " + r.PathValue("key")))
		})
	})
	b.when("Linked", func(_ context.Context, args []any) (any, error) { return linked, nil })
	sends := 0
	b.when("SendByLink", func(context.Context, []any) (any, error) { sends++; return workflow.Sent{Taken: true}, nil })
	approval, signal := workflow.Linked{RunID: 7, Name: "release", Approval: "Sure?"}, workflow.Linked{RunID: 7, Name: "payment"}
	const form, asJSON = "application/x-www-form-urlencoded", "application/json"
	for _, c := range []struct {
		linked                     workflow.Linked
		method, path, kind, accept string
		body                       string
		status                     int
		says                       string
		sent                       *workflow.Signal
	}{
		{approval, "GET", "", "", "text/html", "", 200, "for people: GET " + linkKey, nil},
		{approval, "POST", "", form, "text/html", "answer=approve", 200, "for people: POST", nil},
		{approval, "GET", "", "", asJSON, "", 200, `"approval":"Sure?"`, nil},
		{approval, "POST", "", asJSON, "", `{"reject":false,"note":"why"}`, 200, `"taken":true`, &workflow.Signal{Name: "release", Note: "why"}},
		{approval, "POST", "", asJSON, "", `{"reject":true}`, 200, `"taken":true`, &workflow.Signal{Name: "release", Reject: true}},
		{approval, "POST", "", asJSON, "", ``, 422, "the body is empty", nil},
		{approval, "POST", "", asJSON, "", `{}`, 422, "reject is missing", nil},
		{approval, "POST", "", asJSON, "", `{"note":"no!"}`, 422, "reject is missing", nil},
		{approval, "POST", "", asJSON, "", `{"approve":false}`, 422, "not a field", nil},
		{approval, "POST", "", asJSON, "", `"no"`, 422, "not an object", nil},
		{approval, "POST", "", asJSON, "", `{"reject":"no"}`, 422, "true or false", nil},
		{approval, "POST", "", asJSON, "", `{"reject":true,"reject":false}`, 422, "stands twice", nil},
		{signal, "POST", "", asJSON, "", `{"a":1,"a":2}`, 422, "stands twice", nil},
		{signal, "POST", "", asJSON, "", "\"\xff\"", 422, "not UTF-8", nil},
		{signal, "POST", "", asJSON, "", `"\ud800"`, 422, "surrogate", nil},
		{signal, "POST", "?id=p-1", asJSON, "", `{"amount":5}`, 200, `"taken":true`, &workflow.Signal{Name: "payment", ID: "p-1", Input: json.RawMessage(`{"amount":5}`)}},
		{signal, "POST", "", "", "", ``, 200, `"taken":true`, &workflow.Signal{Name: "payment"}},
		{signal, "POST", "", form, asJSON, `{"amount":5}`, 200, `"taken":true`, &workflow.Signal{Name: "payment", Input: json.RawMessage(`{"amount":5}`)}},
		{signal, "POST", "", asJSON, "", `{"amount":`, 422, "not JSON", nil},
		{signal, "POST", "", asJSON, "", `"` + strings.Repeat("x", workflow.MaxSignal) + `"`, 413, "limit", nil},
		{signal, "POST", "", asJSON, "", `1` + strings.Repeat(" ", workflow.MaxSignal) + `, 2`, 413, "limit", nil},
		{approval, "POST", "", asJSON, "", `{"reject":false}` + strings.Repeat(" ", workflow.MaxSignal) + `{"reject":true}`, 413, "limit", nil},
		{signal, "PUT", "", asJSON, "", `1`, 405, "", nil},
	} {
		linked = c.linked
		before := sends
		status, h, body := b.raw(t, c.method, "/answer/"+linkKey+c.path, c.body, "Authorization", "", "Content-Type", c.kind, "Accept", c.accept)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %q: %d %s", c.method, c.linked.Name, c.body[:min(len(c.body), 50)], status, body)
		}
		if status == 200 && !strings.HasPrefix(body, "for people") && h.Get("Cache-Control") != "no-store" {
			t.Errorf("it may be kept: %v", h)
		}
		if sent := sends > before; sent != (c.sent != nil) {
			t.Errorf("%s %s %q: sent %v", c.method, c.linked.Name, c.body, sent)
		} else if sent {
			same(t, c.body, b.last(), []any{"SendByLink", linkKey, *c.sent})
		}
	}
	for _, key := range []string{"short", linkKey + "0", strings.Repeat("%20", 43)} {
		if status, _, body := b.raw(t, "POST", "/answer/"+key, `{}`, "Authorization", "", "Content-Type", asJSON); status != 404 || !strings.Contains(body, "no such link") {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
	b.when("Linked", func(context.Context, []any) (any, error) {
		return nil, core.Errorf(core.NotFound, "no such link is valid")
	})
	if status, _, _ := b.raw(t, "GET", "/answer/"+linkKey, "", "Authorization", "", "Accept", asJSON); status != 404 {
		t.Errorf("a link that is not there: %d", status)
	}
	if text := b.logged.text(); strings.Contains(text, linkKey) {
		t.Error("a key stands in the log")
	}
}
