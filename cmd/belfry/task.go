package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/config"
)

func (c *cli) taskCmd() *cobra.Command {
	return noun("task", "What to run: create, change, show", []string{"tasks"},
		c.taskCreate(), c.taskList(), c.taskShow(), c.taskUpdate(), c.taskDelete())
}

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
func (f *taskFlags) apply(fs *pflag.FlagSet, t *belfry.Task, after []string) error {
	given := func(name string) bool { return fs.Changed(name) }
	text := func(name, value string, to *string) {
		if given(name) {
			*to = value
		}
	}
	if err := f.applyKind(given, t, after); err != nil {
		return err
	}
	text("queue", f.queue, &t.Queue)
	text("description", f.description, &t.Description)
	if given("kind") {
		t.Kind = belfry.Kind(f.kind)
	}
	if given("priority") {
		t.Priority = f.priority
	}
	if given("tag") {
		t.Tags = f.tags
	}
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
	if given("retries") {
		if f.retries < 0 {
			return belfry.InvalidField("--retries", strconv.Itoa(f.retries), "is negative", "0 never retries")
		}
		t.Retry.MaxAttempts = f.retries + 1
	}
	if given("backoff") {
		t.Retry.Backoff = belfry.Backoff(f.backoff)
	}
	if f.noRetryLost {
		t.Retry.OnLost = belfry.OnLostFail
	}
	if err := duration(given, "timeout", f.timeout, &t.Timeout); err != nil {
		return err
	}
	return duration(given, "retry-delay", f.retryDelay, &t.Retry.Delay)
}

func duration(given func(string) bool, name, text string, to *belfry.Duration) error {
	if !given(name) {
		return nil
	}
	d, err := belfry.ParseDuration(text)
	if err != nil {
		return belfry.InvalidField("--"+name, "", err.Error(), "")
	}
	*to = d
	return nil
}

// jsonText reads --input.
func jsonText(given bool, text string, to *json.RawMessage) error {
	if !given {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return belfry.InvalidField("--input", text, "is not JSON", `such as '{"name": "World"}', or '"text"'`)
	}
	*to = json.RawMessage(text)
	return nil
}

func (f *taskFlags) applyKind(given func(string) bool, t *belfry.Task, after []string) error {
	command := given("shell") || given("argv") || given("dir") || given("stdin") || given("env") || len(after) > 0
	request := given("url") || given("method") || given("header") || given("body") || given("expect-status") || given("expect-body")
	if command && request {
		return belfry.Errorf(belfry.Invalid, "a task runs a command or makes a request, and not both").
			WithHint("make two tasks")
	}
	if command {
		if t.Command == nil {
			t.Command = &belfry.Command{}
		}
		return f.applyCommand(given, t.Command, after)
	}
	if request {
		if t.HTTP == nil {
			t.HTTP = &belfry.HTTP{}
		}
		return f.applyHTTP(given, t.HTTP)
	}
	return nil
}

func (f *taskFlags) applyCommand(given func(string) bool, cmd *belfry.Command, after []string) error {
	if given("shell") {
		cmd.Shell, cmd.Argv = f.shell, nil
	}
	if argv := append(slices.Clone(f.argv), after...); len(argv) > 0 {
		cmd.Argv = argv
		if !given("shell") {
			cmd.Shell = ""
		}
	}
	if given("dir") {
		cmd.Dir = f.dir
	}
	if given("stdin") {
		cmd.Stdin = f.stdin
	}
	var err error
	if given("env") {
		cmd.Env, err = table("--env", f.env, "=")
	}
	return err
}

func (f *taskFlags) applyHTTP(given func(string) bool, h *belfry.HTTP) error {
	if given("url") {
		h.URL = f.url
	}
	if given("method") {
		h.Method = f.method
	}
	if given("body") {
		h.Body = f.body
	}
	if given("expect-status") {
		h.ExpectStatus = f.expect
	}
	if given("expect-body") {
		h.ExpectBody = f.expectBody
	}
	var err error
	if given("header") {
		h.Headers, err = table("--header", f.headers, ":")
	}
	return err
}

func table(flag string, entries []string, sep string) (map[string]string, error) {
	m := map[string]string{}
	for _, e := range entries {
		name, value, found := strings.Cut(e, sep)
		if !found || name == "" {
			return nil, belfry.InvalidField(flag, e, "is not a name and a value", "write NAME"+sep+"VALUE")
		}
		if sep == ":" {
			value = strings.TrimSpace(value)
		}
		m[name] = value
	}
	return m, nil
}

