package jobs

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// bulk returns a verb that changes many jobs: cancel or retry.
func bulk(c *cli.CLI, use, short, done string, states []job.State, do func(ctx context.Context, s *cli.Conn, sel view.Selection) (view.Selected, error)) (cmd *cobra.Command, key *string) {
	var f jobFilter
	var all, dry bool
	var note string
	key = new(string)
	cmd = &cobra.Command{Use: use, Short: short}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "all that the other flags choose, instead of ids")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which jobs it would be")
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the jobs")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		sel, err := selection(s, &f, args, all, states)
		if err != nil {
			return err
		}
		sel.DryRun, sel.Note, sel.Key = dry, note, *key
		return selected(ctx, c, s, sel, done, do)
	})
	return cmd, key
}

func selection(s *cli.Conn, f *jobFilter, args []string, all bool, states []job.State) (view.Selection, error) {
	if !all && len(args) == 0 {
		return view.Selection{}, core.InvalidField("ID", "", "is missing", "give job ids, or --all with a search such as 'task:backup state:failed' or flags such as --task and --state")
	}
	if !all {
		ids, err := jobIDs(args)
		return view.Selection{IDs: ids}, err
	}
	filter, err := f.filter(s, args)
	if len(filter.States) == 0 {
		filter.States = states
	}
	return view.Selection{Filter: &filter}, err
}

// selected repeats a bulk action until the filter finds no more jobs. It shows
// the changed jobs also if the action fails for others.
func selected(ctx context.Context, c *cli.CLI, s *cli.Conn, sel view.Selection, done string, do func(ctx context.Context, s *cli.Conn, sel view.Selection) (view.Selected, error)) error {
	all := view.Selected{IDs: []int64{}, Left: map[int64]string{}}
	var broken error
	for {
		r, err := do(ctx, s, sel)
		if err != nil {
			broken = err
			break
		}
		all.IDs, all.Existing = append(all.IDs, r.IDs...), append(all.Existing, r.Existing...)
		for id, why := range r.Left {
			all.Left[id] = why
		}
		if all.More, all.Next, sel.Cursor = r.More, r.Next, r.Next; !r.More || sel.DryRun || r.Next == "" {
			break
		}
	}
	if broken != nil && len(all.IDs)+len(all.Left)+len(all.Existing) == 0 {
		return broken
	}
	if sel.DryRun {
		done = "would be " + done
	}
	return cmp.Or(broken, c.Selected(all, "job", done, len(sel.IDs) > 0))
}

func jobIDs(args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, a := range args {
		id, err := job.IDFromText("ID", a)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func jobCancel(c *cli.CLI) *cobra.Command {
	live := []job.State{job.Waiting, job.Scheduled, job.Ready, job.Running}
	cmd, _ := bulk(c, "cancel [ID...]", "End jobs: those that wait at once, those that run soon", "canceled", live,
		func(ctx context.Context, s *cli.Conn, sel view.Selection) (view.Selected, error) {
			return s.CancelJobs(ctx, s.NS, sel)
		})
	return cmd
}

func jobRetry(c *cli.CLI) *cobra.Command {
	cmd, key := bulk(c, "retry [ID...]", "Give failed and canceled jobs all their attempts again", "retried", []job.State{job.Failed},
		func(ctx context.Context, s *cli.Conn, sel view.Selection) (view.Selected, error) {
			return s.RetryJobs(ctx, s.NS, sel)
		})
	cmd.Flags().StringVar(key, "key", "", cli.RetryKey("job"))
	return cmd
}
