package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// taskFlags are the fields of a task that have a flag. Only flags that were
// given change anything, so that create and update share them.
type taskFlags struct {
	file                          string
	kind, queue, description      string
	shell, dir, stdin             string
	url, method, body, expectBody string
	input, backoff                string
	timeout, retryDelay           string
	argv, env, headers, expect    []string
	tags, needs                   []string
	retries, priority             int
	noRetryLost                   bool
}

func (f *taskFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	fs.StringVar(&f.kind, "kind", "", "func, command or http; default: by the other flags; the others are told in a file")
	fs.StringVar(&f.shell, "shell", "", "script for /bin/sh -c")
	fs.StringArrayVar(&f.argv, "argv", nil, "program without a shell, then its arguments: repeat the flag, or write them after --")
	fs.StringVar(&f.dir, "dir", "", "working directory, absolute")
	fs.StringVar(&f.stdin, "stdin", "", "bytes for standard input")
	fs.StringArrayVar(&f.env, "env", nil, "NAME=VALUE for the command; may be repeated")
	fs.StringVar(&f.url, "url", "", "address to request")
	fs.StringVar(&f.method, "method", "", "HTTP method; default: GET")
	fs.StringArrayVar(&f.headers, "header", nil, "'Name: value' for the request; may be repeated")
	fs.StringVar(&f.body, "body", "", "body of the request")
	fs.StringSliceVar(&f.expect, "expect-status", nil, "status codes that mean success, such as 200-299,404")
	fs.StringVar(&f.expectBody, "expect-body", "", "regular expression that the answer must match")
	fs.StringVar(&f.queue, "queue", "", "queue of its jobs; default: default")
	fs.IntVar(&f.priority, "priority", 0, "within the queue; higher runs first")
	fs.StringVar(&f.timeout, "timeout", "", "longest an attempt may run, such as 5m; default: 1h")
	fs.IntVar(&f.retries, "retries", 2, "tries after the first one failed")
	fs.StringVar(&f.retryDelay, "retry-delay", "", "delay before the first retry; default: 10s")
	fs.StringVar(&f.backoff, "backoff", "", "exponential, linear or fixed; default: exponential")
	fs.BoolVar(&f.noRetryLost, "fail-when-lost", false, "do not start again when the worker was lost under way")
	fs.StringVar(&f.input, "input", "", "JSON for jobs that bring none")
	fs.StringSliceVar(&f.tags, "tag", nil, "tags, for filters")
	addNeeds(fs, &f.needs)
	fs.StringVar(&f.description, "description", "", "for people")
}

// addNeeds adds --need, which is also what --label means for a task.
func addNeeds(fs *pflag.FlagSet, to *[]string) {
	fs.StringArrayVar(to, "need", nil, "NAME=VALUE: label that a worker must have, such as gpu=true; may be repeated")
	alias(fs, "label", "need")
}

// apply puts the flags that were given into a task.
func (f *taskFlags) apply(fs *pflag.FlagSet, t *task.Task, after []string) error {
	given := fs.Changed
	if err := f.applyKind(given, t, after); err != nil {
		return err
	}
	set(given("queue"), f.queue, &t.Queue)
	set(given("description"), f.description, &t.Description)
	set(given("kind"), task.Kind(f.kind), &t.Kind)
	set(given("priority"), f.priority, &t.Priority)
	set(given("tag"), f.tags, &t.Tags)
	if given("need") {
		needs, err := table("--need", f.needs, "=")
		if err != nil {
			return err
		}
		t.Needs.Labels = needs
	}
	if err := jsonText(given("input"), f.input, &t.Input); err != nil {
		return err
	}
	if err := retries(given, f.retries, &t.Retry); err != nil {
		return err
	}
	set(given("backoff"), task.Backoff(f.backoff), &t.Retry.Backoff)
	set(f.noRetryLost, task.OnLostFail, &t.Retry.OnLost)
	if err := duration(given, "timeout", f.timeout, &t.Timeout); err != nil {
		return err
	}
	return duration(given, "retry-delay", f.retryDelay, &t.Retry.Delay)
}

func (f *taskFlags) applyKind(given func(string) bool, t *task.Task, after []string) error {
	command := given("shell") || given("argv") || given("dir") || given("stdin") || given("env") || len(after) > 0
	request := given("url") || given("method") || given("header") || given("body") || given("expect-status") || given("expect-body")
	if command && request {
		return core.Errorf(core.Invalid, "a task runs a command or makes a request, and not both").
			WithHint("make two tasks")
	}
	if command {
		if t.Command == nil {
			t.Command = &task.Command{}
		}
		return f.applyCommand(given, t.Command, after)
	}
	if request {
		if t.HTTP == nil {
			t.HTTP = &task.HTTP{}
		}
		return f.applyHTTP(given, t.HTTP)
	}
	return nil
}

func (f *taskFlags) applyCommand(given func(string) bool, cmd *task.Command, after []string) error {
	if given("shell") {
		cmd.Shell, cmd.Argv = f.shell, nil
	}
	if argv := append(slices.Clone(f.argv), after...); len(argv) > 0 {
		cmd.Argv = argv
		if !given("shell") {
			cmd.Shell = ""
		}
	}
	set(given("dir"), f.dir, &cmd.Dir)
	set(given("stdin"), f.stdin, &cmd.Stdin)
	var err error
	if given("env") {
		cmd.Env, err = table("--env", f.env, "=")
	}
	return err
}

