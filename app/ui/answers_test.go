package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/workflow"
)

// links has one link, key, and keeps what was sent by it.
type links struct {
	linked workflow.Linked
	sent   []workflow.Signal
	err    error

	existing bool
}

func (l *links) Linked(_ context.Context, key string) (workflow.Linked, error) {
	if key != "key" {
		return workflow.Linked{}, core.Errorf(core.NotFound, "no such link is valid").WithHint("ask for another")
	}
	return l.linked, l.err
}

func (l *links) SendByLink(_ context.Context, _ string, s workflow.Signal) (workflow.Sent, error) {
	if l.linked.State.Final() {
		return workflow.Sent{}, core.Errorf(core.Conflict, "approval is %s already", l.linked.State)
	}
	if l.existing {
		return workflow.Sent{Existing: true}, nil
	}
	l.sent = append(l.sent, s)
	if l.linked.State, l.linked.Note = workflow.OK, s.Note; s.Reject {
		l.linked.State = workflow.Failed
	}
	return workflow.Sent{Taken: true}, nil
}

func statusOf(err error) int {
	return map[core.Code]int{core.NotFound: 404, core.Conflict: 409, core.Invalid: 422}[core.CodeOf(err)]
}

// answersOf serves the pages of links.
func answersOf(t *testing.T, l *links) http.Handler {
	t.Helper()
	p, err := ui.New(ui.Options{Board: fixed(calmBoard()), PublicURL: "https://example.com/belfry"})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/answer/{key}", p.Answers(l, func(err error) int {
		if s := statusOf(err); s > 0 {
			return s
		}
		return 503
	}))
	mux.Handle("/status-assets/", p.Handler())
	return mux
}

