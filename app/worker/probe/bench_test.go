package probe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/task"
)

// BenchmarkHTTPCold is one check of HTTP over a connection of its own: the
// time of a check by itself, with that of the server, which runs in the same
// process, included.
func BenchmarkHTTPCold(b *testing.B) {
	page := strings.Repeat("<p>All is well.</p>\n", 500)
	handle := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }
	ca := newAuthority(b)
	plain := httptest.NewServer(http.HandlerFunc(handle))
	defer plain.Close()
	secure := serveTLS(b, with(ca.server(b)), handle)
	for name, http := range map[string]task.HTTP{
		"plain": {URL: plain.URL}, "tls": {URL: secure.URL, CA: ca.pem}, "warm": {URL: plain.URL, KeepAlive: true},
	} {
		b.Run(name, func(b *testing.B) {
			ex := probe.New(probe.Options{Guard: local})
			defer ex.Close()
			t := task.Task{HTTP: &http, Conditions: []string{"status == 200 and latency < 5s", "body contains 'well'"}}
			b.ReportAllocs()
			for b.Loop() {
				if m := ex.Check(b.Context(), t); m.Outcome != task.CheckOK {
					b.Fatalf("%+v", m)
				}
			}
		})
	}
}

// BenchmarkTCP is the least that any check costs.
func BenchmarkTCP(b *testing.B) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	ex := probe.New(probe.Options{Guard: local})
	defer ex.Close()
	t := task.Task{TCP: &task.TCP{Address: addressOf(s)}}
	b.ReportAllocs()
	for b.Loop() {
		if m := ex.Check(b.Context(), t); m.Outcome != task.CheckOK {
			b.Fatalf("%+v", m)
		}
	}
}
