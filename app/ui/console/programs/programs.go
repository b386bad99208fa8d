package programs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

type programAPI interface {
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	Artifact(ctx context.Context, namespace, digest string) (task.Artifact, error)
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error)
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
}

var programRoutes = routes{
	"GET /programs":             programList,
	"GET /programs/{name}":      programPage,
	"POST /programs/{name}/run": runProgram,
}

const (
	programsShown = 25 // on a page; each costs two more reads
	programRuns   = 10
	programEdits  = 20
)

type programsData struct {
	Programs []programRow
	Pager    parts.Pager
}

// programRow is a program with its bytes and its last runs.
type programRow struct {
	task.Task
	Artifact task.Artifact
	Runs     []job.Job // newest first
}

func programList(p *page) error {
	all, err := p.api.Tasks(p.R.Context(), task.Filter{Namespace: p.Namespace, Kind: task.KindProgram, Paging: core.Paging{Limit: programsShown, Cursor: p.Query("cursor")}})
	if err != nil {
		return err
	}
	d := programsData{Programs: make([]programRow, len(all.Items)), Pager: p.Pager(all.Next)}
	var reads []func() error
	for i, t := range all.Items {
		d.Programs[i].Task = t
		reads = append(reads, d.Programs[i].reads(p)...)
	}
	if err := frame.Together(reads...); err != nil {
		return err
	}
	return p.Show("programs", d)
}

// reads are the reads of a program beside its task.
func (r *programRow) reads(p *page) []func() error {
	return []func() error{
		func() (err error) {
			r.Artifact, err = p.api.Artifact(p.R.Context(), r.Namespace, r.Program.SHA256)
			if core.CodeOf(err) == core.NotFound {
				return nil
			}
			return err
		},
		func() error {
			jobs, err := p.api.Jobs(p.R.Context(), job.Filter{Namespace: r.Namespace, Task: r.Name, Paging: core.Paging{Limit: programRuns}})
			r.Runs = jobs.Items
			return err
		},
	}
}

// Strip is how the last runs went, oldest first.
func (r programRow) Strip() parts.Strip {
	s := parts.Strip{Label: fmt.Sprintf("Last %d runs of %s", programRuns, r.Name)}
	for _, j := range slices.Backward(r.Runs) {
		s.Cells = append(s.Cells, parts.Cell{Tone: parts.Tones[string(j.State)][0], Title: fmt.Sprintf("job %d: %s", j.ID, parts.Words(j.State))})
	}
	return s
}

// State is whether the bytes are there, for a chip.
func (r programRow) State() string {
	if r.Artifact.PostedAt.IsZero() {
		return "pending upload"
	}
	return "uploaded"
}

// programVersion is an edit of a program.
type programVersion struct {
	At    time.Time
	Actor string
	What  string
	task.Program
	Other bool // other bytes than before
}

type programData struct {
	programRow
	Versions []programVersion
	Rows     *parts.JobRows
}

func programPage(p *page) error {
	t, err := p.program()
	if err != nil {
		return err
	}
	d := programData{programRow: programRow{Task: t}}
	var edits core.Page[access.Audit]
	err = frame.Together(append(d.reads(p), frame.Get(&edits, func() (core.Page[access.Audit], error) {
		return p.api.Audit(p.R.Context(), access.AuditFilter{Namespace: t.Namespace, Noun: "task", Name: t.Name, Paging: core.Paging{Limit: programEdits}})
	}))...)
	if err != nil {
		return err
	}
	d.Versions, d.Rows = programVersions(edits.Items), parts.NewJobRows(p, d.Runs)
	return p.Show("program", d)
}

// program is the one that the address names.
func (p *page) program() (task.Task, error) {
	t, err := p.api.Task(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err == nil && t.Program == nil {
		err = core.Errorf(core.Conflict, "task %q is of kind %s, not a program", t.Name, t.Kind).WithHint("see its own page")
	}
	return t, err
}

// programVersions are the edits that left a program, newest first.
func programVersions(edits []access.Audit) []programVersion {
	var all []programVersion
	for _, e := range edits {
		var was, is struct{ Program *task.Program }
		if json.Unmarshal(e.After, &is) != nil || is.Program == nil {
			continue
		}
		v := programVersion{At: e.At, Actor: e.Actor, What: e.Action, Program: *is.Program, Other: true}
		if len(e.Before) > 0 && json.Unmarshal(e.Before, &was) == nil && was.Program != nil {
			v.Other = was.Program.SHA256 != is.Program.SHA256
		}
		all = append(all, v)
	}
	return all
}

// Settings of the program, for people, as pairs.
func (d programData) Settings() []parts.Fact {
	g, l := d.Program, d.Program.Limits
	network := "none"
	if g.Network {
		network = "as the worker's operator allows"
	}
	var secrets []string
	for name, secret := range g.Secrets {
		secrets = append(secrets, name+" from secret "+secret)
	}
	slices.Sort(secrets)
	pairs := []parts.Fact{
		{Name: "Arguments", Value: strings.Join(g.Args, " ")}, {Name: "Environment", Value: strings.Join(parts.Assignments(g.Env), "\n")}, {Name: "Secrets", Value: strings.Join(secrets, "\n")},
		{Name: "Standard input", Value: g.Stdin}, {Name: "Network", Value: network}, {Name: "Requirements", Value: strings.Join(parts.Assignments(d.Requirements.Labels), ", ")},
		{Name: "May use", Value: fmt.Sprintf("%s of memory, %g processors, %s processes, %s of files", core.SizeText(l.Memory), l.CPU, parts.NumberText(l.Processes), core.SizeText(l.Disk))},
		{Name: "Queue", Value: d.Queue}, {Name: "Timeout", Value: core.SpanText(d.Timeout)},
	}
	return slices.DeleteFunc(pairs, func(f parts.Fact) bool { return f.Value == "" })
}

func runProgram(p *page) error {
	name := p.R.PathValue("name")
	made, err := p.api.Enqueue(p.R.Context(), []job.NewJob{{Namespace: p.Namespace, Task: name}})
	if err != nil {
		return err
	}
	return p.Done(p.Link("programs", name), "%s", cmp.Or(parts.JoinedText(made[0]), fmt.Sprintf("Program %s is asked to run, as job %d.", name, made[0].Job.ID)))
}

// RunProgram asks before a program runs.
func (p *page) RunProgram(t task.Task) parts.Confirm {
	body, _ := plainjson.Marshal(map[string]string{"task": t.Name}) // plain words
	cmd := p.Command("POST", p.APIPath("/v1/jobs"), string(body), "job", "enqueue", t.Name)
	return parts.Confirm{ID: "run", Button: "Run now", Title: "Run " + t.Name + " now?", Text: "A worker that may runs it once, with the input of the task.", Action: p.Link("programs", t.Name, "run"), Cmd: &cmd}
}

// ProgramCommand is reading one, without this page.
func (p *page) ProgramCommand(name string) parts.Command {
	return p.Command("GET", p.APIPath("/v1/tasks/"+url.PathEscape(name)), "", "program", "show", name)
}

// ProgramsCommand is the list, without this page.
func (p *page) ProgramsCommand() parts.Command {
	return p.Command("GET", p.APIPath("/v1/tasks", "kind", "program"), "", "program", "list")
}