// nameAndRest splits "NAME -- program argument…".
func nameAndRest(cmd *cobra.Command, args []string) (name string, rest []string, err error) {
	before := args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		before, rest = args[:dash], args[dash:]
	}
	if len(before) > 1 {
		return "", nil, belfry.InvalidField("NAME", before[1], "is one argument too many", "write a program and its arguments after --")
	}
	if len(before) == 1 {
		name = before[0]
	}
	return name, rest, nil
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

func (c *cli) taskFrom(s *conn, cmd *cobra.Command, f *taskFlags, args []string) (belfry.Task, error) {
	var t belfry.Task
	ns, err := s.one()
	if err != nil {
		return t, err
	}
	if f.file != "" {
		if err := c.definition(f.file, "task", &t); err != nil {
			return t, err
		}
	}
	name, rest, err := nameAndRest(cmd, args)
	if err != nil {
		return t, err
	}
	if name != "" {
		t.Name = name
	}
	if t.Namespace == "" {
		t.Namespace = ns
	}
	if t.Name == "" {
		return t, belfry.InvalidField("NAME", "", "is missing", "write: belfry task create NAME --shell 'echo hello'")
	}
	return t, f.apply(cmd.Flags(), &t, rest)
}

// definition reads one definition from a file.
func (c *cli) definition(path, what string, v any) error {
	srcs, err := config.ReadSources([]string{path}, c.stdin)
	if err != nil {
		return err
	}
	if len(srcs) != 1 {
		return belfry.InvalidField("--file", path, "is a folder", "name one file, or use: belfry apply -f FOLDER")
	}
	return config.Decode(srcs[0], what, v)
}

// adviseWorkers says, on stderr, when nobody is there to run a new task.
func (c *cli) adviseWorkers(ctx context.Context, s *conn, t belfry.Task) {
	if s.direct || t.Kind == belfry.KindCycle {
		return // nobody runs anything now, and that is no surprise; and cycles are run by no worker
	}
	workers, err := s.Workers(ctx, false)
	if err != nil {
		return // it is advice, and the token may not see workers
	}
	var lacks []string
	for _, w := range workers {
		_, lane := w.Queues[t.Queue]
		able := slices.Contains(w.Kinds, t.Kind) && (t.Kind != belfry.KindFunc || slices.Contains(w.Funcs, t.Name))
		if !lane || !able {
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
	case belfry.KindCommand:
		hint = "start a node or worker with --allow-commands"
	case belfry.KindProgram:
		hint = "start a worker that runs programs: belfry worker"
	case belfry.KindFunc:
		hint = "start the program that has a Go handler for it"
	}
	fmt.Fprintf(c.stderr, "note: no worker runs tasks of kind %s for it now, its jobs will wait\ntry: %s\n", t.Kind, hint)
}

func (c *cli) taskList() *cobra.Command {
	var kind, tag string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List tasks", Args: cobra.NoArgs}
	limit := limitFlag(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind")
	cmd.Flags().StringVar(&tag, "tag", "", "only with this tag")
	cmd.RunE = c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, _ []string) error {
		p, err := allPages(*limit, func(pg belfry.Paging) (belfry.Page[belfry.Task], error) {
			return s.Tasks(ctx, belfry.TaskFilter{Paging: pg, Namespace: s.namespace, Kind: belfry.Kind(kind), Tag: tag})
		})
		if err != nil {
			return err
		}
		defer c.more(p.Next, len(p.Items))
		return c.emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.stderr, "no tasks yet; try: belfry task create hello --shell 'echo hello'")
				return
			}
			g := c.grid("NAME", "KIND", "QUEUE", "TIMEOUT", "TRIES", "WHAT")
			for _, t := range p.Items {
				g.row(s.label(t.Namespace, t.Name), string(t.Kind), t.Queue, t.Timeout.String(), strconv.Itoa(t.Retry.MaxAttempts), clip(what(t), 60))
			}
			g.write(w)
		})
	})
	return cmd
}

// label is a name, with its namespace when several are shown.
func (s *conn) label(namespace, name string) string {
	if s.namespace == belfry.AnyNamespace {
		return namespace + "/" + name
	}
	return name
}

