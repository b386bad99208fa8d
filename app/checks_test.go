package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/task"
)

// A domain is asked for where the bootstrap file of the configuration says.
func TestBootstrapFileOfRDAP(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/dns.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"services":[[["example"],[%q]]]}`, s.URL+"/")
	})
	mux.HandleFunc("/domain/shop.example", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"events":[{"eventAction":"expiration","eventDate":%q}]}`, time.Now().Add(1000*time.Hour).Format(time.RFC3339))
	})
	checks, err := NewChecks(config.Config{RDAPBootstrap: s.URL + "/dns.json", AllowAddresses: []string{"loopback"}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(checks.Close)
	m, err := checks.Try(t.Context(), task.Task{Domain: &task.Domain{Name: "shop.example"}, Conditions: []string{"domain_days == 41"}})
	if err != nil || m.Outcome != task.CheckOK {
		t.Errorf("%+v, %v", m, err)
	}
}
