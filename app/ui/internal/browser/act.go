package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Click clicks with the mouse into the middle of the first element that a
// selector finds, as a person does: an element that covers it gets the click instead.
//
// A script on the page may move an element away while a person aims
// at it, or while they hold the button down, and then nothing is clicked. They
// see that and aim again.
func (b *Tab) Click(selector string) {
	b.T.Helper()
	for aims := 5; ; aims-- {
		var at *struct{ X, Y float64 }
		b.Eval(`(() => {
			const e = document.querySelector(`+strconv.Quote(selector)+`);
			if (!e) return null;
			e.scrollIntoView({block: 'center', behavior: 'instant'});
			window.belfryWaits = {mousedown: true, click: true};
			for (const event in belfryWaits) {
				e.addEventListener(event, () => { belfryWaits[event] = false; }, {once: true, capture: true});
			}
			const box = e.getBoundingClientRect();
			return {x: box.x + box.width / 2, y: box.y + box.height / 2};
		})()`, &at)
		if at == nil {
			b.T.Fatalf("there is no %s to click on", selector)
		}
		b.mouse("mousePressed", at.X, at.Y)
		if b.waits("mousedown") && aims > 1 {
			b.mouse("mouseReleased", 0, 0) // which clicks nothing else instead
			continue
		}
		b.mouse("mouseReleased", at.X, at.Y)
		if aims == 1 || !b.waits("click") {
			return
		}
	}
}

// waits reports whether the element that Click aims at has yet to see an event. On
// a page that went away because of it nothing waits.
func (b *Tab) waits(event string) bool {
	b.T.Helper()
	var answer struct{ Result struct{ Value bool } }
	err := b.ask("Runtime.evaluate", map[string]any{"expression": `Boolean(window.belfryWaits?.` + event + `)`}, &answer)
	if err != nil && !gone(err) {
		b.T.Fatal(err)
	}
	return answer.Result.Value
}

// gone reports whether a call failed because the page is being left.
func gone(err error) bool {
	return strings.Contains(err.Error(), "navigated") || strings.Contains(err.Error(), "destroyed")
}

func (b *Tab) mouse(kind string, x, y float64) {
	b.T.Helper()
	b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
}

// Follow clicks and waits for the page that comes of it.
func (b *Tab) Follow(selector string) {
	b.T.Helper()
	b.Events = nil
	b.Click(selector)
	b.loaded()
}

// Key presses a key, such as a, /, Enter or Shift+Tab.
func (b *Tab) Key(key string) {
	b.T.Helper()
	key, shift := strings.CutPrefix(key, "Shift+")
	down := map[string]any{"type": "keyDown", "key": key}
	if shift {
		down["modifiers"] = 8
	}
	if key == "Escape" {
		down["windowsVirtualKeyCode"] = 27 // or it closes no dialog
	}
	if key == "Tab" {
		down["windowsVirtualKeyCode"] = 9 // or the focus stays
	}
	if key == "Enter" {
		down["text"] = "\r"
	} else if len([]rune(key)) == 1 { // others, such as Escape, write nothing
		down["text"] = key
	}
	b.Call("Input.dispatchKeyEvent", down, nil)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// Type clicks into an input and types.
func (b *Tab) Type(selector, text string) {
	b.T.Helper()
	b.Click(selector)
	b.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// Until waits until an expression is true of the page, or of the page that it
// goes on to by itself, for at most 4 minutes: a test that fails must not hold up all others for longer.
func (b *Tab) Until(expression string) {
	b.T.Helper()
	b.awaits = expression
	ctx, cancel := context.WithTimeout(b.ctx, 4*time.Minute)
	whole := b.ctx
	b.ctx = ctx
	defer func() { b.awaits, b.ctx = "", whole; cancel() }()
	for {
		var answer struct{ ExceptionDetails json.RawMessage }
		err := b.ask("Runtime.evaluate", map[string]any{"awaitPromise": true, "expression": `new Promise(done => {
			const look = () => {
				let yes = false;
				try { yes = ` + expression + ` } catch {} // what it asks for is not there yet
				if (yes) done(true); else setTimeout(look, 20);
			};
			look();
		})`}, &answer)
		if answer.ExceptionDetails != nil { // it is none at all
			b.T.Fatalf("%s: %s", expression, answer.ExceptionDetails)
		}
		if err == nil {
			return
		}
		if !gone(err) {
			b.T.Fatalf("%s: %v", expression, err)
		}
	}
}

// Text is the visible text of the first element that a selector finds.
func (b *Tab) Text(selector string) string {
	b.T.Helper()
	var text *string
	b.Eval(`document.querySelector(`+strconv.Quote(selector)+`)?.innerText ?? null`, &text)
	if text == nil {
		b.T.Fatalf("there is no %s", selector)
	}
	return *text
}

// Shows fails the test unless a person can read all of these on the page.
func (b *Tab) Shows(texts ...string) {
	b.T.Helper()
	said := b.Text("body")
	for _, text := range texts {
		if !strings.Contains(said, text) {
			b.T.Errorf("the page does not say %q:\n%s", text, said)
		}
	}
}

// Quiet fails the test for everything since the last Visit or Follow that was
// refused or went wrong: errors on the console, violations of the policy,
// requests that failed or went elsewhere than to site or Beside. A status of the page
// itself may be expected.
func (b *Tab) Quiet(site string, statuses ...int) {
	b.T.Helper()
	for _, e := range b.Events {
		switch e.Method {
		case "Log.entryAdded":
			if strings.Contains(string(e.Params), "Autofocus processing was blocked") {
				continue // the page's reader was faster than its autofocus: they typed already
			}
			if !slices.ContainsFunc(statuses, func(s int) bool { return strings.Contains(string(e.Params), fmt.Sprintf("status of %d", s)) }) {
				b.T.Errorf("%s: %s", e.Method, e.Params)
			}
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded", "Page.javascriptDialogOpening":
			b.T.Errorf("%s: %s", e.Method, e.Params)
		case "Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFailed":
			var seen struct {
				Request  struct{ URL string }
				Response struct {
					Status int
					URL    string
				}
				Canceled  bool
				ErrorText string
			}
			if err := json.Unmarshal(e.Params, &seen); err != nil {
				b.T.Fatal(err)
			}
			if at := seen.Request.URL; at != "" && !strings.HasPrefix(at, site+"/") && !strings.HasPrefix(at, "data:") && (b.Beside == "" || !strings.HasPrefix(at, b.Beside+"/")) {
				b.T.Errorf("it fetched %s", at)
			}
			if s := seen.Response.Status; s >= 400 && !slices.Contains(statuses, s) {
				b.T.Errorf("%s answered %d", seen.Response.URL, s)
			}
			if seen.ErrorText != "" && !seen.Canceled {
				b.T.Errorf("a request failed: %s", e.Params)
			}
		}
	}
}
