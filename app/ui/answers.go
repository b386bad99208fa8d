package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

// Links answers requests that bring the key of a link.
type Links interface {
	Linked(ctx context.Context, key string) (workflow.Linked, error)
	SendByLink(ctx context.Context, key string, s workflow.Signal) (workflow.Sent, error)
}

// answers is where a link to a signal or approval leads a person.
type answers struct {
	links  Links
	status func(error) int // of HTTP
	pages  *Pages
}

// Answers serves GET, HEAD and POST of /answer/{key}, where a signal to a job, or a signal or approval of a workflow, is answered. It wants no
// token. Only POST changes something.
func (p *Pages) Answers(l Links, status func(error) int) http.Handler { return answers{l, status, p} }

// maxAnswer bounds the body of a form, in bytes: a signal of the greatest size, each byte of which is written as three.
const maxAnswer = 3*workflow.MaxSignal + 64<<10

// answerPage is the data of answer.html.
type answerPage struct {
	Linked        workflow.Linked
	Sent          bool // by this person just now
	Away          bool // it cannot be read now
	Problem, Hint string
	Note, Input   string // as they were sent, when they were refused
	Style, Times  string
	Icon, Action  string
}

// Until is when the link expires.
func (p answerPage) Until() moment { return moment{p.Linked.ExpiresAt} }

// Title is the question, or the reason why there is none.
func (p answerPage) Title() string {
	switch {
	case p.Away:
		return "This page cannot be shown at the moment"
	case p.Linked.Name == "":
		return "This link cannot be used"
	case p.Linked.Approval != "":
		return p.Linked.Approval
	}
	return "Send " + p.Linked.Name
}

// Answered returns the answer that was given before, or "".
func (p answerPage) Answered() string {
	l := p.Linked
	switch {
	case l.Approval == "" && p.Sent:
		return "Sent. Thank you."
	case l.State == workflow.OK:
		return "This was approved."
	case l.State == workflow.Failed:
		return "This was not approved."
	case l.Approval != "" && l.State.Final():
		return "This is no longer asked."
	case l.Answered:
		return "This was answered."
	case l.Ended && l.JobID > 0:
		return "The job has ended. No answer is needed."
	case l.Ended:
		return "The run has ended. No answer is needed."
	case l.Late:
		return "This is no longer asked."
	case p.Sent:
		return "Sent. Thank you. It counts as soon as the run asks this."
	}
	return ""
}

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	// A form is posted to its own page, and the page is not to be told to others with its key.
	allowForms(w.Header())
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Set("Cache-Control", "no-store")
	key := r.PathValue("key")
	page := answerPage{
		Style: assetLink(a.pages.opt.Prefix, "style.css"), Times: assetLink(a.pages.opt.Prefix, "times.js"), Icon: assetLink(a.pages.opt.Prefix, iconOf(unknown)),
		Action: a.pages.opt.Prefix + job.AnswerPath + url.PathEscape(key), Sent: r.URL.Query().Has("sent"),
	}
	var failed error
	if r.Method == http.MethodPost {
		// It counts though the person has closed the page by now.
		if _, failed = a.links.Linked(r.Context(), key); failed == nil { // a form for an unknown link is not read
			failed = a.take(context.WithoutCancel(r.Context()), w, r, key, &page)
		}
		if failed == nil {
			http.Redirect(w, r, page.Action+"?sent", http.StatusSeeOther)
			return
		}
	}
	linked, err := a.links.Linked(r.Context(), key)
	if failed == nil {
		failed = err
	}
	page.Linked = linked
	status := http.StatusOK
	if failed != nil {
		status = a.status(failed)
		page.Problem, page.Away = "Try again in a minute.", true
		var known *core.Error
		if status < http.StatusInternalServerError && errors.As(failed, &known) {
			page.Problem, page.Hint, page.Away = known.Error(), known.Hint, false
			if len(known.Fields) == 0 { // the hint follows by itself
				page.Problem = known.Message
			}
		}
		switch { // the state of the question is plainer than the error
		case linked.Name == "" || linked.Open():
		case linked.Answered || linked.State.Final():
			page.Problem, page.Hint = "An answer was given already. That one counts.", ""
		default:
			page.Problem, page.Hint = "Your answer came too late.", ""
		}
	}
	body, err := a.pages.html("answer", page)
	if err != nil {
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// take reads a form and sends its answer.
func (a answers) take(ctx context.Context, w http.ResponseWriter, r *http.Request, key string, page *answerPage) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxAnswer)
	if err := r.ParseForm(); err != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		return core.Errorf(core.Invalid, "the form could not be read").WithHint("it may be too long")
	}
	page.Note, page.Input = strings.TrimSpace(r.PostFormValue("note")), strings.TrimSpace(r.PostFormValue("input"))
	sig := workflow.Signal{Note: page.Note}
	switch answer := r.PostFormValue("answer"); answer {
	case "approve":
	case "reject":
		sig.Reject = true
	case "send":
		if page.Input != "" && !json.Valid([]byte(page.Input)) {
			return core.Errorf(core.Invalid, "the input is not JSON").WithHint(`write a text in quotes: "paid"`)
		}
		sig.Input = json.RawMessage(page.Input)
	default:
		return core.Errorf(core.Invalid, "no answer was given").WithHint("use one of the buttons")
	}
	sent, err := a.links.SendByLink(ctx, key, sig)
	if err == nil && sent.Existing {
		err = core.Errorf(core.Conflict, "another answer counts")
	}
	return err
}
