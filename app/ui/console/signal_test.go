package console_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// waits has a job of a task wait for a signal.
func (s *site) waits(task, name string) int64 {
	s.Helper()
	session, j, lease := s.claim(task)
	ref := job.Ref{JobID: j.ID, Lease: lease}
	must(s.SaveStep(s.Context(), session, ref, job.NewStep{Number: 1, Name: name, Kind: job.StepSignal, Type: "int", Sleep: core.Duration(time.Hour)}))(s)
	must(s.Finish(s.Context(), session, []job.Finish{{Ref: ref, Outcome: job.OutcomeSnoozed, Snooze: core.Duration(time.Hour)}}))(s)
	return j.ID
}

// The page of a job sends signals, and makes links that another person answers without signing in.
func TestASignalIsSentByThePageAndByALink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	first, second := s.waits("later", "approved by <finance>"), s.waits("later", "paid")
	step := func(id int64) job.Step { return must(s.JobSteps(t.Context(), "default", id))(s)[0] }

	b := s.at("/jobs/" + numberText(first))
	b.Shows("waits for its signal", "Send a signal", "Make a link")
	picture(b, "job-waits-for-a-signal")
	s.sends(b, `a[href$="/signal"]`, "Send a signal to job "+numberText(first))
	if got := value(b, "#f-name"); got != "approved by <finance>" {
		t.Errorf("the form begins with %q", got)
	}
	picture(b, "job-signal")
	b.Axe()
	b.Type("#f-input", `{"by":`)
	s.refused(b, "form.card button.main", http.StatusUnprocessableEntity, "is not JSON")
	if got := value(b, "#f-input"); got != `{"by":` {
		t.Errorf("what was typed is %q", got)
	}
	put(b, "#f-input", `{"by": "ann"}`)
	s.sends(b, "form.card button.main", "Signal approved by <finance> is sent")
	if got := step(first); string(got.Result) != `{"by":"ann"}` {
		t.Errorf("the step got %s", got.Result)
	}

	b.Visit(s.url + "/jobs/" + numberText(second))
	opens(b, "link-1")
	b.Type("#f-for-1", "Ann")
	s.sends(b, "#link-1 button.main", "The link is made", "belfry job unlink")
	var link string
	b.Eval(`document.getElementById('secret').textContent`, &link)
	path := link[strings.Index(link, "/answer/"):]
	stranger := s.tab("")
	for range 2 {
		stranger.Visit(s.url + path)
		stranger.Quiet(s.url)
		stranger.Shows("Job "+numberText(second), "Send paid")
	}
	stranger.Axe()
	if got := step(second); !got.EndedAt.IsZero() {
		t.Fatal("to look has answered")
	}
	stranger.Type("#input", "7")
	stranger.Click(`button[value="send"]`)
	stranger.Until(`document.body.innerText.includes('Sent. Thank you.')`)
	if got := step(second); string(got.Result) != "7" {
		t.Errorf("the step got %s", got.Result)
	}
	if status, page := s.visitor("").get(path); status != http.StatusOK || !strings.Contains(page, "This was answered.") || strings.Contains(page, "<form") {
		t.Errorf("the link that was used: %d %s", status, page)
	}

	// Who may only read sees no button, and cannot send what it would.
	reader, _ := s.token("reader", "default", access.ScopeRead)
	v := s.visitor(reader)
	at := "/jobs/" + numberText(first)
	if _, page := v.get(at); strings.Contains(page, "Send a signal") || strings.Contains(page, "Make a link") {
		t.Error("a reader sees buttons")
	}
	if status, _ := v.get(at + "/signal"); status != http.StatusForbidden {
		t.Errorf("the form for a reader: %d", status)
	}
	for _, do := range []string{"/signal", "/signal-link"} {
		if status, _ := v.post(at+do, "name", "other"); status != http.StatusForbidden {
			t.Errorf("%s of a reader: %d", do, status)
		}
	}
	admin := s.visitor(s.admin)
	if status, page := admin.post(at+"/signal", "name", "", "input", "1"); status != http.StatusUnprocessableEntity || !strings.Contains(page, "fault") {
		t.Errorf("without a name: %d", status)
	}
	if status, _ := admin.post(at+"/signal", "name", "big", "input", strconv.Quote(strings.Repeat("x", 70<<10))); status != http.StatusUnprocessableEntity {
		t.Errorf("a large one: %d", status)
	}
	if _, page := admin.post(at+"/signal", "name", "approved by <finance>"); !strings.Contains(page, "that one counts") {
		t.Error("a second signal is taken for sent")
	}
}
