package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

type signalAPI interface {
	SignalJob(ctx context.Context, namespace string, id int64, sig job.Signal) (job.SentSignal, error)
	MakeSignalLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error)
}

var signalRoutes = routes{
	"GET /jobs/{id}/signal":       signalForm,
	"POST /jobs/{id}/signal":      sendSignal,
	"POST /jobs/{id}/signal-link": linkToSignal,
}

// CanSignal reports that a signal may be for the job: its handler has steps, and it has not ended.
func (d jobData) CanSignal() bool { return len(d.Steps) > 0 && !d.Job.State.Final() }

// Asks is the name of the signal that a job waits for now, if it does.
func (d jobData) Asks() string {
	for _, s := range d.Steps {
		if d.Waiting(s) {
			return s.Name
		}
	}
	return ""
}

// Waiting reports that a step waits for its signal.
func (d jobData) Waiting(s job.Step) bool {
	return s.Kind == job.StepSignal && s.EndedAt.IsZero() && !d.Job.State.Final()
}

// signalData is the form, as it was filled in.
type signalData struct {
	Job         job.Job
	Name, Input string
	Err         error
	Command     parts.Command
}

// Field is an input of the form, with its faults.
func (d signalData) Field(name, label, kind, value, hint string) parts.Field {
	return parts.NewField(name, label, kind, value, hint, d.Err)
}

func signalForm(p *page) error {
	if err := p.Allow(access.ScopeOperate); err != nil {
		return err
	}
	j, err := p.job()
	if err != nil {
		return err
	}
	d := jobData{Job: j}
	if d.Steps, err = p.api.JobSteps(p.R.Context(), p.Namespace, j.ID); err != nil {
		return err
	}
	name := cmp.Or(p.Query("name"), d.Asks())
	return p.Show("job-signal", signalData{Job: j, Name: name, Command: signalCommand(p, j.ID, name)})
}

func sendSignal(p *page) error {
	j, err := p.job()
	if err != nil {
		return err
	}
	d := signalData{Job: j, Name: strings.TrimSpace(p.R.PostFormValue("name")), Input: strings.TrimSpace(p.R.PostFormValue("input"))}
	var sent job.SentSignal
	if fault := forms.JSONFault(d.Input); d.Input != "" && fault != "" {
		d.Err = core.InvalidField("input", "", "is not JSON: "+fault, `write a text in quotes: "paid"`)
	} else {
		sent, d.Err = p.api.SignalJob(p.R.Context(), p.Namespace, j.ID, job.Signal{Name: d.Name, Input: json.RawMessage(d.Input)})
	}
	link := p.Link("jobs", j.ID)
	switch {
	case d.Err != nil:
		d.Command = signalCommand(p, j.ID, d.Name)
		return p.Again("job-signal", d, d.Err)
	case sent.Existing:
		return p.DoneBadly(link, "Job %d has the signal %s already, from %s: that one counts.", j.ID, d.Name, sent.By)
	case sent.Taken:
		return p.Done(link, "Signal %s is sent: job %d goes on.", d.Name, j.ID)
	}
	return p.Done(link, "Signal %s is kept until a step waits for it.", d.Name)
}

// signalCommand is the command that sends the signal.
func signalCommand(p *page, id int64, name string) parts.Command {
	name = cmp.Or(name, "NAME")
	body, _ := json.Marshal(map[string]string{"name": name}) // plain words
	return p.Command("POST", p.APIPath(fmt.Sprintf("/v1/jobs/%d/signals", id)), string(body), "job", "signal", fmt.Sprint(id), name)
}

// LinkToSignal asks for whom a link to the signal of a step is made.
func (p *page) LinkToSignal(j job.Job, s job.Step) parts.Confirm {
	id := fmt.Sprintf("link-%d", s.Number)
	body, _ := json.Marshal(map[string]string{"name": s.Name}) // plain words
	cmd := p.Command("POST", p.APIPath(fmt.Sprintf("/v1/jobs/%d/links", j.ID)), string(body), "job", "link", fmt.Sprint(j.ID), s.Name)
	return parts.Confirm{ID: id, Button: "Make a link", Title: "Make a link to " + s.Name + "?", Text: linkText, Fields: linkFields(fmt.Sprint(s.Number)),
		Hidden: map[string]string{"name": s.Name}, Action: p.LinkIn(j.Namespace, "jobs", j.ID, "signal-link"), Cmd: &cmd}
}

func linkToSignal(p *page) error {
	id, err := p.jobID()
	if err != nil {
		return err
	}
	l, err := askedLink(p, p.R.PostFormValue("name"))
	if err != nil {
		return err
	}
	made, err := p.api.MakeSignalLink(p.R.Context(), p.Namespace, id, l)
	if err != nil {
		return err
	}
	return showLink(p, id, made, `{"paid": true}`, "job")
}

const linkText = "Anyone who has the link can answer without signing in. Send it to one person or program."

// linkFields ask for whom a link is and how long. The suffix tells those of a page apart.
func linkFields(suffix string) []parts.Field {
	who := parts.NewField("for", "For whom", "text", "", "Kept with the answer. Optional.", nil)
	who.ID = "f-for-" + suffix
	days := parts.NewField("valid", "Valid for", "text", core.Duration(job.LinkFor).String(), "Such as 12h or 7d; at most "+core.Duration(job.MaxLinkFor).String()+".", nil)
	days.ID = "f-valid-" + suffix
	return []parts.Field{who, days}
}

// askedLink reads the fields of a link.
func askedLink(p *page, name string) (job.Link, error) {
	l := job.Link{Name: name, For: strings.TrimSpace(p.R.PostFormValue("for"))}
	text := strings.TrimSpace(p.R.PostFormValue("valid"))
	if text == "" {
		return l, nil
	}
	var err error
	if l.Valid, err = core.ParseDuration(text); err != nil {
		return l, core.InvalidField("valid", text, "is not a duration", "write one such as 12h or 7d")
	}
	return l, l.CheckGiven(func(string) bool { return true })
}

// linkData is a link that was made.
type linkData struct {
	ID   int64
	Link job.NewLink
	URL  string
	Curl string
	Noun string // of the command that takes it back
}

func showLink(p *page, id int64, made job.NewLink, body, noun string) error {
	d := linkData{ID: id, Link: made, URL: p.Site.Base(p.R) + made.Path, Noun: noun}
	d.Curl = "curl -fsS --json " + parts.Quote(body) + " " + parts.Quote(d.URL)
	return p.Show("job-link", d)
}