func sends(h http.Handler, key string, form url.Values) answer {
	r := httptest.NewRequest(http.MethodPost, "/answer/"+key, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

func asked() workflow.Linked {
	return workflow.Linked{RunID: 17, Workflow: "release", Name: "sure", Approval: "Is it <b>good</b>?", State: workflow.Waiting, ExpiresAt: now.Add(time.Hour)}
}

func TestAQuestionIsAnsweredByItsLink(t *testing.T) {
	l := &links{linked: asked()}
	h := answersOf(t, l)
	for range 3 { // as those do who scan mail
		page := get(t, h, "/answer/key")
		for _, want := range []string{"Is it &lt;b&gt;good&lt;/b&gt;?", "Run 17 of", "21 Nov 2026, 13:43 UTC", `action="/belfry/answer/key"`, "Approve", "Reject", "noindex"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page has no %q", want)
			}
		}
	}
	a := ask(h, http.MethodGet, "/answer/key")
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Referrer-Policy") != "same-origin" || !strings.Contains(a.header.Get("Content-Security-Policy"), "form-action 'self'") {
		t.Errorf("headers: %v", a.header)
	}
	if len(l.sent) > 0 {
		t.Fatal("to look has answered")
	}
	if a := sends(h, "key", url.Values{"note": {"no button"}}); a.status != 422 || !strings.Contains(a.body, "no answer was given") || !strings.Contains(a.body, ">no button</textarea>") {
		t.Errorf("without an answer: %d %s", a.status, a.body)
	}
	if a := sends(h, "key", url.Values{"answer": {"approve"}, "note": {" fine <i> "}}); a.status != 303 || a.header.Get("Location") != "/belfry/answer/key?sent" {
		t.Errorf("approve: %d %v", a.status, a.header)
	}
	if len(l.sent) != 1 || l.sent[0].Reject || l.sent[0].Note != "fine <i>" {
		t.Errorf("sent %+v", l.sent)
	}
	if page := get(t, h, "/answer/key?sent"); !strings.Contains(page, "This was approved.") || !strings.Contains(page, "fine &lt;i&gt;") || strings.Contains(page, "<form") {
		t.Error(page)
	}
	if a := sends(h, "key", url.Values{"answer": {"reject"}}); a.status != 409 || !strings.Contains(a.body, "An answer was given already.") || !strings.Contains(a.body, "This was approved.") {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
	l.linked = asked()
	if a := sends(h, "key", url.Values{"answer": {"reject"}}); a.status != 303 || !l.sent[1].Reject {
		t.Errorf("reject: %d %+v", a.status, l.sent)
	}
}

func TestASignalIsSentByItsLink(t *testing.T) {
	l := &links{linked: workflow.Linked{RunID: 17, Workflow: "order", Name: "payment", ExpiresAt: now.Add(time.Hour)}}
	h := answersOf(t, l)
	if page := get(t, h, "/answer/key"); !strings.Contains(page, "Send payment") || strings.Contains(page, "Approve") {
		t.Error(page)
	}
	if a := sends(h, "key", url.Values{"answer": {"send"}, "input": {"paid"}}); a.status != 422 || !strings.Contains(a.body, "not JSON") || !strings.Contains(a.body, ">paid</textarea>") {
		t.Errorf("no JSON: %d %s", a.status, a.body)
	}
	if a := sends(h, "key", url.Values{"answer": {"send"}, "input": {`{"amount": 5}`}}); a.status != 303 || string(l.sent[0].Input) != `{"amount": 5}` {
		t.Errorf("%d %+v", a.status, l.sent)
	}
}

func TestASignalToAJobIsSentByItsLink(t *testing.T) {
	l := &links{linked: workflow.Linked{JobID: 18, Task: "order <b>", Name: "paid", ExpiresAt: now.Add(time.Hour)}}
	h := answersOf(t, l)
	for _, want := range []string{"Job 18 of <bdi>order &lt;b&gt;</bdi>", "Send paid", "What the job gets", `<form method="post"`} {
		if page := get(t, h, "/answer/key"); !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if a := sends(h, "key", url.Values{"answer": {"send"}, "input": {"7"}}); a.status != 303 || string(l.sent[0].Input) != "7" {
		t.Errorf("%d %+v", a.status, l.sent)
	}
	l.linked.State, l.existing, l.linked.Answered = "", true, true
	if page := get(t, h, "/answer/key?sent"); !strings.Contains(page, "Sent. Thank you.") || strings.Contains(page, "<form") {
		t.Error(page)
	}
	if a := sends(h, "key", url.Values{"answer": {"send"}, "input": {"8"}}); a.status != 409 || !strings.Contains(a.body, "An answer was given already.") || !strings.Contains(a.body, "This was answered.") {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
	l.linked.Answered, l.linked.Late = false, true
	if page := get(t, h, "/answer/key"); !strings.Contains(page, "This is no longer asked.") || strings.Contains(page, "<form") {
		t.Error(page)
	}
	l.linked.Ended = true
	if a := sends(h, "key", url.Values{"answer": {"send"}}); a.status != 409 || !strings.Contains(a.body, "Your answer came too late.") || !strings.Contains(a.body, "The job has ended.") {
		t.Errorf("after the end: %d %s", a.status, a.body)
	}
}

func TestLinksThatAnswerNothing(t *testing.T) {
	l := &links{linked: asked()}
	h := answersOf(t, l)
	if a := ask(h, http.MethodGet, "/answer/other"); a.status != 404 || !strings.Contains(a.body, "no such link is valid") || strings.Contains(a.body, "<form") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := sends(h, "key", url.Values{"answer": {"approve"}, "note": {strings.Repeat("x", 400<<10)}}); a.status != 422 || len(l.sent) > 0 {
		t.Errorf("a long note: %d", a.status)
	}
	l.linked.Ended = true
	if page := get(t, h, "/answer/key"); !strings.Contains(page, "The run has ended.") || strings.Contains(page, "<form") {
		t.Error(page)
	}
	l.err = errors.New("secret host is away")
	if a := ask(h, http.MethodGet, "/answer/key"); a.status != 503 || strings.Contains(a.body, "secret") || !strings.Contains(a.body, "<h1 dir=\"auto\">This page cannot be shown at the moment</h1>") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestAnswersInABrowser has a person approve, by keyboard on a phone.
func TestAnswersInABrowser(t *testing.T) {
	l := &links{linked: asked()}
	l.linked.Approval = "Is it good? \u202e" + strings.Repeat("Long", 40)
	p, err := ui.New(ui.Options{Board: fixed(calmBoard())})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/answer/{key}", p.Answers(l, statusOf))
	mux.Handle("/status-assets/", p.Handler())
	site := httptest.NewServer(mux)
	defer site.Close()
	b := browser.Open(t)
	for _, scheme := range []string{"dark", "light"} {
		b.Emulate(scheme, 320)
		b.Visit(site.URL + "/answer/key")
		b.Quiet(site.URL)
		b.Layout()
		b.Axe()
	}
	b.Type("#note", "by phone")
	b.Click(`button[value="approve"]`)
	b.Until(`document.body.innerText.includes('This was approved.')`)
	b.Axe()
	if len(l.sent) != 1 || l.sent[0].Note != "by phone" {
		t.Errorf("sent %+v", l.sent)
	}
}
