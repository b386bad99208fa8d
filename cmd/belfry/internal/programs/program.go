// Package programs has the commands program, artifact and secret. Each noun has
// a file, and each verb a function. They talk to the server through package cli,
// which also prints tables and JSON, and know no other package of commands.
package programs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/size"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Program is the command program.
func Program(c *cli.CLI) *cobra.Command {
	d := programs(c)
	return cli.Noun("program", "Upload programs that run in a sandbox", []string{"programs"},
		programPush(c), d.ListVerb(), d.ShowVerb(), d.DeleteVerb())
}

// programs returns the verbs for tasks of kind program.
func programs(c *cli.CLI) cli.Document[task.Task] {
	return cli.Document[task.Task]{
		CLI: c, Noun: "program", Many: "programs", Empty: "belfry program push ./bin --name hello",
		List: func(ctx context.Context, s *cli.Conn, f view.DocumentFilter) (core.Page[task.Task], error) {
			return s.Tasks(ctx, task.Filter{Paging: f.Paging, Namespace: f.Namespace, Kind: task.KindProgram})
		},
		Show: func(ctx context.Context, s *cli.Conn, ns, name string) (task.Task, error) {
			t, err := s.Task(ctx, ns, name)
			if err == nil && t.Program == nil {
				err = notAProgram(t)
			}
			return t, err
		},
		Drop: func(ctx context.Context, s *cli.Conn, ns, name string) error {
			t, err := s.Task(ctx, ns, name)
			if err == nil && t.Program == nil {
				err = notAProgram(t)
			}
			if err != nil {
				return err
			}
			return s.DeleteTask(ctx, ns, name)
		},
		Owner: func(t *task.Task) (namespace, name *string) { return &t.Namespace, &t.Name },
		Head:  []string{"ARCH", "SIZE", "ISOLATION", "QUEUE", "SHA256"},
		Row: func(_ *cli.Conn, t task.Task) []string {
			return []string{t.Program.Arch, core.SizeText(t.Program.Size), string(t.Program.MinIsolation), t.Queue, t.Program.SHA256[:12]}
		},
		Draw: func(w io.Writer, _ *cli.Conn, t task.Task) { define.DrawTask(c, w, t) },
	}
}

func notAProgram(t task.Task) error {
	return core.Errorf(core.Conflict, "task %q is of kind %s, not a program", t.Name, t.Kind).WithHint("see: belfry task show %s", t.Name)
}

// programFlags are the fields of a program that have a flag.
type programFlags struct {
	name, stdin, isolation, memory, disk string
	outputSize, log, killGrace           string
	queue, timeout, title, description   string
	schedule, at, zone                   string
	due                                  time.Time // of at
	args, env, secrets, requires, tags   []string
	cpu                                  float64
	processes                            int64
	retries, priority, outputs           int
	network                              bool
}

func (f *programFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.name, "name", "", "task to create or to give this program; default: the file's name")
	fs.StringArrayVar(&f.args, "arg", nil, "argument; may be repeated, or write them after --")
	fs.StringArrayVar(&f.env, "env", nil, "NAME=VALUE for its environment; may be repeated")
	fs.StringArrayVar(&f.secrets, "secret", nil, "VARIABLE=NAME: give it a secret as an environment variable; may be repeated")
	fs.StringVar(&f.stdin, "stdin", "", "bytes for standard input; default: the job's input as JSON")
	fs.BoolVar(&f.network, "network", false, "let it reach the network, where the worker's operator allows that")
	fs.StringVar(&f.isolation, "min-isolation", "", "weakest isolation it may run under: none, user, confined, namespaces or gvisor; default: confined")
	fs.StringVar(&f.memory, "memory", "", "memory and temporary files together, such as 256MiB; default: 512MiB")
	fs.StringVar(&f.disk, "disk", "", "temporary files, such as 64MiB")
	fs.Float64Var(&f.cpu, "cpu", 0, "processors, such as 0.5; default: 1")
	fs.Int64Var(&f.processes, "processes", 0, "processes and threads; default: 256")
	fs.IntVar(&f.outputs, "outputs", 0, "files that are kept of what it leaves in BELFRY_OUTPUT_DIR; default: 32")
	fs.StringVar(&f.outputSize, "output-size", "", "all of these files together, such as 1GiB; default: 64MiB")
	fs.StringVar(&f.log, "log", "", "bytes of its log that are kept, such as 1MiB; default: 10MiB")
	fs.StringVar(&f.killGrace, "kill-grace", "", "how long it may take to end after SIGTERM, such as 30s; default: 5s")
	define.AddRequirements(fs, &f.requires)
	fs.StringVar(&f.schedule, "schedule", "", "when to run it: a cron rule such as '0 3 * * *', or an interval such as 15m")
	fs.StringVar(&f.at, "at", "", "run it once at this time, such as '2026-12-24 18:00'; each push with it makes a job")
	fs.StringVar(&f.zone, "zone", "", "time zone of --schedule and --at, such as Europe/Sofia; default: UTC")
	fs.StringVar(&f.queue, "queue", "", "queue of its jobs; default: default")
	fs.IntVar(&f.priority, "priority", 0, "within the queue; higher runs first")
	fs.StringVar(&f.timeout, "timeout", "", "longest an attempt may run, such as 5m; default: 1h")
	fs.IntVar(&f.retries, "retries", 2, "tries after the first one failed")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
	fs.StringSliceVar(&f.tags, "tag", nil, "tags, for filters")
}

