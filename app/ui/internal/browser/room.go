package browser

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// room is a context of the browser that tests use one after another, each in a tab of its own. An empty page stays open in it: that
// keeps its process, which has the fonts and the compiled scripts of earlier tests. A new process for each tab took more time than
// the pages of a short test.
type room struct {
	wire
	address string // of the browser
	page    string // address of the empty page
	context string
	empty   string // tab with the empty page
	session string // of that tab
}

// enter takes a room that is free, or a new one. Whatever an earlier tab has stored is gone.
func (c *chromium) enter(ctx context.Context, t *testing.T) *room {
	t.Helper()
	for {
		r, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if r.conn == nil {
			if err := r.open(ctx); err != nil {
				r.close()
				c.end() // the next test begins with another
				t.Fatal(err)
			}
			return r
		}
		if r.clean(ctx) == nil {
			return r
		}
		r.close()
	}
}

// next is a room that is free, or one that has yet to be opened. It starts the browser if need be.
func (c *chromium) next() (*room, error) {
	c.Lock()
	defer c.Unlock()
	if !c.allowed {
		return nil, errors.New("the tests of this package must run by browser.Main, in TestMain")
	}
	if last := len(c.free) - 1; last >= 0 {
		r := c.free[last]
		c.free = c.free[:last]
		return r, nil
	}
	if c.address == "" {
		if err := c.start(); err != nil {
			return nil, err
		}
	}
	return &room{address: c.address, page: c.empty.URL + "/"}, nil
}

// leave gives a room back. After a test that failed it is closed: its process may have a fault, or be busy.
func (c *chromium) leave(r *room, failed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if failed || r.closeTabs(ctx) != nil {
		r.close()
		return
	}
	c.Lock()
	defer c.Unlock()
	c.free = append(c.free, r)
}

func (r *room) open(ctx context.Context) (err error) {
	if err := r.dial(ctx, r.address); err != nil {
		return err
	}
	var made struct{ BrowserContextID, TargetID, SessionID string }
	if err := r.ask(ctx, "", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, &made); err != nil {
		return err
	}
	if err := r.ask(ctx, "", "Target.createTarget", map[string]any{"url": r.page, "browserContextId": made.BrowserContextID}, &made); err != nil {
		return err
	}
	if err := r.ask(ctx, "", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made); err != nil {
		return err
	}
	r.context, r.empty, r.session = made.BrowserContextID, made.TargetID, made.SessionID
	return nil
}

func (r *room) close() {
	if r.conn != nil {
		_ = r.conn.CloseNow() // which ends the context and its tabs too
	}
}

// closeTabs ends all but the empty page.
func (r *room) closeTabs(ctx context.Context) error {
	for closed := map[string]bool{}; ; {
		var all struct {
			TargetInfos []struct{ TargetID, BrowserContextID, Type string }
		}
		if err := r.ask(ctx, "", "Target.getTargets", nil, &all); err != nil {
			return err
		}
		left := 0
		for _, t := range all.TargetInfos {
			if t.BrowserContextID != r.context || t.TargetID == r.empty || t.Type != "page" {
				continue
			}
			left++
			if !closed[t.TargetID] {
				closed[t.TargetID] = true
				if err := r.ask(ctx, "", "Target.closeTarget", map[string]any{"targetId": t.TargetID}, nil); err != nil {
					return err
				}
			}
		}
		if left == 0 {
			return nil
		}
		time.Sleep(time.Millisecond) // until the page is gone, and cannot store anything
	}
}

// clean forgets what pages of all origins have stored and fetched.
func (r *room) clean(ctx context.Context) error {
	return errors.Join(
		r.ask(ctx, r.session, "Storage.clearDataForOrigin", map[string]any{"origin": "*", "storageTypes": "all"}, nil),
		r.ask(ctx, "", "Storage.clearCookies", map[string]any{"browserContextId": r.context}, nil),
		r.ask(ctx, r.session, "Network.clearBrowserCache", nil, nil),
	)
}

func (r *room) ask(ctx context.Context, session, method string, params, result any) error {
	id, err := r.send(ctx, session, method, params)
	if err != nil {
		return err
	}
	for {
		if e, err := r.next(ctx); err != nil || e.ID == id {
			if err != nil {
				return err
			}
			return e.answer(result)
		}
	}
}

// wire is a connection to the browser.
type wire struct {
	conn  *websocket.Conn
	calls int
}

func (w *wire) dial(ctx context.Context, address string) (err error) {
	if w.conn, _, err = websocket.Dial(ctx, address, nil); err != nil {
		return err
	}
	w.conn.SetReadLimit(-1)
	return nil
}

// send sends a call, to a tab or to the browser itself. Its answer has the same id.
func (w *wire) send(ctx context.Context, session, method string, params any) (id int, err error) {
	w.calls++
	m := map[string]any{"id": w.calls, "method": method}
	if session != "" {
		m["sessionId"] = session
	}
	if params != nil {
		m["params"] = params
	}
	return w.calls, wsjson.Write(ctx, w.conn, m)
}

// next is the next answer or event.
func (w *wire) next(ctx context.Context) (e Event, err error) {
	err = wsjson.Read(ctx, w.conn, &e)
	return e, err
}

// answer reads the result of a call, or its refusal.
func (e Event) answer(result any) error {
	if e.Error != nil {
		return errors.New(e.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(e.Result, result)
}
