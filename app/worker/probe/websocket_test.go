package probe_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestWebSocket(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/shut":
			w.WriteHeader(403)
			_, _ = fmt.Fprintf(w, "no %s", r.Header.Get("X-Token"))
			return
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
			return
		case "/fake":
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(101)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		switch r.URL.Path {
		case "/big":
			_ = c.Write(r.Context(), websocket.MessageText, make([]byte, 2<<20))
		case "/many":
			for c.Write(r.Context(), websocket.MessageText, []byte("again")) == nil {
			}
		case "/bye":
			_ = c.Close(websocket.StatusGoingAway, "bye")
		case "/silent":
			_, _, _ = c.Read(r.Context())
			_, _, _ = c.Read(r.Context())
		default:
			_ = c.Write(r.Context(), websocket.MessageText, []byte(`{"hello":1}`))
			for {
				kind, b, err := c.Read(r.Context())
				if err != nil {
					return
				}
				_ = c.Write(r.Context(), kind, append([]byte("echo "), b...))
			}
		}
	})
	url := strings.Replace(s.URL, "http", "ws", 1)
	for name, c := range map[string]struct {
		ws      task.WebSocket
		holds   string
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"upgrades":   {task.WebSocket{URL: url}, "status == 101", task.CheckOK, "", ""},
		"talks":      {task.WebSocket{URL: url, Send: "ping", Expect: "^echo ping$"}, "", task.CheckOK, "", ""},
		"greets":     {task.WebSocket{URL: url}, "json.hello == 1", task.CheckOK, "", ""},
		"shut":       {task.WebSocket{URL: url + "/shut", Headers: map[string]string{"X-Token": "verysecret"}}, "", task.CheckFail, task.CodeStatus, "got 403 Forbidden"},
		"moved":      {task.WebSocket{URL: url + "/moved"}, "", task.CheckFail, task.CodeStatus, "got 302"},
		"no socket":  {task.WebSocket{URL: url + "/fake"}, "", task.CheckFail, task.CodeProtocol, "not one of WebSocket"},
		"too big":    {task.WebSocket{URL: url + "/big", Expect: "x"}, "", task.CheckFail, task.CodeBodyTooLarge, ""},
		"never ends": {task.WebSocket{URL: url + "/many", Expect: "other"}, "", task.CheckFail, task.CodeExpect, "none of 1000 messages"},
		"goes away":  {task.WebSocket{URL: url + "/bye", Expect: "x"}, "", task.CheckFail, task.CodeExpect, "1001"},
		"denied":     {task.WebSocket{URL: "ws://127.0.0.2:1/"}, "", task.CheckError, task.CodeBlocked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := task.Task{WebSocket: &c.ws}
			if c.holds != "" {
				task.Conditions = []string{c.holds}
			}
			m := look(t, task)
			wants(t, m, c.outcome, c.code, c.text)
			if strings.Contains(fmt.Sprintf("%+v %+v", m, m.Snapshot), "verysecret") {
				t.Errorf("%+v", m)
			}
		})
	}
	for path, code := range map[string]task.CheckCode{"/silent": task.CodeFirstByte, "/": task.CodeExpect} {
		m := stalls(t, task.Task{WebSocket: &task.WebSocket{URL: url + path, Send: "x", Expect: "other"}}, code)
		wants(t, m, task.CheckFail, code, "")
	}
}

// TestWebSocketThatIsNone answers the upgrade at once and wrongly, and holds the
// connection. What the library waits for then is not the target's latency.
func TestWebSocketThatIsNone(t *testing.T) {
	t.Parallel()
	address := raw(t, func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		hold(c)
	})
	var m task.CheckResult
	budget := time.Duration(0)
	for _, budget = range []time.Duration{2 * time.Second, 20 * time.Second} { // more of it on a busy machine
		m = look(t, task.Task{WebSocket: &task.WebSocket{URL: "ws://" + address + "/"}, Timeout: core.Duration(budget)})
		if m.Code == task.CodeProtocol && m.Latency.D() <= budget/2 {
			break
		}
	}
	wants(t, m, task.CheckFail, task.CodeProtocol, "the upgrade is not one of WebSocket")
	if m.Latency.D() > budget/2 {
		t.Errorf("the latency is %s, with phases %+v", m.Latency, m.Phases)
	}
}
