package reach

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/guard"
)

// A connection is kept for an hour, and one that is in use at the end of the hour is not used once more.
func TestKeptConnectionsAreRenewed(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			began, end := make(chan struct{}), make(chan struct{})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					close(began)
					<-end
				}
				_, _ = io.WriteString(w, r.Proto+" "+r.RemoteAddr)
			}))
			s.EnableHTTP2 = proto == "HTTP/2.0"
			s.StartTLS()
			defer s.Close()
			allow, err := guard.ParseAllow([]string{"loopback"})
			if err != nil {
				t.Fatal(err)
			}
			n := New(Options{Guard: guard.Options{Allow: allow}})
			defer n.Close()
			route := Route{Warm: true, SkipVerify: true}
			ask := func(path string) string {
				through, f := n.Transport(route)
				if f != nil {
					t.Error(f.Text)
					return ""
				}
				resp, err := (&http.Client{Transport: through}).Get(s.URL + path)
				if err != nil {
					t.Error(err)
					return ""
				}
				from, err := io.ReadAll(resp.Body)
				if err = errors.Join(err, resp.Body.Close()); err != nil || resp.Proto != proto {
					t.Error(resp.Proto, err)
				}
				return string(from)
			}
			anHourLater := func() {
				k, err := n.transports.Get(route, nil)
				if err != nil {
					t.Fatal(err)
				}
				k.since = time.Now().Add(-keptFor)
			}
			first := ask("/")
			if again := ask("/"); again != first {
				t.Errorf("a kept connection is not used: %s, then %s", first, again)
			}
			slow := make(chan string)
			go func() { slow <- ask("/slow") }()
			<-began
			anHourLater()
			second := ask("/")
			close(end)
			if from := <-slow; from != first || second == first {
				t.Errorf("in use at the hour: %s and %s; after it: %s", first, from, second)
			}
			if later := ask("/"); later != second {
				t.Errorf("after the one in use was given back: got %s, want %s", later, second)
			}
			anHourLater()
			if third := ask("/"); third == first || third == second {
				t.Errorf("%s is used for ever", third)
			}
		})
	}
}
