package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// lister finds things of one noun whose name has a part.
type lister = func(ctx context.Context, s *cli.Conn, part string) ([]cli.Completed, error)

// mostCompleted bounds the completions that a shell offers; a longer prefix shows others.
const mostCompleted = 100

var page = core.Paging{Limit: mostCompleted}

// listers are the nouns whose names shells complete, by their group of commands.
var listers = map[string]lister{
	"task":    tasksOf(""),
	"program": tasksOf(task.KindProgram),
	"cycle":   tasksOf(task.KindCycle),
	"schedule": func(ctx context.Context, s *cli.Conn, part string) ([]cli.Completed, error) {
		all, err := s.Schedules(ctx, schedule.Filter{Namespace: s.NS, Part: part, Paging: page})
		return completed(all.Items, func(x schedule.Schedule) cli.Completed {
			return cli.Completed{Word: x.Name, Note: x.RuleText() + ", task " + x.Task}
		}), err
	},
	"monitor": func(ctx context.Context, s *cli.Conn, part string) ([]cli.Completed, error) {
		all, err := s.Monitors(ctx, view.MonitorFilter{Namespace: s.NS, Search: part, Paging: page})
		return completed(all.Items, func(x view.MonitorView) cli.Completed { return cli.Completed{Word: x.Name, Note: string(x.Status)} }), err
	},
	"queue": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.Queues(ctx)
		return completed(all, func(x job.QueueStats) cli.Completed { return cli.Completed{Word: x.Name, Note: x.Description} }), err
	},
	"job": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.Jobs(ctx, job.Filter{Namespace: s.NS, Paging: page})
		return completed(all.Items, func(x job.Job) cli.Completed {
			return cli.Completed{Word: strconv.FormatInt(x.ID, 10), Note: x.Task + ", " + string(x.State)}
		}), err
	},
	"channel": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.Channels(ctx, view.DocumentFilter{Namespace: s.NS, Paging: page})
		return completed(all.Items, func(x alert.Channel) cli.Completed {
			return cli.Completed{Word: x.Name, Note: cmp.Or(x.Title, x.Description)}
		}), err
	},
	"hook": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.ListHooks(ctx, view.DocumentFilter{Namespace: s.NS, Paging: page})
		return completed(all.Items, func(x hook.Hook) cli.Completed {
			return cli.Completed{Word: x.Name, Note: cmp.Or(x.Title, x.Description)}
		}), err
	},
	"window": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.Windows(ctx, view.DocumentFilter{Namespace: s.NS, Paging: page})
		return completed(all.Items, func(x monitor.Window) cli.Completed {
			return cli.Completed{Word: x.Name, Note: cmp.Or(x.Title, x.Description)}
		}), err
	},
	"status-page": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.StatusPages(ctx, view.DocumentFilter{Namespace: s.NS, Paging: page})
		return completed(all.Items, func(x public.StatusPage) cli.Completed { return cli.Completed{Word: x.Name, Note: x.Title} }), err
	},
	"calendar": func(ctx context.Context, s *cli.Conn, _ string) ([]cli.Completed, error) {
		all, err := s.Calendars(ctx, schedule.CalendarFilter{Namespace: s.NS, Paging: page})
		return completed(all.Items, func(x schedule.Calendar) cli.Completed { return cli.Completed{Word: x.Name} }), err
	},
}

func tasksOf(kind task.Kind) lister {
	return func(ctx context.Context, s *cli.Conn, part string) ([]cli.Completed, error) {
		all, err := s.Tasks(ctx, task.Filter{Namespace: s.NS, Kind: kind, Part: part, Paging: page})
		return completed(all.Items, func(x task.Task) cli.Completed { return cli.Completed{Word: x.Name, Note: string(x.Kind)} }), err
	}
}

func completed[T any](all []T, say func(T) cli.Completed) (out []cli.Completed) {
	for _, one := range all {
		out = append(out, say(one))
	}
	return out
}

// nounOf is the noun of an argument or a flag, by the word that its help has for it.
var nounOf = map[string]string{"TASK": "task", "SCHEDULE": "schedule", "PAGE": "status-page", "task": "task", "schedule": "schedule", "queue": "queue",
	"blackout": "calendar", "only-within": "calendar",
	"depends-on": "monitor", "monitor": "monitor", "member": "task", "channel": "channel"}

// complete makes shells complete names of existing objects, in arguments and in flags.
func complete(c *cli.CLI, root *cobra.Command) {
	for _, group := range root.Commands() {
		for _, cmd := range append(group.Commands(), group) {
			completeArguments(c, cmd, group.Name())
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if list := listers[nounOf[f.Name]]; list != nil && f.Value.Type() != "bool" {
					_ = cmd.RegisterFlagCompletionFunc(f.Name, c.Complete(list)) // it fails for a flag that is not there
				}
			})
		}
	}
}

func completeArguments(c *cli.CLI, cmd *cobra.Command, group string) {
	words := cli.Arguments(cmd)
	for i, w := range words {
		words[i] = strings.Trim(w, "[]")
	}
	noun := func(i int) lister {
		if i >= len(words) {
			if len(words) == 0 || !strings.HasSuffix(words[len(words)-1], "...") {
				return nil
			}
			i = len(words) - 1
		}
		word, _, _ := strings.Cut(strings.TrimSuffix(words[i], "..."), "|")
		switch {
		case word == "NAME" && i == 0 && cmd.Name() != "create", word == "ID" && group == "job":
			return listers[group]
		}
		return listers[nounOf[word]]
	}
	if noun(0) == nil && noun(1) == nil {
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, part string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list := noun(len(given))
		if list == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.Complete(list)(cmd, given, part)
	}
}
