package probe_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/page"
	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/task"
)

// hostileBudget is the timeout of a check of a hostile peer, and hostileBound
// what it may take at most, however busy the machine is.
const (
	hostileBudget = 1500 * time.Millisecond
	hostileBound  = 10 * time.Second
)

// ours are the codes that do not blame the target.
var ours = map[task.CheckCode]bool{task.CodeInternal: true, task.CodeLost: true, task.CodeNetwork: true, task.CodeConfig: true, task.CodeBlocked: true}

// TestHostilePeers tries each kind of check on each peer that it can talk to: it
// ends in time, with a verdict about the target, and lets go of its socket.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	ex, pages := probe.New(probe.Options{Guard: local}), page.New(page.Options{Guard: local})
	t.Cleanup(ex.Close)
	t.Cleanup(pages.Close)
	url := func(address string) string { return "http://" + address + "/" }
	over := map[string]func(address string) task.Task{
		"http":       func(a string) task.Task { return get(url(a)) },
		"http, kept": func(a string) task.Task { return task.Task{HTTP: &task.HTTP{URL: url(a), KeepAlive: true}} },
		"page":       func(a string) task.Task { return task.Task{Page: &task.PageCheck{URL: url(a)}} },
		"websocket": func(a string) task.Task {
			return task.Task{WebSocket: &task.WebSocket{URL: "ws://" + a + "/", Expect: "never"}}
		},
	}
	streams := map[string]func(address string) task.Task{
		"https":     func(a string) task.Task { return get("https://" + a + "/") },
		"tcp":       func(a string) task.Task { return task.Task{TCP: &task.TCP{Address: a, Expect: "never"}} },
		"tls":       func(a string) task.Task { return task.Task{TLS: &task.TLS{Address: a}} },
		"starttls":  func(a string) task.Task { return task.Task{TLS: &task.TLS{Address: a, StartTLS: "smtp"}} },
		"grpc":      func(a string) task.Task { return task.Task{GRPC: &task.GRPC{Address: a, Plaintext: true}} },
		"grpc, TLS": func(a string) task.Task { return task.Task{GRPC: &task.GRPC{Address: a}} },
		"dns": func(a string) task.Task {
			return task.Task{DNS: &task.DNS{Name: "example.com", Server: a, TCP: true}}
		},
	}
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, 12) // most of what is tried waits
	try := func(kind string, p hostile.Peer, tk func(string) task.Task) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			what := kind + ", " + p.Name
			s := hostile.Serve(t, p)
			check := tk(s.Address)
			check.Name, check.Timeout = "look", core.Duration(hostileBudget)
			began := time.Now()
			try := ex.Check
			if check.Page != nil {
				try = pages.Check
			}
			m := try(t.Context(), check)
			if took := time.Since(began); took > hostileBound {
				t.Errorf("%s: it took %s, with a timeout of %s", what, took, hostileBudget)
			}
			if m.Outcome == task.CheckError && ours[m.Code] || m.Outcome == task.CheckFail && m.Message == "" {
				t.Errorf("%s: the verdict is %s %s: %q", what, m.Outcome, m.Code, m.Message)
			}
			checkShape(t, m)
			if check.HTTP == nil || !check.HTTP.KeepAlive {
				s.Closed(t, what)
			}
		})
	}
	for _, p := range hostile.HTTP {
		for kind, task := range over {
			try(kind, p, task)
		}
		if p.Name != "takes the connection and says nothing" {
			try("grpc", p, streams["grpc"])
		}
	}
	for _, p := range hostile.TCP {
		for kind, task := range streams {
			try(kind, p, task)
		}
	}
}

// TestHostilePeersSwitchingProtocols is the target's fault, in its own words.
func TestHostilePeersSwitchingProtocols(t *testing.T) {
	t.Parallel()
	s := hostile.Serve(t, hostile.HTTP[1])
	tk := get("http://" + s.Address + "/")
	wants(t, look(t, tk), task.CheckFail, task.CodeProtocol, "switched to another protocol (101 Switching Protocols) without being asked")
	asked := task.Task{HTTP: &task.HTTP{URL: "http://" + s.Address + "/", Headers: map[string]string{"Upgrade": "foo", "Connection": "Upgrade"}}}
	wants(t, look(t, asked), task.CheckFail, task.CodeStatus, "got 101 Switching Protocols")
	asked.HTTP.ExpectStatus = []string{"101"}
	wants(t, look(t, asked), task.CheckOK, "", "")
	s.Closed(t, "101")
}

// TestHostilePeersHoldNoTurn has more checks of a hostile address than may look
// at it at once, and one of an innocent path there that still gets its turn.
func TestHostilePeersHoldNoTurn(t *testing.T) {
	t.Parallel()
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fine" {
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n")
		hold(c)
		_ = c.Close()
	})
	ex := probe.New(probe.Options{Guard: local})
	t.Cleanup(ex.Close)
	before := runtime.NumGoroutine()
	done := make(chan task.CheckResult, 2*probe.DefaultPerHost)
	for range cap(done) {
		go func() {
			task := get(site.URL + "/101")
			task.Name, task.Timeout = "bad", core.Duration(hostileBudget)
			done <- ex.Check(t.Context(), task)
		}()
	}
	for range cap(done) {
		if m := <-done; m.Outcome != task.CheckFail {
			t.Errorf("%s %s: %s", m.Outcome, m.Code, m.Message)
		}
	}
	tk := get(site.URL + "/fine")
	tk.Name, tk.Timeout = "good", core.Duration(hostileBound)
	if m := ex.Check(t.Context(), tk); m.Outcome != task.CheckOK {
		t.Errorf("%s %s: %s", m.Outcome, m.Code, m.Message)
	}
	if now := runtime.NumGoroutine(); now > before+200 {
		t.Errorf("%d goroutines, %d before", now, before)
	}
}
