package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (c *cli) programCmd() *cobra.Command {
	d := c.programs()
	return noun("program", "Programs that are uploaded and run in a sandbox", []string{"programs"},
		c.programPush(), d.listVerb(), d.showVerb(), d.deleteVerb())
}

// programs shows tasks of one kind.
func (c *cli) programs() document[task.Task] {
	return document[task.Task]{
		c: c, noun: "program", many: "programs", empty: "belfry program push ./bin --name hello",
		list: func(ctx context.Context, s *conn, f view.DocumentFilter) (core.Page[task.Task], error) {
			return s.Tasks(ctx, task.Filter{Paging: f.Paging, Namespace: f.Namespace, Kind: task.KindProgram})
		},
		show: func(ctx context.Context, s *conn, ns, name string) (task.Task, error) {
			t, err := s.Task(ctx, ns, name)
			if err == nil && t.Program == nil {
				err = notAProgram(t)
			}
			return t, err
		},
		drop: func(ctx context.Context, s *conn, ns, name string) error {
			t, err := s.Task(ctx, ns, name)
			if err == nil && t.Program == nil {
				err = notAProgram(t)
			}
			if err != nil {
				return err
			}
			return s.DeleteTask(ctx, ns, name)
		},
		owner: func(t *task.Task) (namespace, name *string) { return &t.Namespace, &t.Name },
		head:  []string{"ARCH", "SIZE", "ISOLATION", "QUEUE", "SHA256"},
		row: func(_ *conn, t task.Task) []string {
			return []string{t.Program.Arch, core.SizeText(t.Program.Size), string(t.Program.MinIsolation), t.Queue, t.Program.SHA256[:12]}
		},
		draw: func(w io.Writer, _ *conn, t task.Task) { c.drawTask(w, t) },
	}
}

func notAProgram(t task.Task) error {
	return core.Errorf(core.Conflict, "task %q is of kind %s, not a program", t.Name, t.Kind).WithHint("see: belfry task show %s", t.Name)
}

// programPairs is a program for people.
func programPairs(t task.Task) []string {
	g := t.Program
	var secrets []string
	for _, name := range slices.Sorted(maps.Keys(g.Secrets)) {
		secrets = append(secrets, name+" from secret "+g.Secrets[name])
	}
	network := "none"
	if g.Network {
		network = "as the worker's operator allows"
	}
	l := g.Limits
	return []string{
		"artifact", g.SHA256, "size", core.SizeText(g.Size), "arch", g.Arch, "arguments", strings.Join(g.Args, " "), "env", entries(g.Env, "="),
		"secrets", strings.Join(secrets, "\n"), "stdin", g.Stdin, "network", network, "isolation", "at least " + string(g.MinIsolation),
		"limits", fmt.Sprintf("memory %s, cpu %g, %d processes, %s of files, log %s, %d outputs of %s", core.SizeText(l.Memory), l.CPU, l.Processes, core.SizeText(l.Disk), core.SizeText(l.Log),
			l.Outputs, core.SizeText(l.OutputSize)),
		"kill grace", g.KillGrace.String(),
	}
}

// programFlags are the fields of a program that have a flag.
type programFlags struct {
	name, stdin, isolation, memory, disk string
	outputSize, log, killGrace           string
	queue, timeout, description          string
	schedule, at, zone                   string
	due                                  time.Time // of at
	args, env, secrets, needs, tags      []string
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
	addNeeds(fs, &f.needs)
	fs.StringVar(&f.schedule, "schedule", "", "when to run it: a cron rule such as '0 3 * * *', or an interval such as 15m")
	fs.StringVar(&f.at, "at", "", "run it once at this time, such as '2026-12-24 18:00'; each push with it makes a job")
	fs.StringVar(&f.zone, "zone", "", "time zone of --schedule and --at, such as Europe/Sofia; default: UTC")
	fs.StringVar(&f.queue, "queue", "", "queue of its jobs; default: default")
	fs.IntVar(&f.priority, "priority", 0, "within the queue; higher runs first")
	fs.StringVar(&f.timeout, "timeout", "", "longest an attempt may run, such as 5m; default: 1h")
	fs.IntVar(&f.retries, "retries", 2, "tries after the first one failed")
	fs.StringVar(&f.description, "description", "", "for people")
	fs.StringSliceVar(&f.tags, "tag", nil, "tags, for filters")
}

