package jobs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/wait"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Run is the command run.
func Run(c *cli.CLI) *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use: "run TASK [--key=value...]", Short: "Execute a task once, here, in the foreground",
		Long: `Execute a task once, in the foreground. A command or request runs in this very
process: no job is made, nothing is retried, and what it writes appears here as
it is written. A task of kind func is enqueued instead, for the program that has
its handler, and its log is followed.

Everything after TASK is the input, one key at a time: --key=value, --key value,
or --key for true. A key given twice becomes a list. A value that reads as a
JSON number, true, false, null, list or object is taken for that; quote it as
JSON to keep it text: --version='"1.10"'. Flags of belfry itself stand before
TASK.

A definition that came from a server elsewhere runs as you, on this machine. So
commands of a server that is not on this machine want --allow-commands.`,
		Example: `  belfry run backup
  belfry run greet --name=World --times 3 --loud
  belfry run --input '{"name": "World"}' greet`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&input, "input", "", "the whole input as JSON, instead of keys")
	c.ConfigFlags(cmd.Flags(), "worker")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, err := s.OneNamespace()
		if err != nil {
			return err
		}
		raw, err := runInput(args[1:], input)
		if err != nil {
			return err
		}
		t, err := s.Task(ctx, ns, args[0])
		if err != nil {
			return err
		}
		switch t.Kind {
		case task.KindFunc:
			return runElsewhere(ctx, c, s, t, raw)
		case task.KindWorkflow:
			return core.Errorf(core.Invalid, "task %q is a workflow, whose steps run where workers are", t.Name).WithHint("belfry job enqueue %s", t.Name)
		case task.KindCycle:
			return core.Errorf(core.Invalid, "task %q is a cycle, whose members run where workers are", t.Name).WithHint("belfry cycle run %s --wait", t.Name)
		}
		return runHere(ctx, c, s, t, raw)
	})
	return cmd
}

// runInput builds the input from keys and values.
func runInput(args []string, whole string) (json.RawMessage, error) {
	if whole != "" {
		if len(args) > 0 {
			return nil, core.InvalidField("--input", whole, "cannot stand beside keys", "give one of them")
		}
		var raw json.RawMessage
		err := cli.JSONText(true, whole, &raw)
		return raw, err
	}
	if len(args) == 0 {
		return nil, nil
	}
	values := map[string][]json.RawMessage{}
	var order []string
	for i := 0; i < len(args); i++ {
		key, value, found := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		if !strings.HasPrefix(args[i], "--") || key == "" {
			return nil, core.InvalidField("TASK", args[i], "is not a key of the input", "write --key=value; flags of belfry stand before TASK")
		}
		text := json.RawMessage("true")
		switch {
		case found:
			text = asJSON(value)
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "--"):
			i++
			text = asJSON(args[i])
		}
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
		values[key] = append(values[key], text)
	}
	return inputObject(order, values)
}

func inputObject(order []string, values map[string][]json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		if list := values[key]; len(list) == 1 {
			b.Write(list[0])
		} else {
			text, err := json.Marshal(list)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// asJSON returns a value that is JSON unchanged, and any other as a JSON string.
func asJSON(value string) json.RawMessage {
	if trimmed := strings.TrimSpace(value); trimmed != "" && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	text, err := plainjson.Marshal(value)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return text
}

func runElsewhere(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task, input json.RawMessage) error {
	// With a key the client repeats a request whose answer was lost.
	made, err := s.Enqueue(ctx, []job.NewJob{{Namespace: t.Namespace, Task: t.Name, Input: input, Key: rand.Text()}})
	if err != nil {
		return err
	}
	return wait.Live(ctx, c, s, made[0].Job, 0)
}

func runHere(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task, input json.RawMessage) error {
	l := c.Loaded
	if t.Kind == task.KindCommand && !s.Direct && !cli.IsLocal(s.Where) && !l.AllowCommands {
		return core.Errorf(core.Forbidden, "task %q is a command that %s defines", t.Name, s.Where).
			WithHint("look at it with: belfry task show %s; then: belfry run --allow-commands %s", t.Name, t.Name)
	}
	f, err := app.RunTask(ctx, l.Config, c.Version, t, input, c.Stdout, c.Stderr)
	if err != nil {
		return err
	}
	if t.Kind == task.KindHTTP && len(f.Output) > 0 {
		if err := cli.WriteJSON(c.Stdout, f.Output); err != nil {
			return err
		}
	}
	if f.Outcome != job.OutcomeOK {
		return fmt.Errorf("task %s ended with %s: %s", t.Name, f.Outcome, cmp.Or(f.Error, "it says no more"))
	}
	return nil
}
