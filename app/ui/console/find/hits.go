package find

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// pageHits are pages whose name has the text: all of them for none.
func (p *page) pageHits(text string) (hits []hit) {
	for _, place := range p.Places() {
		if strings.Contains(strings.ToLower(place.Name), strings.ToLower(text)) {
			hits = append(hits, hit{Icon: place.Icon, Name: place.Name, Link: place.Link})
		}
	}
	return hits
}

// in adds the namespace to a note, where all namespaces are shown.
func (p *page) in(namespace, note string) string {
	if p.Namespace != core.AnyNamespace {
		return note
	}
	return strings.TrimSpace("in " + namespace + " " + note)
}

func (p *page) taskHits(tasks []task.Task) (hits []hit) {
	for _, t := range tasks {
		h := hit{Icon: "list-todo", Name: t.Name, Title: t.Title, Note: p.in(t.Namespace, parts.Short(80, t.Description)), Link: p.TaskLink(t.Namespace, t.Name)}
		switch t.Kind {
		case task.KindCycle:
			h.Icon, h.Link = "repeat", p.LinkIn(t.Namespace, "cycles", t.Name)
		case task.KindProgram:
			h.Icon, h.Link = "package", p.LinkIn(t.Namespace, "programs", t.Name)
		}
		if h.Note == "" {
			h.Note = string(t.Kind)
		}
		hits = append(hits, h)
	}
	return hits
}

func (p *page) scheduleHits(schedules []schedule.Schedule) (hits []hit) {
	for _, s := range schedules {
		note := "runs " + s.Task
		if s.State != schedule.Active {
			note = string(s.State)
		}
		hits = append(hits, hit{Icon: "calendar-clock", Name: s.Name, Title: s.Title, Note: p.in(s.Namespace, note), Link: p.LinkIn(s.Namespace, "schedules", s.Name)})
	}
	return hits
}

func (p *page) monitorHits(monitors []view.MonitorView) (hits []hit) {
	for _, m := range monitors {
		hits = append(hits, hit{Icon: "activity", Name: m.Name, Title: m.Title, Note: p.in(m.Namespace, string(m.Status)), Link: p.LinkIn(m.Namespace, "monitors", m.Name)})
	}
	return hits
}

func (p *page) queueHits(queues []job.QueueStats) (hits []hit) {
	for _, q := range queues {
		hits = append(hits, hit{Icon: "layers", Name: q.Name, Title: q.Title, Note: parts.Short(80, q.Description), Link: p.Link("queues", q.Name)})
	}
	return hits
}

// jobHits are the newest that a search finds, and the search itself.
func (p *page) jobHits(jobs []job.Job, f *job.Filter, text string) (hits []hit) {
	if f == nil {
		return nil
	}
	for _, j := range jobs {
		task, _ := strings.CutPrefix(j.Task, "monitor:")
		hits = append(hits, hit{Icon: "list-checks", Name: "Job " + strconv.FormatInt(j.ID, 10), Note: p.in(j.Namespace, task+", "+string(j.State)), Link: p.LinkIn(j.Namespace, "jobs", j.ID)})
	}
	if f.ID == 0 {
		hits = append(hits, hit{Icon: "search", Name: "All jobs of " + text, Link: p.With(p.Link("jobs"), "q", text)})
	}
	return hits
}

// actionsOf is how many things of a kind are offered with their actions.
const actionsOf = 3

// actionHits are the actions on the found objects: on all of them for a verb, and
// without a verb on the first.
func (p *page) actionHits(t things, verb string) (hits []hit) {
	if !p.Can(access.ScopeOperate) {
		return nil
	}
	most := actionsOf
	if verb != "" {
		most = perKind + 1
	}
	add := func(v string, h hit) {
		if verb == "" || v == verb {
			hits = append(hits, h)
		}
	}
	for _, s := range t.schedules[:min(most, len(t.schedules))] {
		link := func(verb string) string { return p.LinkIn(s.Namespace, "schedules", s.Name, verb) }
		note := p.in(s.Namespace, "schedule")
		add("run", hit{Icon: "play", Name: "Run " + cmp.Or(s.Title, s.Name), Note: note, Link: link("trigger"), Post: link("trigger"), Asks: fmt.Sprintf("Run schedule %s now, with its own input?", title.Named(s.Title, s.Name))})
		switch s.State {
		case schedule.Active:
			add("pause", hit{Icon: "pause", Name: "Pause " + cmp.Or(s.Title, s.Name), Note: note, Post: link("pause")})
		case schedule.Paused:
			add("resume", hit{Icon: "rotate-ccw", Name: "Resume " + cmp.Or(s.Title, s.Name), Note: note, Post: link("resume")})
		}
	}
	for _, k := range t.tasks[:min(most, len(t.tasks))] {
		form := p.LinkIn(k.Namespace, "jobs", "-new")
		h := hit{Icon: "play", Name: "Run " + cmp.Or(k.Title, k.Name), Note: p.in(k.Namespace, "task"), Link: p.With(form, "task", k.Name), Post: form, Task: k.Name, Asks: fmt.Sprintf("Enqueue a job of task %s now, with its own input?", title.Named(k.Title, k.Name))}
		if k.Kind == task.KindCycle {
			h.Link, h.Post, h.Task = p.LinkIn(k.Namespace, "cycles", k.Name), p.LinkIn(k.Namespace, "cycles", k.Name, "run"), ""
			h.Note, h.Asks = p.in(k.Namespace, "cycle"), fmt.Sprintf("Run cycle %s now?", title.Named(k.Title, k.Name))
		}
		add("run", h)
	}
	for _, m := range t.monitors[:min(most, len(t.monitors))] {
		link := func(verb string) string { return p.LinkIn(m.Namespace, "monitors", m.Name, verb) }
		note := p.in(m.Namespace, "monitor")
		if m.Status == monitor.StatusPaused {
			add("resume", hit{Icon: "rotate-ccw", Name: "Resume " + cmp.Or(m.Title, m.Name), Note: note, Post: link("resume")})
			continue
		}
		if m.Heartbeat == nil {
			add("check", hit{Icon: "zap", Name: "Check " + cmp.Or(m.Title, m.Name), Note: note, Post: link("check")})
		}
		add("pause", hit{Icon: "pause", Name: "Pause " + cmp.Or(m.Title, m.Name), Note: note, Post: link("pause")})
	}
	return hits
}

// faultOf returns the fault of a search for jobs, in a sentence.
func faultOf(err error) string {
	var said []string
	for _, f := range parts.FaultsOf(err) {
		text := f.Message
		if f.Value != "" {
			text = "“" + parts.Short(80, f.Value) + "” " + text
		}
		if f.Hint != "" {
			text += ": " + f.Hint
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return err.Error()
	}
	return strings.Join(said, "; ")
}
