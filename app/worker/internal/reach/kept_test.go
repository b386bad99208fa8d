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

func TestKeptConnectionsAreRenewed(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) }))
	defer s.Close()
	allow, err := guard.ParseAllow([]string{"loopback"})
	if err != nil {
		t.Fatal(err)
	}
	n := New(Options{Guard: guard.Options{Allow: allow}})
	defer n.Close()
	route := Route{Warm: true}
	ask := func() string {
		through, f := n.Transport(route)
		if f != nil {
			t.Fatal(f.Text)
		}
		resp, err := (&http.Client{Transport: through}).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		from, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return string(from)
	}
	first := ask()
	if again := ask(); again != first {
		t.Errorf("a kept connection is not used: %s, then %s", first, again)
	}
	k, err := n.transports.Get(route, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.since = time.Now().Add(-keptFor)
	if later := ask(); later == first {
		t.Errorf("the connection of %s is used for ever", first)
	}
}
