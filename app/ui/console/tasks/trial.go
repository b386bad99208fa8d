package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/fresh"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type trialAPI interface {
	TryTask(ctx context.Context, t job.TaskTrial) (job.Enqueued, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	Why(ctx context.Context, namespace string, id int64) (job.Why, error)
}

// trial is the job of the last trial of a form.
type trial struct {
	Job job.Job
	Why job.Why // of one that has not started
}

// CanTry reports that a worker can run the form's task before it is saved.
func (f *taskForm) CanTry() bool {
	return !f.IsCheck() && !slices.Contains([]task.Kind{task.KindFunc, task.KindCycle, task.KindWorkflow}, f.Kind)
}

// TrialKey is sent with the form, so that a repeated click does not start a second trial.
func (f *taskForm) TrialKey() string {
	return cmp.Or(f.values.Get("trial_key"), strings.ToLower(rand.Text()))
}

// Waits reports that no worker has begun it.
func (t *trial) Waits() bool { return !t.Job.State.Final() && t.Job.State != job.Running }

// Lacks returns the conditions that keep workers from claiming the trial.
func (t *trial) Lacks() []core.Check {
	return slices.DeleteFunc(slices.Clone(t.Why.Checks), func(c core.Check) bool { return c.OK })
}

// lastTrial is the trial of the address, or nil if it has none or it is gone.
func (p *page) lastTrial() *trial {
	id, err := job.IDFromText("trial", p.Query("trial"))
	if err != nil {
		return nil
	}
	t := &trial{}
	if t.Job, err = p.api.Job(p.R.Context(), p.Namespace, id); err != nil || t.Job.Trigger != job.TriggerTrial {
		return nil
	}
	if t.Waits() {
		t.Why, _ = p.api.Why(p.R.Context(), p.Namespace, id) // without it the page still shows the state
	}
	return t
}

// runTrial runs the task of the form once. A script shows the job below the form;
// without scripts the page of the job opens.
func (p *page) runTrial(f *taskForm, t task.Task) error {
	t.Name = cmp.Or(t.Name, f.Name)
	if p.Namespace != core.AnyNamespace {
		t.Namespace = p.Namespace
	}
	key, err := trialKey(p.R.PostForm.Get("trial_key"), t)
	if err != nil {
		return err
	}
	scripted := p.R.Header.Get(fresh.Asks) != ""
	e, err := tryTask(p.R.Context(), p.api, job.TaskTrial{Task: t, Key: key}, func(j job.Job) bool { return !scripted && over(j, p.Now) })
	if err != nil {
		f.Err = ofForm(err)
		return p.showTask(f)
	}
	if scripted {
		link := p.With(f.Action, "trial", e.Job.ID)
		if f.New {
			link = p.With(link, "kind", f.Kind)
		}
		http.Redirect(p.W, p.R, link, http.StatusSeeOther)
		return nil
	}
	return p.Done(p.LinkIn(e.Job.Namespace, "jobs", e.Job.ID), "Job %d runs what the form said, once. No task is saved: go back to change it.", e.Job.ID)
}

// trialKey is the idempotency key of a form and its task: a changed form is another trial.
func trialKey(of string, t task.Task) (string, error) {
	text, err := plainjson.Marshal(t)
	sum := sha256.Sum256(append(text, of...))
	return hex.EncodeToString(sum[:16]), err
}

// sentTwice is the time after the end of a trial within which the same form, sent again, gets that trial.
const sentTwice = 5 * time.Second

// over reports that a request with the key of an ended trial asks for a new trial. A page from the browser's history has the
// old key.
func over(j job.Job, now time.Time) bool { return j.State.Final() && now.Sub(j.FinishedAt) > sentTwice }

// tryTask runs a definition once, and once more for each trial of its key that is over.
func tryTask(ctx context.Context, api trialAPI, t job.TaskTrial, over func(job.Job) bool) (e job.Enqueued, err error) {
	for range maxRepeats {
		if e, err = api.TryTask(ctx, t); err != nil || !e.Existing || !over(e.Job) {
			return e, err
		}
		sum := sha256.Sum256([]byte(t.Key + "/" + strconv.FormatInt(e.Job.ID, 10)))
		t.Key = hex.EncodeToString(sum[:16])
	}
	return e, nil
}

// maxRepeats bounds the trials of one page of the browser's history.
const maxRepeats = 50

// trialPart is the data of the part "trial".
type trialPart struct {
	Page  *page
	Trial *trial
}

func within(p *page, t *trial) trialPart { return trialPart{p, t} }

// ofForm is an error of a trial, with the field names of the form.
func ofForm(err error) error {
	e := parts.AsError(err)
	if e == nil {
		return err
	}
	own := *e
	own.Fields = slices.Clone(e.Fields)
	for i := range own.Fields {
		own.Fields[i].Field = strings.TrimPrefix(own.Fields[i].Field, "task.")
	}
	return &own
}

// tryTask shows the form again, with the result of one check of its target.
func (p *page) tryTask(f *taskForm, t task.Task) error {
	t.Name, t.Title, t.Queue, t.Retry, t.Tags, t.Description, t.Priority, t.Requirements, t.Input = "", "", "", task.Retry{}, nil, "", 0, task.Requirements{}, nil
	tried, err := p.api.Try(p.R.Context(), view.Trial{Namespace: p.Namespace, Check: &t})
	if err != nil {
		f.Err = err
		return p.showTask(f)
	}
	f.Tried = &tried
	return p.showTask(f)
}

// TriedWords returns the result of a trial in words.
func (f *taskForm) TriedWords() string {
	words := []string{"It would " + map[bool]string{true: "succeed", false: "fail"}[f.Tried.Outcome != task.CheckFail]}
	if f.Tried.Status > 0 {
		words = append(words, fmt.Sprint("status ", f.Tried.Status))
	}
	if f.Tried.Latency > 0 {
		words = append(words, parts.LatencyText(f.Tried.Latency))
	}
	return strings.Join(words, ", ")
}
