// Package workflows has the command workflow. Each noun has a file, and each
// verb a function. They talk to the server through package cli, which also
// prints tables and JSON, and know no other package of commands.
package workflows

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

// Workflow is the command workflow.
func Workflow(c *cli.CLI) *cobra.Command {
	return cli.Noun("workflow", "Run workflows, and answer their signals and approvals", []string{"workflows"},
		workflowList(c), workflowRun(c), workflowShow(c), workflowItems(c), workflowSignal(c), workflowApprove(c), workflowReject(c), workflowLink(c), workflowUnlink(c), workflowRetry(c), workflowCancel(c))
}

func workflowList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List workflows", Args: cobra.NoArgs}
	limit := cli.LimitFlag(cmd)
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[task.Task], error) {
			return s.Tasks(ctx, task.Filter{Paging: pg, Namespace: s.NS, Kind: task.KindWorkflow})
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			if len(p.Items) == 0 {
				fmt.Fprintln(c.Stderr, "no workflows; write one in a file and: belfry apply -f FILE")
				return
			}
			g := c.Grid("NAME", "?TITLE", "STEPS", "DESCRIPTION")
			for _, t := range p.Items {
				g.Row(s.Label(t.Namespace, t.Name), cli.Clip(t.Title, 40), fmt.Sprint(len(t.Workflow.Steps)), core.OneLine(t.Description))
			}
			g.Write(w)
		})
	})
	return cmd
}

// runOf reads the number of a run, and returns it with its namespace.
func runOf(s *cli.Conn, arg string) (ns string, id int64, err error) {
	if id, err = job.IDFromText("RUN", arg); err != nil {
		return "", 0, err
	}
	return s.NS, id, nil
}

func workflowShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Aliases: []string{"get", "status", "why"}, Short: "Show a run: its steps, and what it waits for", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, id, err := runOf(s, args[0])
			if err != nil {
				return err
			}
			v, err := s.WorkflowRun(ctx, ns, id)
			if err != nil {
				return err
			}
			return c.Emit(v, func(w io.Writer) { draw(c, w, v, s.Now) })
		}),
	}
}

func draw(c *cli.CLI, w io.Writer, v workflow.Status, now time.Time) {
	r := v.Run
	state := "under way"
	if !r.EndedAt.IsZero() {
		state = "ended " + cli.Ago(r.EndedAt, now)
	}
	parent := ""
	if r.Parent != 0 {
		parent = fmt.Sprintf("run %d", r.Parent)
	}
	retries := ""
	if r.Retries > 0 {
		retries = fmt.Sprint(r.Retries)
	}
	c.Pairs(w, "run", fmt.Sprint(r.JobID), "workflow", r.Workflow, "namespace", r.Namespace, "state", state, "started", cli.When(r.StartedAt, now),
		"step of", parent, "retries", retries, "waits for", v.Why, "input", cli.Clip(string(v.Plan.Input), 200), "output", cli.Clip(string(v.Output), 200))
	fmt.Fprintln(w)
	g, paint := c.Grid("STEP", "STATE", "ITEMS", "JOB", "DURATION", "NEEDS", "WHY"), c.Painter()
	for i, s := range r.Steps {
		items, id, took := "", "", ""
		if s.Total+s.Kept > 0 && v.Plan.Workflow.Steps[i].Many() {
			items = fmt.Sprintf("%d of %d", s.OK+s.Failed+s.Canceled+s.Kept, s.Total+s.Kept)
		}
		if s.JobID != 0 {
			id = fmt.Sprint(s.JobID)
		}
		if !s.Since.IsZero() && !s.EndedAt.IsZero() {
			took = core.SpanText(s.EndedAt.Sub(s.Since))
		}
		why := cmp.Or(s.Error, s.Reason)
		if s.By != "" && s.Error == "" {
			why = strings.TrimSuffix("by "+s.By+": "+s.Note, ": ")
		}
		if s.State == workflow.Waiting {
			why = cmp.Or(why, v.Plan.Workflow.Steps[i].Approval)
			defer fmt.Fprintf(c.Stderr, "try: %s\n", answer(r.JobID, v.Plan.Workflow.Steps[i]))
		}
		g.Row(s.Name, paint(cli.StateStyle(string(s.State)), string(s.State)), items, id, took, strings.Join(v.Plan.Workflow.Steps[i].Needs, ", "), cli.Clip(why, 200))
	}
	g.Write(w)
}

