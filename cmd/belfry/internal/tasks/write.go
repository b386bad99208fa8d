package tasks

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// taskFlags are the fields of a task that have a flag. Only flags that were
// given change anything, so that create and update share them.
type taskFlags struct {
	file                            string
	kind, queue, title, description string
	shell, dir, stdin               string
	url, method, body, expectBody   string
	input, backoff                  string
	timeout, retryDelay             string
	argv, env, headers, expect      []string
	tags, requires, limits          []string
	sequence, onFailure             string
	throttle, debounce              string
	retries, priority               int
	noRetryLost                     bool
}

func (f *taskFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.file, "file", "f", "", "read the whole definition from a YAML or JSON file; - for standard input")
	fs.StringVar(&f.kind, "kind", "", "func, command or http; default: by the other flags; a file sets the others")
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
	define.AddRequirements(fs, &f.requires)
	define.LimitFlag(fs, &f.limits)
	fs.StringVar(&f.sequence, "sequence", "", "run jobs with the same key one at a time in their order, such as input.order; all: of the whole task; none: no sequence")
	fs.StringVar(&f.onFailure, "sequence-on-failure", "", "what a sequence does when a job failed for good: stop, continue or skip those that wait; default: stop")
	fs.StringVar(&f.throttle, "throttle", "", "make one job of a key in a window of time, and answer others with it, such as key=input.customer,window=30s; none: no throttle")
	fs.StringVar(&f.debounce, "debounce", "", "have requests of a key share one job, which starts when none has come for a window of time, such as key=input.customer,window=30s,max=5m; none: no debounce")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
}

// apply puts the given flags into a task.
func (f *taskFlags) apply(fs *pflag.FlagSet, t *task.Task, after []string) error {
	given := fs.Changed
	if err := f.applyKind(given, t, after); err != nil {
		return err
	}
	cli.Set(given("queue"), f.queue, &t.Queue)
	cli.Set(given("title"), f.title, &t.Title)
	cli.Set(given("description"), f.description, &t.Description)
	cli.Set(given("kind"), task.Kind(f.kind), &t.Kind)
	cli.Set(given("priority"), f.priority, &t.Priority)
	cli.Set(given("tag"), f.tags, &t.Tags)
	if given("require") {
		required, err := cli.NameValues("--require", f.requires, "=")
		if err != nil {
			return err
		}
		t.Requirements.Labels = required
	}
	switch {
	case given("sequence") && f.sequence == "none":
		t.Sequence = nil
	case given("sequence"):
		t.Sequence = &flow.Sequence{Key: f.sequence}
		if f.sequence == "all" {
			t.Sequence.Key = ""
		}
	}
	if given("sequence-on-failure") {
		if t.Sequence == nil {
			return core.InvalidField("--sequence-on-failure", f.onFailure, "needs a sequence", "give --sequence too")
		}
		t.Sequence.OnFailure = flow.AfterFailure(f.onFailure)
	}
	if given("throttle") {
		throttle, err := flow.ParseThrottle("--throttle", f.throttle)
		if err != nil {
			return err
		}
		t.Throttle = throttle
	}
	if given("debounce") {
		debounce, err := flow.ParseDebounce("--debounce", f.debounce)
		if err != nil {
			return err
		}
		t.Debounce = debounce
	}
	if given("limit") {
		limits, err := define.ReadLimits(f.limits)
		if err != nil {
			return err
		}
		t.Limits = limits
	}
	if err := cli.JSONText(given("input"), f.input, &t.Input); err != nil {
		return err
	}
	if err := cli.Retries(given, f.retries, &t.Retry); err != nil {
		return err
	}
	cli.Set(given("backoff"), task.Backoff(f.backoff), &t.Retry.Backoff)
	cli.Set(f.noRetryLost, task.OnLostFail, &t.Retry.OnLost)
	if err := cli.Duration(given, "timeout", f.timeout, &t.Timeout); err != nil {
		return err
	}
	return cli.Duration(given, "retry-delay", f.retryDelay, &t.Retry.Delay)
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
	cli.Set(given("dir"), f.dir, &cmd.Dir)
	cli.Set(given("stdin"), f.stdin, &cmd.Stdin)
	var err error
	if given("env") {
		cmd.Env, err = cli.NameValues("--env", f.env, "=")
	}
	return err
}

func (f *taskFlags) applyHTTP(given func(string) bool, h *task.HTTP) error {
	cli.Set(given("url"), f.url, &h.URL)
	cli.Set(given("method"), f.method, &h.Method)
	cli.Set(given("body"), f.body, &h.Body)
	cli.Set(given("expect-status"), f.expect, &h.ExpectStatus)
	cli.Set(given("expect-body"), f.expectBody, &h.ExpectBody)
	var err error
	if given("header") {
		h.Headers, err = cli.NameValues("--header", f.headers, ":")
	}
	return err
}

func taskCreate(c *cli.CLI) *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use:   "create NAME [flags] [-- PROGRAM ARGUMENT...]",
		Short: "Create a task",
		Example: `  belfry task create backup --shell 'pg_dump mydb > /backup/mydb.sql' --timeout 5m --retries 3
  belfry task create report --timeout 10m -- /usr/local/bin/report --format pdf
  belfry task create ping --url https://example.com/health --timeout 10s
  belfry task create -f task.yaml`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			t, err := taskFrom(c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			t, err = s.CreateTask(ctx, t)
			if err != nil {
				return err
			}
			if err := c.Emit(t, func(w io.Writer) { fmt.Fprintf(w, "task %s created\n", t.Name) }); err != nil {
				return err
			}
			define.AdviseWorkers(ctx, c, s, t)
			return nil
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func taskFrom(c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *taskFlags, args []string) (task.Task, error) {
	var t task.Task
	name, rest, err := cli.NameAndRest(cmd, args)
	if err != nil {
		return t, err
	}
	if err := c.Draft(s, f.file, "task", nil, &t, &t.Name, &t.Namespace); err != nil {
		return t, err
	}
	cli.Set(name != "", name, &t.Name)
	if t.Name == "" {
		return t, core.InvalidField("NAME", "", "is missing", "write: belfry task create NAME --shell 'echo hello'")
	}
	return t, f.apply(cmd.Flags(), &t, rest)
}

func taskUpdate(c *cli.CLI) *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use: "update NAME [flags] [-- PROGRAM ARGUMENT...]", Aliases: []string{"edit", "set"}, Short: "Change a task; what no flag names stays as it is",
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			if f.file != "" {
				t, err := taskFrom(c, s, cmd, &f, args)
				if err != nil {
					return err
				}
				return putTask(ctx, c, s, t)
			}
			name, rest, err := cli.NameAndRest(cmd, args)
			if err != nil {
				return err
			}
			ns, err := s.OneNamespace()
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
			return putTask(ctx, c, s, t)
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func putTask(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task) error {
	t, err := s.UpdateTask(ctx, t)
	if err != nil {
		return err
	}
	return c.Emit(t, func(w io.Writer) { fmt.Fprintf(w, "task %s updated, generation %d\n", t.Name, t.Generation) })
}
