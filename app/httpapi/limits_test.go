package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestALongBatchIsRefusedByName(t *testing.T) {
	b := setup(t)
	long := strings.Repeat(`{"task":"t"},`, core.MaxBatch) + `{"task":"t"}`
	for path, field := range map[string]string{"/v1/jobs": "jobs", "/v1/sessions/s/logs": "pieces", "/v1/sessions/s/finish": "attempts"} {
		body := `{"` + field + `":[` + long + `]}`
		if field != "jobs" {
			body = strings.ReplaceAll(body, `"task":"t"`, "")
		}
		status, _, answer := b.raw(t, http.MethodPost, path, body)
		for _, part := range []string{`"field":"` + field + `"`, "10001 entries", "has more than 10000 entries", "send at most 10000 at once"} {
			if status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, part) {
				t.Errorf("%s: %d %.300s, want %s", path, status, answer, part)
			}
		}
	}
}

func TestALinkWithAZeroValidityIsRefused(t *testing.T) {
	b := setup(t)
	paths := map[string]string{"/v1/jobs/9/links": "", "/v1/workflow-runs/9/links": "", "/v1/sessions/s/links": `"job_id":9,"lease":3,`}
	for path, more := range paths {
		status, _, answer := b.raw(t, http.MethodPost, path, `{`+more+`"name":"n","valid":"0s"}`)
		if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest || !strings.Contains(answer, `"field":"valid"`) || !strings.Contains(answer, "leave it out for 7d") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		for _, valid := range []string{"", `,"valid":null`, `,"valid":"1h"`} {
			if status, _, answer := b.raw(t, http.MethodPost, path, `{`+more+`"name":"n"`+valid+`}`); status >= 300 {
				t.Errorf("%s with %s: %d %s", path, valid, status, answer)
			}
		}
	}
}
