// Package define is what verbs of several nouns share about definitions: tasks in
// words, the flags of times, and plans of what will change.
package define

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/task"
)

// Summary is what a task does, in a line.
func Summary(t task.Task) string {
	return core.Or(t.Target().Brief, t.Description)
}

// DrawTask draws a task for people.
func DrawTask(c *cli.CLI, w io.Writer, t task.Task) {
	pairs := []string{
		"name", t.Name, "namespace", t.Namespace, "kind", string(t.Kind), "description", t.Description,
		"queue", t.Queue, "priority", strconv.Itoa(t.Priority), "timeout", t.Timeout.String(),
		"retry", fmt.Sprintf("%d attempts, %s from %s to %s, when lost: %s",
			t.Retry.MaxAttempts, t.Retry.Backoff, t.Retry.Delay, t.Retry.MaxDelay, t.Retry.OnLost),
		"requirements", setting.Entries(t.Requirements.Labels, "="), "tags", strings.Join(t.Tags, ", "), "input", string(plainjson.Unescape(t.Input)),
	}
	for _, f := range t.Details() {
		pairs = append(pairs, f.Name, fmt.Sprintf(f.Format, f.Args...))
	}
	pairs = append(pairs, "conditions", strings.Join(t.Conditions, "\n"), "warnings", strings.Join(t.Warnings, "\n"),
		"generation", strconv.FormatInt(t.Generation, 10), "created", cli.Stamp(t.CreatedAt), "updated", cli.Stamp(t.UpdatedAt))
	c.Pairs(w, pairs...)
}

// AddRequirements adds --require, which is also what --label means for a task.
func AddRequirements(fs *pflag.FlagSet, to *[]string) {
	fs.StringArrayVar(to, "require", nil, "NAME=VALUE: label that a worker must have, such as gpu=true; may be repeated")
	cli.Alias(fs, "label", "require")
}

// AdviseWorkers says, on stderr, when nobody is there to run a new task.
func AdviseWorkers(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task) {
	if s.Direct || t.Kind == task.KindCycle {
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
		if lacks = t.Requirement().Unmet(w.Has); len(lacks) == 0 {
			return
		}
	}
	if len(lacks) > 0 {
		fmt.Fprintf(c.Stderr, "note: no worker has what it needs now, its jobs will wait: there is one without %s\ntry: belfry worker list\n", strings.Join(lacks, ", "))
		return
	}
	hint := core.Or(t.Kind.Info().Worker, "start a worker for queue "+t.Queue)
	fmt.Fprintf(c.Stderr, "note: no worker runs tasks of kind %s for it now, its jobs will wait\ntry: %s\n", t.Kind, hint)
}
