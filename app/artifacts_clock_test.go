package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

// behindDB is a database whose clock is two hours behind that of this node.
type behindDB struct{ base.DB }

func (behindDB) Skew(context.Context) (time.Duration, error) { return 2 * time.Hour, nil }

// A link ends by the clock that decides. A node whose own clock is two hours ahead takes the links of the others.
func TestLinksToArtifactsFollowTheClockThatDecides(t *testing.T) {
	t.Parallel()
	c := config.Config{Artifacts: "folder:" + t.TempDir()}
	st, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // of a test
	ahead := &App{store: store.New(behindDB{st.DB()}, store.Options{}), artifacts: NewArtifacts(c, nil)}
	if skew, err := ahead.compareClocks(t.Context()); err != nil || skew != 2*time.Hour {
		t.Fatal(skew, err)
	}
	there, err := ahead.artifacts.part(t.Context(), core.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	link, err := there.SignPut(t.Context(), blob.Upload{Digest: strings.Repeat("0", 64), Size: 1}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(link.Expires); left > -50*time.Minute {
		t.Errorf("by the clock of the node the link ends in %s, want about -1h", left)
	}
	w := httptest.NewRecorder()
	ahead.artifacts.ServeHTTP(w, httptest.NewRequest(http.MethodPut, link.URL, strings.NewReader("x")))
	if said := w.Body.String(); strings.Contains(said, "expired") {
		t.Error(w.Code, said)
	}
}
