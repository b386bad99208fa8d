//go:build linux || darwin

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// leaves is the default number of requests that are cut on each database.
const leaves = 3000

// Clients of every route leave at any moment, with and without a token. Afterwards
// every route answers, and no resource is held for the clients that left.
func TestClientsThatLeave(t *testing.T) {
	n, seed := leaves, time.Now().UnixNano()
	fromEnv(t, "BELFRY_E2E_LEAVES", func(v int64) { n = int(v) })
	fromEnv(t, "BELFRY_E2E_SEED", func(v int64) { seed = v })
	t.Logf("the same choices again: BELFRY_E2E_LEAVES=%d BELFRY_E2E_SEED=%d go test -count=1 -v -run '^TestClientsThatLeave$' ./internal/e2e", n, seed)
	onEach(t, func(t *testing.T, s *site) {
		d := &departures{node: s.serve("--allow-commands"), token: s.token()}
		d.furnish()
		d.list()
		var clients sync.WaitGroup
		for i := range 8 {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			clients.Go(func() {
				for range n / 16 {
					d.leave(r, d.routes[r.IntN(len(d.routes))])
				}
			})
		}
		clients.Wait()
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		for range n / 4 { // one after the other without other load: each meets the state that the last one left
			d.glance(d.streams[r.IntN(len(d.streams))])
			d.leave(r, d.reads[r.IntN(len(d.reads))])
		}
		d.goesOn()
	})
}

// departures has a node whose clients leave.
type departures struct {
	*node
	token  string
	cookie string
	job    int64 // has a log, and runs
	routes []route
	// streams and reads are the routes that are cut more often.
	streams, reads []route
}

// route is a request of the API. Requests that would delete the test's own
// definitions are made only without a token.
type route struct {
	method, path string
	body         string
	harms        bool
}

// furnish creates a definition of each noun that a route can show.
func (d *departures) furnish() {
	d.t.Helper()
	d.shellTask("talks", "while :; do echo word; sleep 0.2; done")
	d.shellTask("once", "echo done")
	d.job = d.enqueue("talks").ID
	d.becomes(d.enqueue("once").ID, patience, job.Succeeded)
	ctx := d.t.Context()
	must[view.MonitorView](d.t)(d.api.CreateMonitor(ctx, monitor.Monitor{
		Name: "m", Public: true, Every: core.Duration(time.Hour), Heartbeat: &monitor.Heartbeat{},
	}))
	must[schedule.Schedule](d.t)(d.api.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "once", Rules: []schedule.Rule{{Cron: "0 0 1 1 *"}}}))
	must[public.StatusPage](d.t)(d.api.SaveStatusPage(ctx, public.StatusPage{Name: "p"}))
	d.signIn()
}

// signIn gets the cookies of the pages.
func (d *departures) signIn() {
	d.t.Helper()
	stay := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.PostForm(d.url+"/sign-in", url.Values{"token": {d.token}})
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	var all []string
	for _, c := range resp.Cookies() {
		all = append(all, c.Name+"="+c.Value)
	}
	d.cookie = strings.Join(all, "; ")
	if resp.StatusCode != http.StatusSeeOther || d.cookie == "" {
		d.t.Fatalf("the sign-in answers %d", resp.StatusCode)
	}
}

var placeholder = regexp.MustCompile(`\{[^}]+\}`)

// list collects every route of the OpenAPI document, and the routes beside the API.
func (d *departures) list() {
	d.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(get(d.t, d.url+"/openapi.json", "").Body), &doc); err != nil {
		d.t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			method = strings.ToUpper(method)
			d.routes = append(d.routes, route{method: method, path: d.fill(path), body: bodyFor(method), harms: harmful(method, path)})
		}
	}
	if len(d.routes) < 100 {
		d.t.Fatalf("the document lists %d routes", len(d.routes))
	}
	for _, path := range []string{"/v1/events", "/live", fmt.Sprintf("/v1/jobs/%d/logs?follow=true", d.job)} {
		d.streams = append(d.streams, route{method: http.MethodGet, path: path})
	}
	for _, path := range []string{"/v1/overview", "/v1/jobs", "/v1/monitors", "/v1/queues"} {
		d.reads = append(d.reads, route{method: http.MethodGet, path: path})
	}
	d.routes = append(d.routes, d.streams...)
	for _, path := range []string{
		"/badge/default/m/status.svg", "/badge/default/m/uptime.svg", "/status/default/p", "/status/none/none",
		"/sign-in", "/healthz", "/readyz", "/metrics", "/docs", "/openapi.json", "/openapi.yaml", "/beat/none", "/nothing/here",
	} {
		d.routes = append(d.routes, route{method: http.MethodGet, path: path})
	}
	for _, pattern := range console.Pages() {
		path := strings.TrimSuffix(strings.TrimPrefix(pattern, "GET "), "{$}")
		d.routes = append(d.routes, route{method: http.MethodGet, path: d.fill(path)})
	}
	slices.SortFunc(d.routes, func(a, b route) int { return strings.Compare(a.method+a.path, b.method+b.path) })
}