// what is what a task does, in a line.
func what(t belfry.Task) string {
	switch {
	case t.Command != nil && t.Command.Shell != "":
		return t.Command.Shell
	case t.Command != nil:
		return strings.Join(t.Command.Argv, " ")
	case t.HTTP != nil:
		return strings.TrimSpace(t.HTTP.Method + " " + t.HTTP.URL)
	case t.Page != nil:
		return "page " + strings.TrimSpace(t.Page.URL+" "+t.Page.CSS+t.Page.XPath+t.Page.JSONPath)
	case t.TCP != nil:
		return "tcp " + t.TCP.Address
	case t.DNS != nil:
		return "dns " + strings.TrimSpace(t.DNS.Type+" "+t.DNS.Name)
	case t.TLS != nil:
		return "tls " + t.TLS.Address
	case t.Ping != nil:
		return "ping " + t.Ping.Host
	case t.GRPC != nil:
		return "grpc " + strings.TrimSpace(t.GRPC.Address+" "+t.GRPC.Service)
	case t.WebSocket != nil:
		return t.WebSocket.URL
	case t.Program != nil:
		return strings.Join(append([]string{t.Program.SHA256[:min(len(t.Program.SHA256), 12)]}, t.Program.Args...), " ")
	case t.Cycle != nil:
		names := make([]string, len(t.Cycle.Members))
		for i, m := range t.Cycle.Members {
			names[i] = m.Task
		}
		return strings.Join(names, ", ")
	}
	return t.Description
}

func (c *cli) taskShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show a task", Args: cobra.ExactArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			ns, err := s.one()
			if err != nil {
				return err
			}
			t, err := s.Task(ctx, ns, args[0])
			if err != nil {
				return err
			}
			return c.emit(t, func(w io.Writer) { c.drawTask(w, t) })
		}),
	}
}

func (c *cli) drawTask(w io.Writer, t belfry.Task) {
	pairs := []string{
		"name", t.Name, "namespace", t.Namespace, "kind", string(t.Kind), "description", t.Description,
		"queue", t.Queue, "priority", strconv.Itoa(t.Priority), "timeout", t.Timeout.String(),
		"retry", fmt.Sprintf("%d attempts, %s from %s to %s, when lost: %s",
			t.Retry.MaxAttempts, t.Retry.Backoff, t.Retry.Delay, t.Retry.MaxDelay, t.Retry.OnLost),
		"needs", entries(t.Needs.Labels, "="), "tags", strings.Join(t.Tags, ", "), "input", string(t.Input),
	}
	if cmd := t.Command; cmd != nil {
		pairs = append(pairs, "shell", cmd.Shell, "argv", strings.Join(cmd.Argv, " "), "dir", cmd.Dir,
			"env", entries(cmd.Env, "="), "stdin", cmd.Stdin, "kill grace", cmd.KillGrace.String())
	}
	if h := t.HTTP; h != nil {
		pairs = append(pairs, "request", what(t), "headers", entries(h.Headers, ": "), "body", h.Body,
			"expects", strings.Join(h.ExpectStatus, ", "), "body must match", h.ExpectBody)
	}
	if t.Program != nil {
		pairs = append(pairs, programPairs(t)...)
	}
	if t.Command == nil && t.HTTP == nil && t.Program == nil && t.Kind != belfry.KindFunc {
		name := "target"
		if t.Kind == belfry.KindCycle {
			name = "members"
		}
		pairs = append(pairs, name, what(t))
	}
	pairs = append(pairs, "conditions", strings.Join(t.Conditions, "\n"), "warnings", strings.Join(t.Warnings, "\n"),
		"generation", strconv.FormatInt(t.Generation, 10), "created", stamp(t.CreatedAt), "updated", stamp(t.UpdatedAt))
	c.pairs(w, pairs...)
}

func entries(m map[string]string, sep string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+sep+m[k])
	}
	return strings.Join(list, "\n")
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
				return belfry.InvalidField("NAME", "", "is missing", "see: belfry task list")
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

func (c *cli) putTask(ctx context.Context, s *conn, t belfry.Task) error {
	t, err := s.UpdateTask(ctx, t)
	if err != nil {
		return err
	}
	return c.emit(t, func(w io.Writer) { fmt.Fprintf(w, "task %s updated, generation %d\n", t.Name, t.Generation) })
}

func (c *cli) taskDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete tasks; their history stays until retention ends", Args: cobra.MinimumNArgs(1),
		RunE: c.verb(func(ctx context.Context, s *conn, _ *cobra.Command, args []string) error {
			return c.each(s, args, "deleted", func(ns, name string) error { return s.DeleteTask(ctx, ns, name) })
		}),
	}
}

// each does something to every named thing and says so.
func (c *cli) each(s *conn, names []string, done string, fn func(ns, name string) error) error {
	ns, err := s.one()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := fn(ns, name); err != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "%s %s\n", name, done)
	}
	return nil
}
