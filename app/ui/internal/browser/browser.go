// Package browser lets tests look at pages as people do, with Debian's Chromium.
// [Open] gives a [Tab]; all tests of a package share one browser, which [Main]
// ends. Waits poll the page for a condition, and fail after a few minutes.
package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// Tab is a tab of Chromium, used by its DevTools protocol: one call at a time.
// Events meanwhile are kept in Events.
type Tab struct {
	T       *testing.T // may be changed while subtests run, one after another
	ctx     context.Context
	conn    *websocket.Conn
	session string
	calls   int
	awaits  string  // the condition of Until, named in its failure
	width   int     // that Emulate was told; 0: none
	Events  []Event // since the last Visit
	Beside  string  // origin that pages may fetch from besides their own, see Quiet
}

// Event is an event or an answer of the browser.
type Event struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Open opens a tab of the browser that all tests of a package share, in a
// context of its own: no cookie, cache or storage of another. It ends with the
// test. The package's TestMain must go through [Main].
func Open(t *testing.T) *Tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // of a browser that hangs
	t.Cleanup(cancel)
	b := &Tab{T: t, ctx: ctx, conn: dial(ctx, t)}
	t.Cleanup(b.Close)
	var target struct{ BrowserContextID, TargetID, SessionID string }
	b.Call("Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, &target)
	b.Call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": target.BrowserContextID}, &target)
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range domains {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

var domains = []string{"Page", "Runtime", "Log", "Network", "Audits"}

// Opened clicks a link that opens another tab of the same context and turns to that. Back closes it and turns back.
func (b *Tab) Opened(selector string) (back func()) {
	b.T.Helper()
	type target struct{ TargetID, BrowserContextID, OpenerID, Type string }
	var own struct{ TargetInfo target }
	b.Call("Target.getTargetInfo", nil, &own)
	b.Call("Runtime.evaluate", map[string]any{"expression": `document.querySelector(` + strconv.Quote(selector) + `).click()`, "userGesture": true}, nil)
	first := b.session
	var opened target
	for begun := time.Now(); opened.TargetID == ""; {
		if time.Since(begun) > 4*time.Minute {
			b.T.Fatalf("%s opens no tab", selector)
		}
		var all struct{ TargetInfos []target }
		b.session = "" // of the browser, which knows all tabs
		b.Call("Target.getTargets", nil, &all)
		for _, t := range all.TargetInfos {
			if t.Type == "page" && t.BrowserContextID == own.TargetInfo.BrowserContextID && t.TargetID != own.TargetInfo.TargetID {
				opened = t
			}
		}
	}
	var attached struct{ SessionID string }
	b.Call("Target.attachToTarget", map[string]any{"targetId": opened.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range domains {
		b.Call(domain+".enable", nil, nil)
	}
	b.Until(`document.readyState === "complete" && location.href !== "about:blank"`)
	return func() {
		b.T.Helper()
		b.session = ""
		b.Call("Target.closeTarget", map[string]any{"targetId": opened.TargetID}, nil)
		b.session = first
	}
}

// Close ends the tab before its test ends, and all that its page still does.
func (b *Tab) Close() { _ = b.conn.CloseNow() } // which ends the context and its tab too

// Call asks the browser, and reads the answer into result.
func (b *Tab) Call(method string, params, result any) {
	b.T.Helper()
	if err := b.ask(method, params, result); err != nil {
		b.T.Fatalf("%s: %v", method, err)
	}
}

// ask is Call that returns a refusal of the browser as an error.
func (b *Tab) ask(method string, params, result any) error {
	b.T.Helper()
	b.calls++
	m := map[string]any{"id": b.calls, "method": method}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	if params != nil {
		m["params"] = params
	}
	if err := wsjson.Write(b.ctx, b.conn, m); err != nil {
		b.T.Fatalf("%s: %v", method, err)
	}
	for {
		e := b.next()
		if e.ID != b.calls {
			continue
		}
		if e.Error != nil {
			return errors.New(e.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(e.Result, result); err != nil {
				b.T.Fatalf("%s: %v", method, err)
			}
		}
		return nil
	}
}

func (b *Tab) next() Event {
	b.T.Helper()
	var e Event
	if err := wsjson.Read(b.ctx, b.conn, &e); err != nil {
		b.T.Fatalf("waiting for %s: %v", cmp.Or(b.awaits, "an answer"), err)
	}
	if e.Method != "" {
		b.Events = append(b.Events, e)
	}
	return e
}

// Visit goes to a page and waits until it is loaded. Earlier events are dropped.
func (b *Tab) Visit(url string) {
	b.T.Helper()
	b.Events = nil
	b.Call("Page.navigate", map[string]any{"url": url}, nil)
	b.loaded()
}

// loaded waits for the next page to be there, and for its scripts to be ready for a person. The page that is left may
// tell that it is loaded only now.
func (b *Tab) loaded() {
	b.T.Helper()
	came := false
	for i := 0; ; i++ {
		if i == len(b.Events) {
			for n := i; n == len(b.Events); {
				b.next()
			}
		}
		switch e := b.Events[i]; {
		case e.Method == "Page.frameNavigated" && e.ofPage():
			came = true
		case e.Method == "Page.loadEventFired" && came:
			b.scripted()
			return
		}
	}
}

// ofPage reports whether an event is about the page, and not about a frame within it.
func (e Event) ofPage() bool {
	var about struct{ Frame struct{ ParentID string } }
	return json.Unmarshal(e.Params, &about) == nil && about.Frame.ParentID == ""
}

// scripted waits until the main script of a page has ended. It loads parts of itself after the page is loaded, and a
// click or a key that comes before a part is lost. Pages without it are as they were loaded.
func (b *Tab) scripted() {
	b.T.Helper()
	script := `document.documentElement.classList.contains('scripted') &&
		Promise.allSettled([...document.querySelectorAll('script[type=module][src]')].map(s => import(s.src))).then(() => true)`
	if err := b.ask("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true}, nil); err != nil && !gone(err) {
		b.T.Fatal(err)
	}
}

// Leaves runs a script that leaves the page. The browser may go before it answers, which is no fault.
func (b *Tab) Leaves(script string) {
	b.T.Helper()
	var answer struct{ ExceptionDetails json.RawMessage }
	if err := b.ask("Runtime.evaluate", map[string]any{"expression": script}, &answer); err != nil && !gone(err) {
		b.T.Fatal(err)
	}
	if answer.ExceptionDetails != nil {
		b.T.Fatalf("%s", answer.ExceptionDetails)
	}
}

// Eval runs an expression in the page, past its policy, and reads its value,
// that of a promise once it is there.
func (b *Tab) Eval(expression string, value any) {
	b.T.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.T.Fatalf("%s", answer.ExceptionDetails)
	}
	if err := json.Unmarshal(answer.Result.Value, value); err != nil {
		b.T.Fatal(err)
	}
}

// Screenshot writes a picture of the whole page.
func (b *Tab) Screenshot(file string) {
	b.T.Helper()
	var shot struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(file, shot.Data, 0o644); err != nil {
		b.T.Fatal(err)
	}
}