// apply puts the given flags into a task of kind program.
func (f *programFlags) apply(fs *pflag.FlagSet, t *task.Task, after []string) (err error) {
	given, g := fs.Changed, t.Program
	if args := append(append([]string{}, f.args...), after...); len(args) > 0 {
		g.Args = args
	}
	for _, m := range []struct {
		flag    string
		entries []string
		to      *map[string]string
	}{{"env", f.env, &g.Env}, {"secret", f.secrets, &g.Secrets}, {"require", f.requires, &t.Requirements.Labels}} {
		if !given(m.flag) {
			continue
		}
		if *m.to, err = cli.NameValues("--"+m.flag, m.entries, "="); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		flag, text string
		to         *int64
	}{{"memory", f.memory, &g.Limits.Memory}, {"disk", f.disk, &g.Limits.Disk}, {"output-size", f.outputSize, &g.Limits.OutputSize}, {"log", f.log, &g.Limits.Log}} {
		if !given(m.flag) {
			continue
		}
		if *m.to, err = size.Parse("--"+m.flag, m.text); err != nil {
			return err
		}
	}
	cli.Set(given("stdin"), f.stdin, &g.Stdin)
	cli.Set(given("network"), f.network, &g.Network)
	cli.Set(given("min-isolation"), task.Isolation(f.isolation), &g.MinIsolation)
	cli.Set(given("cpu"), f.cpu, &g.Limits.CPU)
	cli.Set(given("processes"), f.processes, &g.Limits.Processes)
	cli.Set(given("outputs"), f.outputs, &g.Limits.Outputs)
	cli.Set(given("queue"), f.queue, &t.Queue)
	cli.Set(given("priority"), f.priority, &t.Priority)
	cli.Set(given("title"), f.title, &t.Title)
	cli.Set(given("description"), f.description, &t.Description)
	cli.Set(given("tag"), f.tags, &t.Tags)
	if err := cli.Retries(given, f.retries, &t.Retry); err != nil {
		return err
	}
	if err := cli.Duration(given, "kill-grace", f.killGrace, &g.KillGrace); err != nil {
		return err
	}
	return cli.Duration(given, "timeout", f.timeout, &t.Timeout)
}

// rule reads --schedule.
func (f *programFlags) rule() schedule.Rule {
	if d, err := core.ParseDuration(f.schedule); err == nil {
		return schedule.Rule{Every: d}
	}
	if r, is, err := define.Rule("--schedule", f.schedule); is && err == nil {
		return r
	}
	return schedule.Rule{Cron: f.schedule}
}

// fresh returns the schedule that --schedule creates if there is none yet.
func (f *programFlags) fresh(t task.Task) schedule.Schedule {
	return schedule.Schedule{Namespace: t.Namespace, Name: t.Name, Task: t.Name, Zone: f.zone, Rules: []schedule.Rule{f.rule()}}
}

// ofSchedule turns an error into one about --schedule.
func ofSchedule(err error) error {
	var be *core.Error
	if !errors.As(err, &be) || be.Code != core.Invalid {
		return err
	}
	out := *be
	out.Message = "--schedule: " + be.Message
	return &out
}