func workflowItems(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "items RUN STEP", Short: "List the jobs of a step", Args: cobra.ExactArgs(2)}
	limit := cli.LimitFlag(cmd)
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
		ns, id, err := runOf(s, args[0])
		if err != nil {
			return err
		}
		p, err := cli.AllPages(*limit, func(pg core.Paging) (core.Page[workflow.Item], error) {
			return s.WorkflowItems(ctx, ns, id, args[1], pg)
		})
		if err != nil {
			return err
		}
		defer c.More(p.Next, len(p.Items))
		return c.Emit(p, func(w io.Writer) {
			g := c.Grid("ITEM", "JOB", "STATE", "ATTEMPTS", "FINISHED", "ERROR")
			for _, i := range p.Items {
				g.Row(fmt.Sprint(i.Item), fmt.Sprint(i.JobID), i.State, fmt.Sprint(i.Attempts), cli.Ago(i.EndedAt, s.Now), cli.Clip(i.Error, 200))
			}
			g.Write(w)
		})
	})
	return cmd
}

func send(c *cli.CLI, use, short string, n int, signal func(args []string) (workflow.Signal, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(n),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, id, err := runOf(s, args[0])
			if err != nil {
				return err
			}
			sig, err := signal(args)
			if err != nil {
				return err
			}
			sent, err := s.SendSignal(ctx, ns, id, sig)
			if err != nil {
				return err
			}
			return c.Emit(sent, func(w io.Writer) {
				switch {
				case sent.Existing:
					fmt.Fprintf(w, "%s was there already\n", sig.Name)
				case sent.Taken:
					fmt.Fprintf(w, "%s taken by run %d\n", sig.Name, id)
				default:
					fmt.Fprintf(w, "%s kept until a step of run %d waits for it\n", sig.Name, id)
				}
			})
		}),
	}
}

func workflowSignal(c *cli.CLI) *cobra.Command {
	var input, id string
	cmd := send(c, "signal RUN NAME", "Send a signal to a run", 2, func(args []string) (workflow.Signal, error) {
		var raw json.RawMessage
		err := cli.JSONText(input != "", input, &raw)
		return workflow.Signal{Name: args[1], ID: id, Input: raw}, err
	})
	cmd.Flags().StringVar(&input, "input", "", "what it brings, as JSON of at most 64 KiB")
	cmd.Flags().StringVar(&id, "id", "", "a second signal with this id changes nothing; default: each counts")
	return cmd
}

func workflowApprove(c *cli.CLI) *cobra.Command {
	var note string
	cmd := send(c, "approve RUN STEP", "Approve a step", 2, func(args []string) (workflow.Signal, error) {
		return workflow.Signal{Name: args[1], Note: note}, nil
	})
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the run and in the audit")
	return cmd
}

func workflowReject(c *cli.CLI) *cobra.Command {
	var note string
	cmd := send(c, "reject RUN STEP", "Reject a step, which fails", 2, func(args []string) (workflow.Signal, error) {
		return workflow.Signal{Name: args[1], Note: note, Reject: true}, nil
	})
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the run and in the audit")
	return cmd
}

