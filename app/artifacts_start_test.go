package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/config"
)

// A node whose bucket refuses the credentials starts, and says at once that programs cannot be uploaded.
func TestAStartNamesABucketThatRefuses(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		status int
		logs   bool
	}{{http.StatusForbidden, true}, {http.StatusOK, false}} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) }))
		t.Cleanup(service.Close)
		var log strings.Builder
		a := &App{log: slog.New(slog.NewTextHandler(&log, nil)), opt: Options{Config: config.Config{Artifacts: "s3://arts?region=us-east-1&endpoint=" + service.URL}}}
		a.artifacts = NewArtifacts(a.opt.Config, a.log, nil)
		if err := a.checkArtifacts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), `msg="artifacts cannot be used now: uploads fail, and output files wait"`); got != c.logs || strings.Contains(log.String(), "hunter2") {
			t.Errorf("status %d: %s", c.status, log.String())
		}
	}
}
