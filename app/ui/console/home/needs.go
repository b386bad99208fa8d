package home

import (
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

// need is a row of the list "needs attention", with its actions.
type need struct {
	ID               string // unique on the page
	Tone             string // bad or warn
	Name, Link, What string
	Title            string // of the named object
	Kind             string
	Since            time.Time
	Acts             []act
}

// act is a button of a need: a link, or a form.
type act struct {
	Name string
	Link string // where it leads
	Post string // where its form goes
}

// moreLate is the number of late schedules with a row of their own. The others share one row.
const moreLate = 3

// needs lists faults first, then warnings, then approvals.
func (p *page) needs(d homeData) (all []need) {
	can := p.Can(access.ScopeOperate)
	add := func(n need, acts ...act) {
		for _, a := range acts {
			if a.Post == "" || can {
				n.Acts = append(n.Acts, a)
			}
		}
		all = append(all, n)
	}
	waiting := 0
	for _, q := range d.Queues {
		waiting += q.Ready.Count
	}
	if len(d.Workers) == 0 && waiting > 0 {
		add(need{ID: "no-worker", Tone: "bad", Name: "No worker", Link: p.Link("workers"), What: parts.Plural(waiting, "job waits", "jobs wait") + ", and no worker is there", Kind: "workers"})
	}
	if !d.QuietUntil.IsZero() {
		until := p.When(d.QuietUntil)
		add(need{ID: "quiet", Tone: "warn", Name: "Schedules and checks", Link: p.Link("settings"), What: "Quiet until " + until.Text() + " " + until.Zone() + ": the clock was set back", Kind: "clock"})
	}
	for _, i := range d.Incidents {
		if i.Maintenance {
			continue
		}
		said := "Down: " + parts.Short(160, parts.FirstLine(i.Message))
		acts := []act{{Name: "Incident", Link: p.LinkIn(i.Namespace, "incidents", i.ID)}, {Name: "Check now", Post: p.LinkIn(i.Namespace, "monitors", i.Monitor, "check")}}
		if i.Acknowledged != nil {
			said = "Acknowledged by " + parts.Short(60, i.Acknowledged.By) + ". " + said
		}
		add(need{ID: "down-" + strconv.FormatInt(i.ID, 10), Tone: "bad", Name: i.Monitor, Title: d.Titles.Monitor(i.Monitor), Link: p.LinkIn(i.Namespace, "monitors", i.Monitor), What: said, Kind: "monitor", Since: i.StartedAt}, acts...)
	}
	if d.MoreIncidents {
		add(need{ID: "more-down", Tone: "bad", Name: "More outages", Link: p.With(p.Link("incidents"), "state", "open"), What: "More monitors are down, or may be", Kind: "monitors"})
	}
	for _, f := range d.Failing {
		said := parts.Plural(f.Jobs, "failed job", "failed jobs")
		if line := parts.FirstLine(f.Error); line != "" {
			said += ": " + parts.Short(160, line)
		}
		q := job.Filter{Task: f.Task, States: []job.State{job.Failed}}
		acts := []act{{Name: "Error", Link: p.LinkIn(f.Namespace, "jobs", f.JobID)}}
		if can {
			acts = append(acts, act{Name: "Retry…", Link: p.With(p.LinkIn(f.Namespace, "jobs", "-bulk"), "do", "retry", "q", q.String())})
		}
		if f.Schedule != "" {
			acts = append(acts, act{Name: "Pause", Post: p.LinkIn(f.Namespace, "schedules", f.Schedule, "pause")})
		}
		add(need{ID: "failing-" + f.Namespace + "-" + f.Task, Tone: "bad", Name: f.Task, Title: d.Titles.Task(f.Task), Link: p.TaskLink(f.Namespace, f.Task), What: said, Kind: "task", Since: f.First}, acts...)
	}
	if d.MoreFailing {
		add(need{ID: "more-failing", Tone: "bad", Name: "More tasks", Link: p.With(p.Link("jobs"), "q", "state:failed since:1d"), What: "More are failing, or may be", Kind: "tasks"})
	}
	for i, n := range d.Late {
		late := need{ID: "late-" + n.Namespace + "-" + n.Schedule, Tone: "warn", Name: n.Schedule, Title: d.Titles.Schedule(n.Schedule), Link: p.LinkIn(n.Namespace, "schedules", n.Schedule), What: "Late: its run is overdue", Kind: "schedule", Since: n.NextAt}
		if i == moreLate {
			late.Title = ""
			late.ID, late.Name, late.Link, late.What = "late", "More schedules", p.Link("schedules"), parts.Plural(len(d.Late)-i, "more is late", "more are late")
			if d.MoreLate {
				late.What = "More than " + late.What
			}
			add(late)
			break
		}
		add(late)
	}
	for _, q := range d.Queues {
		n := need{ID: "queue-" + q.Queue, Tone: "warn", Name: q.Queue, Title: d.Titles.Queue(q.Queue), Link: p.Link("queues", q.Queue), Kind: "queue", Since: q.OldestAt}
		ready := parts.Counted(q.Ready) + " waiting"
		switch {
		case !q.PausedAt.IsZero() && q.Ready.Count > 0:
			n.What = "Paused, with " + ready
			var acts []act
			if p.CanEverywhere(access.ScopeOperate) {
				acts = []act{{Name: "Resume", Post: p.Link("queues", q.Queue, "resume")}}
			}
			add(n, acts...)
		case q.Behind:
			n.What = "Behind: " + ready + ", the oldest for over a minute"
			add(n, act{Name: "Jobs", Link: p.With(p.Link("jobs"), "q", "queue:"+q.Queue+" state:ready")})
		}
	}
	for _, l := range d.Lost {
		add(need{ID: "lost-" + l.Session, Tone: "warn", Name: l.Name, Link: p.Link("workers", l.Session), What: "Lost: it stopped renewing", Kind: "worker", Since: l.At})
	}
	if d.MoreLost {
		add(need{ID: "lost", Tone: "warn", Name: "More workers", Link: p.Link("workers"), What: "More were lost", Kind: "worker"})
	}
	for _, a := range d.Approvals {
		run := p.LinkIn(a.Namespace, "jobs", a.RunID)
		n := need{ID: "approval-" + strconv.FormatInt(a.RunID, 10), Tone: "warn", Name: a.Workflow, Title: d.Titles.Task(a.Workflow), Link: run, What: asks(a, d.Now), Kind: "workflow", Since: a.Since}
		if can {
			n.Acts = []act{{Name: "Answer…", Link: run + "#graph-" + a.Step + "-why"}}
		}
		all = append(all, n)
	}
	if d.MoreApprovals {
		add(need{ID: "approvals", Tone: "warn", Name: "More approvals", Link: p.With(p.Link("jobs"), "q", "kind:workflow state:waiting"), What: "More runs wait for an approval", Kind: "workflow"})
	}
	return all
}

// asks says which approval a run waits for, and for how long it still does.
func asks(a workflow.Asked, now time.Time) string {
	said := "Approval of " + a.Step
	if a.More > 0 {
		said += " and " + parts.Plural(a.More, "other", "others")
	}
	said += fmt.Sprintf(", run %d", a.RunID)
	if left := a.Until.Sub(now); left > 0 {
		unit := time.Second
		if left >= 2*time.Minute {
			unit = time.Minute
		}
		said += ", within " + core.SpanText(left.Round(unit))
	}
	return said + ": " + parts.Short(160, parts.FirstLine(a.Approval))
}

// needsShown is how many are shown at once; the others unfold.
const needsShown = 8

// First are those that are shown at once.
func (d homeData) First() []need { return d.Needs[:min(len(d.Needs), needsShown)] }

// Rest are the others.
func (d homeData) Rest() []need { return d.Needs[min(len(d.Needs), needsShown):] }
