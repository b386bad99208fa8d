package workers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func workerList(c *cli.CLI) *cobra.Command {
	var ended bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List workers", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			ws, err := s.Workers(ctx, ended)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[job.WorkerState]{Items: ws}, func(w io.Writer) {
				if len(ws) == 0 {
					fmt.Fprintln(c.Stderr, "no workers; try: belfry serve, or belfry worker --server URL")
					return
				}
				g := c.Grid("SESSION", "NAME", "STATE", "RUNNING", "KINDS", "QUEUES", "LABELS", "ISOLATION", "ARCH", "STARTED", "LAST SIGN", "VERSION")
				for _, x := range ws {
					g.Row(x.Session, x.Name, x.State(), strconv.Itoa(x.Running), kindsText(x), queuesText(x.Queues),
						cli.Labels(x.Has.Labels), string(x.Has.Isolation), x.Has.Arch, cli.Ago(x.StartedAt, s.Now), cli.Ago(x.RenewedAt, s.Now), x.Version)
				}
				g.Write(w)
			})
		}),
	}
	cmd.Flags().BoolVar(&ended, "ended", false, "also those that ended")
	return cmd
}

func kindsText(w job.WorkerState) string {
	var kinds []string
	for _, k := range w.Kinds {
		kinds = append(kinds, string(k))
	}
	return strings.Join(kinds, ",")
}

func queuesText(queues map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		text := name
		if n := queues[name]; n > 0 {
			text += "=" + strconv.Itoa(n)
		}
		list = append(list, text)
	}
	return strings.Join(list, ",")
}

// workersNamed finds workers by a session or its prefix, or by their name, which
// several sessions may share. Ended sessions are found only if no live one
// matches.
func workersNamed(all []job.WorkerState, arg string) ([]job.WorkerState, error) {
	var living, ended, begins []job.WorkerState
	for _, w := range all {
		switch {
		case w.Session == arg:
			return []job.WorkerState{w}, nil
		case w.Name == arg && w.EndedAt.IsZero():
			living = append(living, w)
		case w.Name == arg:
			ended = append(ended, w)
		case len(arg) >= leastSession && strings.HasPrefix(w.Session, arg):
			begins = append(begins, w)
		}
	}
	switch {
	case len(living) > 0:
		return living, nil
	case len(ended) > 0:
		return ended[:1], nil // the newest
	case len(begins) == 1:
		return begins, nil
	case len(begins) > 1:
		return nil, core.Errorf(core.Conflict, "several sessions begin with %q", arg).WithHint("see: belfry worker list --ended")
	}
	return nil, core.Errorf(core.NotFound, "no worker %q", arg).WithHint("see: belfry worker list --ended")
}

// leastSession is the minimum length of a prefix of a session's id.
const leastSession = 8

// workerDetail is a worker with its jobs.
type workerDetail struct {
	job.WorkerState
	Holds  []job.Job `json:"holds"`
	Recent []job.Job `json:"recent"`
	// Promised is the memory limit of its running programs together, by their tasks.
	Promised int64 `json:"memory_promised,omitempty"`
}

func workerShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show SESSION|NAME", Aliases: []string{"get"}, Short: "Show what a worker has, what it holds and what it ran", Args: cobra.ExactArgs(1),
		Long: `Show what a worker's machine has, the queues it serves, the jobs it holds and the
last ones that it ran. A name shows each of its sessions, a machine that is
gone only the newest.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			all, err := s.Workers(ctx, true)
			if err != nil {
				return err
			}
			found, err := workersNamed(all, args[0])
			if err != nil {
				return err
			}
			details := make([]workerDetail, len(found))
			for i, w := range found {
				if details[i], err = detail(ctx, s, w); err != nil {
					return err
				}
			}
			return c.Emit(core.Page[workerDetail]{Items: details}, func(w io.Writer) {
				for i, d := range details {
					if i > 0 {
						fmt.Fprintln(w)
					}
					drawWorker(c, w, s, d)
				}
			})
		}),
	}
}

// recentJobs is how many finished jobs of a worker are shown.
const recentJobs = 10

func detail(ctx context.Context, s *cli.Conn, w job.WorkerState) (workerDetail, error) {
	d := workerDetail{WorkerState: w, Holds: []job.Job{}, Recent: []job.Job{}}
	of := func(limit int, states ...job.State) ([]job.Job, error) {
		p, err := s.Jobs(ctx, job.Filter{Namespace: core.AnyNamespace, Session: w.Session, States: states, Paging: core.Paging{Limit: limit}})
		if core.CodeOf(err) == core.Forbidden { // the token is for one namespace
			p, err = s.Jobs(ctx, job.Filter{Namespace: s.NS, Session: w.Session, States: states, Paging: core.Paging{Limit: limit}})
		}
		return p.Items, err
	}
	var err error
	if w.Running > 0 {
		if d.Holds, err = of(min(max(w.Running, recentJobs), 1000), job.Running); err != nil {
			return d, err
		}
	}
	if d.Promised, err = promised(ctx, s, d.Holds); err != nil {
		return d, err
	}
	d.Recent, err = of(recentJobs, slices.DeleteFunc(slices.Clone(job.States), func(st job.State) bool { return st == job.Running })...)
	return d, err
}

// memoryText returns the memory that a worker offers to programs, and the limits of the running ones.
func memoryText(d workerDetail) string {
	if d.Has.Memory == 0 {
		return ""
	}
	text := core.SizeText(d.Has.Memory)
	if d.Promised > 0 {
		text += ", " + core.SizeText(d.Promised) + " of it promised to those that run"
	}
	return text
}

func positive(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// promised returns the sum of limits.memory of a worker's running programs, from the present definitions of their tasks.
func promised(ctx context.Context, s *cli.Conn, holds []job.Job) (sum int64, err error) {
	limits := map[string]int64{}
	for _, j := range holds {
		if j.Kind != task.KindProgram {
			continue
		}
		key := j.Namespace + "/" + j.Task
		if _, known := limits[key]; !known {
			t, err := s.Task(ctx, j.Namespace, j.Task)
			if err != nil && core.CodeOf(err) != core.NotFound { // a deleted task does not count
				return 0, err
			}
			if t.Program != nil {
				limits[key] = t.Program.Limits.Memory
			}
		}
		sum += limits[key]
	}
	return sum, nil
}

func drawWorker(c *cli.CLI, w io.Writer, s *cli.Conn, d workerDetail) {
	network := ""
	if d.Has.Network {
		network = "yes, for programs that ask for it"
	}
	funcs := strings.Join(d.Funcs, ", ")
	if d.MoreFuncs > 0 {
		funcs = fmt.Sprintf("%d, too many to list with those of the other workers", d.MoreFuncs)
	}
	machine := strings.Trim(d.Has.OS+"/"+d.Has.Arch, "/")
	c.Pairs(w, "session", d.Session, "name", d.Name, "namespace", d.Namespace, "state", d.State(), "version", d.Version,
		"machine", machine, "labels", setting.Entries(d.Has.Labels, "="), "isolation", string(d.Has.Isolation), "limits held", strings.Join(d.Has.Limits, ", "),
		"memory for programs", memoryText(d), "processors for programs", positive(d.Has.CPU), "network", network,
		"kinds", kindsText(d.WorkerState), "handlers", cli.Clip(funcs, 200), "queues", strings.ReplaceAll(queuesText(d.Queues), ",", "\n"),
		"started", cli.When(d.StartedAt, s.Now), "last sign", cli.When(d.RenewedAt, s.Now), "ended", cli.When(d.EndedAt, s.Now), "holds", strconv.Itoa(d.Running))
	for _, part := range []struct {
		title string
		jobs  []job.Job
	}{{"holds", d.Holds}, {"last ran", d.Recent}} {
		if len(part.jobs) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", part.title)
		g := c.Grid("ID", "TASK", "STATE", "TRY", "CLAIMED", "DURATION", "NOTE")
		for _, j := range part.jobs {
			took, note := "", cli.Clip(j.Error, 60)
			if !j.FinishedAt.IsZero() {
				took = core.SpanText(j.FinishedAt.Sub(j.ClaimedAt))
			}
			g.Row(strconv.FormatInt(j.ID, 10), j.Namespace+"/"+j.Task, g.State(wait.State(j)), strconv.Itoa(j.Attempt), cli.Ago(j.ClaimedAt, s.Now), took, note)
		}
		g.Write(w)
	}
}

func workerDrain(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "drain SESSION|NAME...", Short: "Let workers finish what they run and claim no more", Args: cobra.MinimumNArgs(1),
		Long: `Let workers finish what they run and claim no more. A name means every living
session of it. The program goes on until it is stopped: its sessions claim
again once it is started anew.`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			all, err := s.Workers(ctx, false)
			if err != nil {
				return err
			}
			for _, arg := range args {
				found, err := workersNamed(all, arg)
				if err != nil {
					return err
				}
				for _, w := range found {
					if err := s.DrainWorker(ctx, w.Session); err != nil {
						return err
					}
					fmt.Fprintf(c.Stderr, "%s %s drains\n", w.Name, w.Session)
				}
			}
			return nil
		}),
	}
}