func (f *taskFlags) applyHTTP(given func(string) bool, h *task.HTTP) error {
	set(given("url"), f.url, &h.URL)
	set(given("method"), f.method, &h.Method)
	set(given("body"), f.body, &h.Body)
	set(given("expect-status"), f.expect, &h.ExpectStatus)
	set(given("expect-body"), f.expectBody, &h.ExpectBody)
	var err error
	if given("header") {
		h.Headers, err = table("--header", f.headers, ":")
	}
	return err
}

func (c *cli) taskCreate() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use:   "create NAME [flags] [-- PROGRAM ARGUMENT...]",
		Short: "Create a task",
		Example: `  belfry task create backup --shell 'pg_dump mydb > /backup/mydb.sql' --timeout 5m --retries 3
  belfry task create report --timeout 10m -- /usr/local/bin/report --format pdf
  belfry task create ping --url https://example.com/health --timeout 10s
  belfry task create -f task.yaml`,
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			t, err := c.taskFrom(s, cmd, &f, args)
			if err != nil {
				return err
			}
			t, err = s.CreateTask(ctx, t)
			if err != nil {
				return err
			}
			if err := c.emit(t, func(w io.Writer) { fmt.Fprintf(w, "task %s created\n", t.Name) }); err != nil {
				return err
			}
			c.adviseWorkers(ctx, s, t)
			return nil
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func (c *cli) taskFrom(s *conn, cmd *cobra.Command, f *taskFlags, args []string) (task.Task, error) {
	var t task.Task
	name, rest, err := nameAndRest(cmd, args)
	if err != nil {
		return t, err
	}
	if err := c.draft(s, f.file, "task", nil, &t, &t.Name, &t.Namespace); err != nil {
		return t, err
	}
	set(name != "", name, &t.Name)
	if t.Name == "" {
		return t, core.InvalidField("NAME", "", "is missing", "write: belfry task create NAME --shell 'echo hello'")
	}
	return t, f.apply(cmd.Flags(), &t, rest)
}

func (c *cli) taskUpdate() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use: "update NAME [flags] [-- PROGRAM ARGUMENT...]", Aliases: []string{"edit", "set"}, Short: "Change a task; what no flag names stays as it is",
		RunE: c.verb(func(ctx context.Context, s *conn, cmd *cobra.Command, args []string) error {
			if f.file != "" {
				t, err := c.taskFrom(s, cmd, &f, args)
				if err != nil {
					return err
				}
				return c.putTask(ctx, s, t)
			}
			name, rest, err := nameAndRest(cmd, args)
			if err != nil {
				return err
			}
			ns, err := s.one()
			if err != nil {
				return err
			}
			if name == "" {
				return core.InvalidField("NAME", "", "is missing", "see: belfry task list")
			}
			t, err := s.Task(ctx, ns, name)
			if err != nil {
				return err
			}
			if err := f.apply(cmd.Flags(), &t, rest); err != nil {
				return err
			}
			return c.putTask(ctx, s, t)
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func (c *cli) putTask(ctx context.Context, s *conn, t task.Task) error {
	t, err := s.UpdateTask(ctx, t)
	if err != nil {
		return err
	}
	return c.emit(t, func(w io.Writer) { fmt.Fprintf(w, "task %s updated, generation %d\n", t.Name, t.Generation) })
}

// adviseWorkers says, on stderr, when nobody is there to run a new task.
func (c *cli) adviseWorkers(ctx context.Context, s *conn, t task.Task) {
	if s.direct || t.Kind == task.KindCycle {
		return // nobody runs anything now, and that is no surprise; and cycles are run by no worker
	}
	workers, err := s.Workers(ctx, false)
	if err != nil {
		return // it is advice, and the token may not see workers
	}
	var lacks []string
	for _, w := range workers {
		_, lane := w.Queues[t.Queue]
		if !lane || !w.RunsIn(t.Namespace) || !w.Runs(t.Kind) || !w.Handles(t.Kind, t.Name) {
			continue
		}
		if lacks = t.Demand().Unmet(w.Has); len(lacks) == 0 {
			return
		}
	}
	if len(lacks) > 0 {
		fmt.Fprintf(c.stderr, "note: no worker has what it needs now, its jobs will wait: there is one without %s\ntry: belfry worker list\n", strings.Join(lacks, ", "))
		return
	}
	hint := fmt.Sprintf("start a worker for queue %s", t.Queue)
	switch t.Kind {
	case task.KindCommand:
		hint = "start a node or worker with --allow-commands"
	case task.KindProgram:
		hint = "start a worker that runs programs: belfry worker"
	case task.KindFunc:
		hint = "start the program that has a Go handler for it"
	}
	fmt.Fprintf(c.stderr, "note: no worker runs tasks of kind %s for it now, its jobs will wait\ntry: %s\n", t.Kind, hint)
}