// apply puts the flags that were given into a task of kind program.
func (f *programFlags) apply(fs *pflag.FlagSet, t *task.Task, after []string) (err error) {
	given, g := fs.Changed, t.Program
	if args := append(append([]string{}, f.args...), after...); len(args) > 0 {
		g.Args = args
	}
	for _, m := range []struct {
		flag    string
		entries []string
		to      *map[string]string
	}{{"env", f.env, &g.Env}, {"secret", f.secrets, &g.Secrets}, {"need", f.needs, &t.Needs.Labels}} {
		if !given(m.flag) {
			continue
		}
		if *m.to, err = table("--"+m.flag, m.entries, "="); err != nil {
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
		if *m.to, err = parseSize("--"+m.flag, m.text); err != nil {
			return err
		}
	}
	set(given("stdin"), f.stdin, &g.Stdin)
	set(given("network"), f.network, &g.Network)
	set(given("min-isolation"), task.Isolation(f.isolation), &g.MinIsolation)
	set(given("cpu"), f.cpu, &g.Limits.CPU)
	set(given("processes"), f.processes, &g.Limits.Processes)
	set(given("outputs"), f.outputs, &g.Limits.Outputs)
	set(given("queue"), f.queue, &t.Queue)
	set(given("priority"), f.priority, &t.Priority)
	set(given("description"), f.description, &t.Description)
	set(given("tag"), f.tags, &t.Tags)
	if err := retries(given, f.retries, &t.Retry); err != nil {
		return err
	}
	if err := duration(given, "kill-grace", f.killGrace, &g.KillGrace); err != nil {
		return err
	}
	return duration(given, "timeout", f.timeout, &t.Timeout)
}

// rule reads --schedule.
func (f *programFlags) rule() schedule.Rule {
	if d, err := core.ParseDuration(f.schedule); err == nil {
		return schedule.Rule{Every: d}
	}
	if r, is := ruleOf(f.schedule); is {
		return r
	}
	return schedule.Rule{Cron: f.schedule}
}

// fresh is the schedule that --schedule makes where there is none yet.
func (f *programFlags) fresh(t task.Task) schedule.Schedule {
	return schedule.Schedule{Namespace: t.Namespace, Name: t.Name, Task: t.Name, Zone: f.zone, Rules: []schedule.Rule{f.rule()}}
}

// ofSchedule says of an error that it is about --schedule.
func ofSchedule(err error) error {
	var be *core.Error
	if !errors.As(err, &be) || be.Code != core.Invalid {
		return err
	}
	out := *be
	out.Message = "--schedule: " + be.Message
	return &out
}

func (c *cli) programPush() *cobra.Command {
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
  belfry program push ./train --memory 8GiB --cpu 4 --need gpu=true -- --epochs 10`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n == 1 || n < 0 && len(args) == 1 {
				return nil
			}
			return core.InvalidField("FILE", "", "is to be given once", "write: belfry program push FILE, and the program's arguments after --")
		},
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			if f.name == "" {
				f.name = filepath.Base(args[0])
			}
			if err := core.ValidName("--name", f.name); err != nil {
				return err
			}
			b, err := c.executableOf(args[0])
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
			if err := instant(f.at != "", "--at", f.at, f.zone, &f.due); err != nil {
				return err
			}
			if f.at != "" {
				if err := (job.NewJob{Namespace: ns, Task: f.name, DueAt: f.due}).Validate(s.now); err != nil {
					return err
				}
			}
			if err := t.WithDefaults().Validate(); err != nil { // before anything is sent
				return err
			}
			if f.schedule != "" {
				if err := f.fresh(t).WithDefaults().Validate(s.now); err != nil {
					return ofSchedule(err)
				}
			}
			if err := c.upload(ctx, s, ns, b); err != nil {
				return err
			}
			return c.saveProgram(ctx, s, t, isNew, &f)
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

// programTask is the task that a program is for, as it is now and with the new
// program.
func programTask(ctx context.Context, s *conn, ns, name string, b *executable) (t task.Task, isNew bool, err error) {
	t, err = s.Task(ctx, ns, name)
	switch {
	case core.CodeOf(err) == core.NotFound:
		t, isNew = task.Task{Namespace: ns, Name: name, Kind: task.KindProgram, Program: &task.Program{}}, true
	case err != nil:
		return t, false, err
	case t.Program == nil:
		return t, false, notAProgram(t)
	}
	g := *t.Program // what was read may be shared
	g.Env, g.Secrets = maps.Clone(g.Env), maps.Clone(g.Secrets)
	g.SHA256, g.Size, g.Arch = b.digest, b.size, b.arch
	t.Program = &g
	return t, isNew, nil
}

func (c *cli) saveProgram(ctx context.Context, s *conn, t task.Task, isNew bool, f *programFlags) (err error) {
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
		if made, err = s.Enqueue(ctx, []job.NewJob{{Namespace: t.Namespace, Task: t.Name, DueAt: f.due}}); err != nil {
			return err
		}
	}
	if err := c.emit(t, func(w io.Writer) {
		fmt.Fprintf(w, "program %s %s: %s, %s, %s\n", t.Name, verb, t.Program.SHA256[:12], core.SizeText(t.Program.Size), t.Program.Arch)
		for _, m := range made {
			fmt.Fprintf(w, "job %d runs it at %s\n", m.Job.ID, inZone(m.Job.DueAt, f.zone))
		}
		if f.schedule == "" && f.at == "" && isNew {
			fmt.Fprintf(w, "try: belfry job enqueue %s\n", t.Name)
		}
	}); err != nil {
		return err
	}
	c.adviseWorkers(ctx, s, t)
	return nil
}

// saveProgramSchedule makes the schedule of the task's name, or changes its rule.
func saveProgramSchedule(ctx context.Context, s *conn, t task.Task, f *programFlags) error {
	sc, err := s.Schedule(ctx, t.Namespace, t.Name)
	if core.CodeOf(err) == core.NotFound {
		_, err = s.CreateSchedule(ctx, f.fresh(t))
	} else if err == nil {
		sc.Rules = []schedule.Rule{f.rule()}
		set(f.zone != "", f.zone, &sc.Zone)
		_, err = s.UpdateSchedule(ctx, sc)
	}
	return ofSchedule(err)
}