func programPush(c *cli.CLI) *cobra.Command {
	var f programFlags
	cmd := &cobra.Command{
		Use:   "push FILE [flags] [-- ARGUMENT...]",
		Short: "Upload a program and make it a task",
		Long: `Upload a compiled program for Linux, and create the task that runs it or give an
existing one the new program. What the flags leave out stays as it is.

The program is uploaded first, so that a schedule which runs meanwhile runs the
old one until the new one is there. A program that is there already is not sent
again.`,
		Example: `  CGO_ENABLED=0 GOOS=linux go build -o report ./cmd/report
  belfry program push ./report --name report --env REGION=eu --secret DB_PASSWORD=db --schedule '0 3 * * *'
  belfry program push ./report --at '2026-12-24 18:00' --zone Europe/Sofia
  belfry program push ./train --memory 8GiB --cpu 4 --require gpu=true -- --epochs 10`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n == 1 || n < 0 && len(args) == 1 {
				return nil
			}
			return core.InvalidField("FILE", "", "is to be given once", "write: belfry program push FILE, and the program's arguments after --")
		},
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			ns, err := s.OneNamespace()
			if err != nil {
				return err
			}
			if f.name == "" {
				f.name = filepath.Base(args[0])
			}
			if err := core.ValidName("--name", f.name); err != nil {
				return err
			}
			b, err := executableOf(c, args[0])
			if err != nil {
				return err
			}
			defer b.close()
			t, isNew, err := programTask(ctx, s, ns, f.name, b)
			if err != nil {
				return err
			}
			if err := f.apply(cmd.Flags(), &t, args[1:]); err != nil {
				return err
			}
			if err := cli.Instant(f.at != "", "--at", f.at, f.zone, &f.due); err != nil {
				return err
			}
			if f.at != "" {
				if err := (job.NewJob{Namespace: ns, Task: f.name, DueAt: f.due}).Validate(s.Now); err != nil {
					return err
				}
			}
			if err := t.WithDefaults().Validate(); err != nil { // before the upload
				return err
			}
			if f.schedule != "" {
				if err := f.fresh(t).WithDefaults().Validate(s.Now); err != nil {
					return ofSchedule(err)
				}
			}
			if err := upload(ctx, c, s, ns, b); err != nil {
				return err
			}
			return saveProgram(ctx, c, s, t, isNew, &f)
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

// programTask returns the task of a program, with its present definition and the
// new program.
func programTask(ctx context.Context, s *cli.Conn, ns, name string, b *executable) (t task.Task, isNew bool, err error) {
	t, err = s.Task(ctx, ns, name)
	switch {
	case core.CodeOf(err) == core.NotFound:
		t, isNew = task.Task{Namespace: ns, Name: name, Kind: task.KindProgram, Program: &task.Program{}}, true
	case err != nil:
		return t, false, err
	case t.Program == nil:
		return t, false, notAProgram(t)
	}
	g := *t.Program // a copy, because the read task may be shared
	g.Env, g.Secrets = maps.Clone(g.Env), maps.Clone(g.Secrets)
	g.SHA256, g.Size, g.Arch = b.digest, b.size, b.arch
	t.Program = &g
	return t, isNew, nil
}

func saveProgram(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task, isNew bool, f *programFlags) (err error) {
	verb := "updated"
	if isNew {
		verb = "created"
		t, err = s.CreateTask(ctx, t)
	} else {
		t, err = s.UpdateTask(ctx, t)
	}
	if err != nil {
		return err
	}
	if f.schedule != "" {
		if err := saveProgramSchedule(ctx, s, t, f); err != nil {
			return err
		}
	}
	var made []job.Enqueued
	if f.at != "" {
		// With a key the client repeats a request whose answer was lost.
		if made, err = s.Enqueue(ctx, []job.NewJob{{Namespace: t.Namespace, Task: t.Name, DueAt: f.due, Key: rand.Text()}}); err != nil {
			return err
		}
	}
	if err := c.Emit(t, func(w io.Writer) {
		fmt.Fprintf(w, "program %s %s: %s, %s, %s\n", t.Name, verb, t.Program.SHA256[:12], core.SizeText(t.Program.Size), t.Program.Arch)
		for _, m := range made {
			fmt.Fprintf(w, "job %d runs it at %s\n", m.Job.ID, cli.InZone(m.Job.DueAt, f.zone))
		}
		if f.schedule == "" && f.at == "" && isNew {
			fmt.Fprintf(w, "try: belfry job enqueue %s\n", t.Name)
		}
	}); err != nil {
		return err
	}
	define.AdviseWorkers(ctx, c, s, t)
	return nil
}

// saveProgramSchedule creates the schedule with the task's name, or changes its rule.
func saveProgramSchedule(ctx context.Context, s *cli.Conn, t task.Task, f *programFlags) error {
	sc, err := s.Schedule(ctx, t.Namespace, t.Name)
	if core.CodeOf(err) == core.NotFound {
		_, err = s.CreateSchedule(ctx, f.fresh(t))
	} else if err == nil {
		sc.Rules = []schedule.Rule{f.rule()}
		cli.Set(f.zone != "", f.zone, &sc.Zone)
		_, err = s.UpdateSchedule(ctx, sc)
	}
	return ofSchedule(err)
}