func workflowLink(c *cli.CLI) *cobra.Command {
	var l job.Link
	var valid string
	cmd := &cobra.Command{
		Use: "link RUN NAME", Short: "Make an address at which a signal or approval is answered without a token", Args: cobra.ExactArgs(2),
		Long: `Make an address at which one signal or approval of a run is answered without a token.
A person sees the question there; a program posts JSON to it. Anyone who has the address
can answer until it expires, is taken back or the run ends. It is shown this once.`,
		Example: `  belfry workflow link 17 release --for ann@example.com --valid 12h
  curl --json '{"reject": false, "note": "tests are green"}' ADDRESS
  curl --json '{"amount": 5}' ADDRESS?id=p-1`,
	}
	cmd.Flags().StringVar(&l.For, "for", "", "person or system that it is for; kept with the answer")
	cmd.Flags().StringVar(&valid, "valid", "", "how long it is valid, such as 12h; default: 7 days; at most 90 days")
	cmd.RunE = c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
		ns, id, err := runOf(s, args[0])
		if err != nil {
			return err
		}
		if err := cli.Duration(cmd.Flags().Changed, "valid", valid, &l.Valid); err != nil {
			return err
		}
		if err := l.CheckGiven(cmd.Flags().Changed); err != nil {
			return err
		}
		l.Name = args[1]
		made, err := s.MakeLink(ctx, ns, id, l)
		if err != nil {
			return err
		}
		return c.Emit(made, func(w io.Writer) { fmt.Fprintln(w, c.Address(s, made.Path)) })
	})
	return cmd
}

func workflowUnlink(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "unlink RUN [NAME]", Short: "Take back the links of a run, or those of one signal or approval", Args: cobra.RangeArgs(1, 2),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, id, err := runOf(s, args[0])
			if err != nil {
				return err
			}
			out, err := s.DeleteLinks(ctx, ns, id, strings.Join(args[1:], ""))
			if err != nil {
				return err
			}
			return c.Emit(out, func(w io.Writer) { fmt.Fprintf(w, "%s of run %d taken back\n", core.Plural(out.Links, "link"), id) })
		}),
	}
}

func workflowRetry(c *cli.CLI) *cobra.Command {
	var r workflow.Retrying
	var input string
	cmd := &cobra.Command{
		Use: "retry RUN", Short: "Retry the steps of an ended run that did not succeed", Args: cobra.ExactArgs(1),
		Long: `Have a run that ended go on. Steps that succeeded are kept, and those that did not
are begun again, as is cleanup. With --from that step and all behind it are begun
again, whatever came of them.`,
		Example: `  belfry workflow retry 17
  belfry workflow retry 17 --from load --input '{"day": "monday"}'`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, id, err := runOf(s, args[0])
			if err != nil {
				return err
			}
			if err := cli.JSONText(input != "", input, &r.Input); err != nil {
				return err
			}
			existing, err := s.RetryWorkflow(ctx, ns, id, r)
			if err != nil {
				return err
			}
			v, err := s.WorkflowRun(ctx, ns, id)
			if err != nil {
				return err
			}
			return c.Emit(workflow.Retried{Status: v, Existing: existing}, func(w io.Writer) {
				if existing {
					fmt.Fprintf(w, "run %d was retried already, with the same key\n", id)
					return
				}
				fmt.Fprintf(w, "run %d goes on\n", id)
			})
		}),
	}
	cmd.Flags().StringVar(&r.From, "from", "", "step to begin at; default: those that did not succeed")
	cmd.Flags().StringVar(&input, "input", "", "input of the workflow as JSON; default: as it was")
	cmd.Flags().StringVar(&r.Note, "note", "", "why; kept in the audit")
	cmd.Flags().StringVar(&r.Key, "key", "", cli.RetryKey("run"))
	return cmd
}

func workflowCancel(c *cli.CLI) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "cancel RUN", Short: "End a run: its steps are asked to end, and cleanup runs", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			ns, id, err := runOf(s, args[0])
			if err != nil {
				return err
			}
			done, err := s.CancelJobs(ctx, ns, view.Selection{IDs: []int64{id}, Note: note})
			if err != nil {
				return err
			}
			return c.Selected(done, "run", "was asked to end", true)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the run")
	return cmd
}
