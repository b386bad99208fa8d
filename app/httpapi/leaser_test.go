package httpapi_test

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

// TestBrokerSuiteOverHTTP runs the very cases that the stores pass, with the
// API between worker and store: a remote worker cannot tell the difference.
func TestBrokerSuiteOverHTTP(t *testing.T) {
	storetest.RunLeaser(t, func(t *testing.T) (job.Leaser, storetest.Admin) {
		clock := storetest.NewClock()
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"),
			sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Clock: clock.Now}})
		if err != nil {
			t.Fatal(err)
		}
		_, secret, err := st.CreateToken(t.Context(), access.Token{Name: "worker", Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeWorker, access.ScopeOperate}})
		if err != nil {
			t.Fatal(err)
		}
		api, err := httpapi.New(httpapi.Options{Service: st, Auth: st, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(api.Handler())
		client, err := client.New(srv.URL, secret, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			client.CloseIdleConnections()
			api.Close()
			srv.Close()
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		return client, storetest.NewAdmin(st, clock)
	})
}
