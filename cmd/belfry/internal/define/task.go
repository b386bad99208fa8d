// Package define has helpers for definitions that several nouns share: descriptions of
// tasks, the flags of times, and plans of changes.
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

// Summary describes a task in one line.
func Summary(t task.Task) string {
	return core.Or(t.Target().Brief, t.Description)
}

// DrawTask draws a task for people.
func DrawTask(c *cli.CLI, w io.Writer, t task.Task) {
	pairs := []string{
		"name", t.Name, "namespace", t.Namespace, "title", t.Title, "kind", string(t.Kind), "description", t.Description,
		"queue", t.Queue, "priority", strconv.Itoa(t.Priority), "timeout", t.Timeout.String(),
		"retry", fmt.Sprintf("%d attempts, %s from %s to %s, when lost: %s",
			t.Retry.MaxAttempts, t.Retry.Backoff, t.Retry.Delay, t.Retry.MaxDelay, t.Retry.OnLost),
		"requirements", setting.Entries(t.Requirements.Labels, "="), "limits", Limits(t), "tags", strings.Join(t.Tags, ", "), "input", string(plainjson.Unescape(t.Input)),
	}
	for _, f := range t.Details() {
		pairs = append(pairs, f.Name, fmt.Sprintf(f.Format, f.Args...))
	}
	pairs = append(pairs, "conditions", strings.Join(t.Conditions, "\n"), "warnings", strings.Join(t.Warnings, "\n"),
		"generation", strconv.FormatInt(t.Generation, 10), "created", cli.Stamp(t.CreatedAt), "updated", cli.Stamp(t.UpdatedAt))
	c.Pairs(w, pairs...)
}

// Limits describes the limits of a task, one in each line.
func Limits(t task.Task) string {
	lines := LimitTexts(t.Limits)
	if s := t.Sequence; s != nil {
		line := "sequence: one after the other"
		if s.Key != "" {
			line += ", for each " + s.Key
		}
		lines = append(lines, line+", on failure "+string(s.OnFailure))
	}
	if s := t.Throttle; s != nil {
		line := "throttle: one in " + s.Window.String()
		if s.Key != "" {
			line += ", for each " + s.Key
		}
		lines = append(lines, line)
	}
	if s := t.Debounce; s != nil {
		line := fmt.Sprintf("debounce: %s after the last, %s after the first at the latest", s.Window, core.Duration(s.Longest()))
		if s.Key != "" {
			line += ", for each " + s.Key
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// AddRequirements adds --require, with the alias --label.
func AddRequirements(fs *pflag.FlagSet, to *[]string) {
	fs.StringArrayVar(to, "require", nil, "NAME=VALUE: label that a worker must have, such as gpu=true; may be repeated")
	cli.Alias(fs, "label", "require")
}

// AdviseWorkers notes on stderr if no worker could run a new task.
func AdviseWorkers(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task) {
	if s.Direct || t.Kind == task.KindCycle {
		return // without any worker, no note is needed; and cycles need no worker
	}
	workers, err := s.Workers(ctx, false)
	if err != nil {
		return // only a note, and the token may not be allowed to list workers
	}
	var lacks []string
	elsewhere := false // a worker could run it, but serves other queues
	for _, w := range workers {
		_, lane := w.Queues[t.Queue]
		if !w.RunsIn(t.Namespace) || !w.Runs(t.Kind) || !w.Handles(t.Kind, t.Name) {
			continue
		}
		unmet := t.Requirement().Unmet(w.Has)
		if !lane {
			elsewhere = elsewhere || len(unmet) == 0
			continue
		}
		if lacks = unmet; len(lacks) == 0 {
			return
		}
	}
	if len(lacks) > 0 {
		fmt.Fprintf(c.Stderr, "note: no worker has what it needs now, its jobs will wait: there is one without %s\ntry: belfry worker list\n", strings.Join(lacks, ", "))
		return
	}
	if elsewhere {
		fmt.Fprintf(c.Stderr, "note: no worker serves queue %s yet; a node that serves all queues begins with a new one in a moment, and other workers when they are told to\ntry: belfry worker list\n", t.Queue)
		return
	}
	hint := core.Or(t.Kind.Info().Worker, "start a worker for queue "+t.Queue)
	fmt.Fprintf(c.Stderr, "note: no worker runs tasks of kind %s for it now, its jobs will wait\ntry: %s\n", t.Kind, hint)
}