// fill replaces the parameters of a path by existing names and ids, if there are any.
func (d *departures) fill(path string) string {
	return placeholder.ReplaceAllStringFunc(path, func(place string) string {
		switch {
		case strings.Contains(path, "/jobs/"):
			return fmt.Sprint(d.job)
		case strings.Contains(path, "/monitors/"):
			return "m"
		case strings.Contains(path, "/schedules/"):
			return "s"
		case strings.Contains(path, "/queues/"):
			return "default"
		}
		return "once"
	})
}

func bodyFor(method string) string {
	if method == http.MethodGet || method == http.MethodDelete {
		return ""
	}
	return `{"jobs":[{"task":"once"}],"name":"x"}`
}

// harmful has the routes that would remove what the test checks.
func harmful(method, path string) bool {
	return method == http.MethodDelete || strings.Contains(path, "cancel") || strings.Contains(path, "/tokens") ||
		strings.Contains(path, "pause") || strings.Contains(path, "drain")
}

// credential returns the header for a route. Pages need the cookie, since a token is for programs.
func (d *departures) credential(way route) (name, value string) {
	if strings.HasPrefix(way.path, "/v1/") || way.path == "/metrics" {
		return "Authorization", "Bearer " + d.token
	}
	return "Cookie", d.cookie
}

// glance opens a stream and leaves when it begins.
func (d *departures) glance(way route) {
	d.t.Helper()
	ctx, leave := context.WithCancel(d.t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, way.method, d.url+way.path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	name, value := d.credential(way)
	req.Header.Set(name, value)
	resp, err := plain.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		d.t.Fatalf("%s answers %d", way.path, resp.StatusCode)
	}
	leave()
	_ = resp.Body.Close()
}

// leave makes a request and leaves at one of its stages. Most answers take far less
// than a millisecond, so most waits are shorter.
func (d *departures) leave(r *rand.Rand, way route) {
	moment, within := r.IntN(5), time.Duration(math.Pow(r.Float64(), 4)*float64(3*time.Millisecond))
	known := r.IntN(3) > 0 && !way.harms
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(d.url, "http://"), patience)
	if err != nil {
		return // the port's queue is full for a moment; only the state afterwards counts
	}
	defer conn.Close()
	if r.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0) // with a reset
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if moment == 0 {
		return
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
		way.method, way.path, strings.TrimPrefix(d.url, "http://"), len(way.body))
	if known {
		name, value := d.credential(way)
		fmt.Fprintf(&head, "%s: %s\r\n", name, value)
	}
	head.WriteString("\r\n")
	text := head.String()
	if moment == 1 {
		_, _ = io.WriteString(conn, text[:r.IntN(len(text))])
		return
	}
	if moment == 2 {
		text += way.body[:len(way.body)/2]
	} else {
		text += way.body
	}
	_, _ = io.WriteString(conn, text)
	if moment == 4 { // in the middle of the answer
		_, _ = io.ReadAtLeast(conn, make([]byte, 1+r.IntN(400)), 1)
	}
	t := time.NewTimer(within)
	<-t.C
}

// goesOn fails unless every route answers and no slot is held.
func (d *departures) goesOn() {
	d.t.Helper()
	readyWithin(d.t, d.url, patience, http.StatusOK)
	for i := range 40 {
		for _, path := range []string{"/v1/overview", "/v1/jobs", "/v1/monitors"} {
			if a := get(d.t, d.url+path, d.token); a.StatusCode != http.StatusOK {
				d.t.Fatalf("read %d of %s answers %d: %s", i, path, a.StatusCode, a.Body)
			}
		}
	}
	if a := get(d.t, d.url+"/healthz", ""); a.StatusCode != http.StatusOK {
		d.t.Errorf("healthz answers %d: %s", a.StatusCode, a.Body)
	}
	d.becomes(d.enqueue("once").ID, patience, job.Succeeded)
	eventually(d.t, patience, "no stream is open", func() (bool, string) {
		a := get(d.t, d.url+"/metrics", d.token)
		open := regexp.MustCompile(`(?m)^belfry_streams.* (\d+)$`).FindAllStringSubmatch(a.Body, -1)
		held := slices.ContainsFunc(open, func(m []string) bool { return m[1] != "0" })
		return len(open) == 2 && !held, fmt.Sprint(open)
	})
	for line := range strings.Lines(d.stderr.String()) {
		if strings.Contains(line, "level=ERROR") {
			d.t.Errorf("log of the node: got %s", line)
		}
	}
	if !d.running() {
		d.t.Error("the node has ended")
	}
}
