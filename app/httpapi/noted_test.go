package httpapi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
)

func TestRefusalsAndEnqueuesAreRecordedOnceAMinute(t *testing.T) {
	t.Parallel()
	var kept apitest.Audit
	b := setup(t, func(o *Options) { o.Audit = &kept })
	b.when("Enqueue", func(context.Context, []any) (any, error) {
		one := job.Enqueued{Job: job.Job{Namespace: "team-a", Task: "t"}}
		return []job.Enqueued{one, one, {Job: one.Job, Existing: true}}, nil
	})
	for range 30 {
		b.raw(t, "GET", "/v1/tasks", "", "Authorization", "Bearer wrong")
	}
	b.raw(t, "GET", "/v1/tasks", "", "Authorization", "")
	b.raw(t, "GET", "/v1/tasks?namespace=team-b", "", "Authorization", "Bearer team")
	b.raw(t, "DELETE", "/v1/tasks/t", "", "Authorization", "Bearer reader")
	b.raw(t, "DELETE", "/v1/tasks/other", "", "Authorization", "Bearer reader")
	if status, _, text := b.raw(t, "POST", "/v1/jobs", `{"task":"t"}`, "Authorization", "Bearer team"); status >= 300 {
		t.Fatal(status, text)
	}
	b.raw(t, "GET", "/v1/tasks/none-such", "", "Authorization", "Bearer team")
	if got := kept.Lines(); len(got) > 0 {
		t.Errorf("recorded at once: %s", got)
	}
	b.server.Close()
	want := []string{
		": unknown refuse token 127.0.0.1 (31 times within a minute: no token or a wrong one)",
		"team-a: token:team refuse request GET /v1/tasks (from 127.0.0.1)",
		": token:reader refuse request DELETE /v1/tasks/{name} (2 times within a minute: from 127.0.0.1)",
		"team-a: token:team enqueue task t (2 times within a minute: through the API)",
	}
	if got := kept.Lines(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An enqueue by a page of this node, whose calls take no socket, is not said to come through the API.
func TestEnqueuesOfPagesAreRecordedAsSuch(t *testing.T) {
	t.Parallel()
	var kept apitest.Audit
	b := setup(t, func(o *Options) { o.Audit = &kept })
	b.when("Enqueue", func(context.Context, []any) (any, error) {
		return []job.Enqueued{{Job: job.Job{Namespace: "team-a", Task: "t"}}}, nil
	})
	pages, err := client.New("http://localhost", "team", client.Options{Transport: b.server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pages.Enqueue(t.Context(), []job.NewJob{{Task: "t"}}); err != nil {
		t.Fatal(err)
	}
	b.server.Close()
	if got, want := kept.Lines(), []string{"team-a: token:team enqueue task t (through the web interface)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
