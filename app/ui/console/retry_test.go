package console_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/job"
)

var keyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

func TestAFormThatRetriesIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.someJobs()
	v := s.visitor(s.admin)
	keyOf := func(page string) string {
		t.Helper()
		_, body := v.get(page)
		m := keyField.FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("%s has no key", page)
		}
		return m[1]
	}
	says := func(want, path string, form ...string) {
		t.Helper()
		if _, body := v.post(path, form...); !strings.Contains(body, want) {
			t.Errorf("%s %q does not say %q: %s", path, form, want, body)
		}
	}
	canceled := func() {
		t.Helper()
		if j := must(s.Job(t.Context(), "default", 4))(s); j.State != job.Canceled {
			t.Errorf("job 4 is %s, want canceled", j.State)
		}
	}
	v.post("/jobs/4/cancel")
	one := keyOf("/jobs/4")
	says("Job 4 is ready again", "/jobs/4/retry", "key", one)
	v.post("/jobs/4/cancel")
	says("Job 4 was retried already.", "/jobs/4/retry", "key", one)
	canceled()
	if later := keyOf("/jobs/4"); later == one {
		t.Error("the form after a later end has the same key")
	}
	many := keyOf("/jobs/-bulk?do=retry&job=4")
	says("1 job was retried", "/jobs/-bulk", "do", "retry", "job", "4", "key", many)
	v.post("/jobs/4/cancel")
	says("was retried already", "/jobs/-bulk", "do", "retry", "job", "4", "key", many)
	canceled()
}
