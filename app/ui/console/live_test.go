package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/schedule"
)

// overHTTP is the API of a node as a console asks it.
type overHTTP struct{ *client.Client }

func (c overHTTP) PageDiff(ctx context.Context, namespace, monitor string, from, to int64) (console.PageDiff, error) {
	d, err := c.Client.PageDiff(ctx, namespace, monitor, from, to)
	return console.PageDiff(d), err
}

func (c overHTTP) LastChange(ctx context.Context, namespace, monitor string) (console.PageDiff, error) {
	d, err := c.Client.LastChange(ctx, namespace, monitor)
	return console.PageDiff(d), err
}

// A page for which there is no room says that it does not follow, shows what is new when it tries again, and follows
// once there is room. A person who opens the address of the stream sees a page.
func TestMorePagesThanAreKeptUpToDate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c, err := console.New(console.Options{MaxStreams: 1, Sessions: s.node.Store(), Status: httpapi.StatusOf,
		API: func(token string) (console.API, error) {
			c, err := client.New(s.url, token, client.Options{})
			return overHTTP{c}, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(c.Close)
	const on = `document.getElementById('live').dataset.state === 'on'`
	there := &site{T: t, Client: s.Client, url: server.URL, admin: s.admin, node: s.node}
	v := there.visitor(s.admin)
	ask := func(accept string) (int, string) {
		req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live", nil))(s)
		req.Header.Set("Accept", accept)
		resp := must(v.http.Do(req))(s)
		defer resp.Body.Close()
		text := make([]byte, 1<<16)
		n, _ := resp.Body.Read(text)
		return resp.StatusCode, string(text[:n])
	}
	if status, text := ask("text/html,*/*;q=0.8"); status != http.StatusNotFound || !strings.HasPrefix(text, "<!doctype html>") {
		t.Errorf("%d %s", status, text)
	}
	first, b := there.tab(s.admin), there.tab(s.admin)
	first.Visit(server.URL + "/calendars")
	first.Until(on)
	if status, text := ask("text/html,*/*;q=0.8"); status != http.StatusServiceUnavailable || !strings.HasPrefix(text, "<!doctype html>") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := ask("text/event-stream"); status != http.StatusOK || !strings.HasPrefix(text, "event: full\n") {
		t.Errorf("%d %s", status, text)
	}
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.signs = [];
		new MutationObserver(all => { for (const {target} of all) if (target.id === 'live') signs.push(target.dataset.state); }).observe(document, {subtree: true, attributes: true, attributeFilter: ['data-state']});`}, nil)
	b.Visit(server.URL + "/calendars")
	b.Until(`!!document.querySelector('main > .live-off')`)
	b.Until(`signs.includes('off')`)
	var signs string
	if b.Eval(`signs.join()`, &signs); signs != "off" {
		t.Errorf("a page without room is %s", signs)
	}
	b.Shows("Live updates are off: too many pages are being kept up to date. This page is read again every 30 seconds.", "Not live")
	b.Axe()
	for _, width := range []int{390, 1280} {
		b.Emulate("light", width)
		b.Layout()
		picture(b, "live-off")
	}
	must(s.SaveCalendar(t.Context(), schedule.Calendar{Name: "nights"}))(s)
	b.Click(".live-off button")
	b.Until(`document.getElementById('list').innerText.includes('nights') && !!document.querySelector('.live-off')`)
	first.Visit("about:blank")
	b.Until(`(document.querySelector('.live-off button')?.click(), ` + on + ` && !document.querySelector('.live-off'))`)
	must(s.SaveCalendar(t.Context(), schedule.Calendar{Name: "mornings"}))(s)
	b.Until(`document.getElementById('list').innerText.includes('mornings')`)
	b.Quiet(server.URL)
}

// What changes on a page waits until no button is held down: it would get the
// click that was meant for something else.
func TestLiveUpdatesWaitWhileAButtonIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/settings/tokens")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	b.Eval(`(() => { const real = fetch; window.answers = 0;
		window.fetch = async (...of) => { const answer = await real(...of), text = await answer.text(); answers++; return {ok: answer.ok, redirected: answer.redirected, text: async () => text}; };
		return true; })()`, new(bool))
	hold := func(kind string) {
		b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": 400, "y": 300, "button": "left", "clickCount": 1}, nil)
	}
	hold("mousePressed")
	s.token("ci", "default", "read")
	b.Until(`answers > 0`)
	var there bool
	if b.Eval(`document.getElementById('list').innerText.includes('ci')`, &there); there {
		t.Error("the list has changed while the button was down")
	}
	hold("mouseReleased")
	// What the pointer is over stays as it is; the list goes on once it has left.
	b.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": 1, "y": 1}, nil)
	b.Until(`document.getElementById('list').innerText.includes('ci')`)
	b.Quiet(s.url)
}

// Who answers a question about one row is not interrupted by another row.
func TestQuestionStaysOpenWhileRowsMove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, first := s.token("first", "default", "read")
	_, second := s.token("second", "default", "read")
	b := s.at("/settings/tokens")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	asks, row := "revoke-"+numberText(second), "token-"+numberText(first)
	opens(b, asks)
	if err := s.RevokeToken(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.getElementById('` + row + `').innerText.includes('revoked')`)
	var open bool
	if b.Eval(`document.getElementById('`+asks+`').matches(':popover-open')`, &open); !open {
		t.Fatal("the question about the second token is gone, because the first was revoked")
	}
	s.sends(b, "#"+asks+" button.danger", "Token "+numberText(second)+" is revoked")
}

// Behind one address nodes of two versions may answer in turns. The older one does not know
// of parts and sends the page, after which the newer one must not take the page for the one
// that it sent before.
func TestAPageOfNodesOfTwoVersionsIsUpToDate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/calendars")
	b.Until(`document.getElementById('live').dataset.state === 'on'`)
	b.Eval(`(() => { const real = fetch; window.old = false; window.answers = 0;
		window.fetch = async (at, options) => {
			if (old) delete options.headers['X-Belfry-Parts'];
			const answer = await real(at, options);
			answers++;
			return answer;
		};
		return true; })()`, new(bool))
	b.Eval(`dispatchEvent(new CustomEvent('belfry:refresh', {detail: false}))`, new(bool))
	b.Until(`answers > 0`)
	b.Eval(`old = true`, new(bool))
	must(s.SaveCalendar(t.Context(), schedule.Calendar{Name: "nights"}))(s)
	b.Until(`document.getElementById('list').innerText.includes('nights')`)
	b.Eval(`(old = false, true)`, new(bool))
	if err := s.DeleteCalendar(t.Context(), "default", "nights"); err != nil {
		t.Fatal(err)
	}
	b.Until(`!document.getElementById('list').innerText.includes('nights')`)
	b.Quiet(s.url)
}
