package access

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
)

// Namespace is the command namespace.
func Namespace(c *cli.CLI) *cobra.Command {
	return cli.Noun("namespace", "Manage namespaces: queues, highest priority, quotas, limits", []string{"namespaces", "ns"},
		namespaceList(c), namespaceShow(c), namespaceSet(c), namespaceLimits(c))
}

func namespaceList(c *cli.CLI) *cobra.Command {
	var every bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the namespaces that have limits", Args: cobra.NoArgs,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			list := s.Namespaces
			if every {
				list = s.AllNamespaces
			}
			all, err := list(ctx)
			if err != nil {
				return err
			}
			return c.Emit(core.Page[access.Namespace]{Items: all}, func(w io.Writer) {
				g := c.Grid("NAME", "QUEUES", "MAX PRIORITY", "QUOTAS", "LIMITS", "UPDATED", "BY")
				for _, n := range all {
					g.Row(n.Name, allowedQueues(n), maxPriorityText(n), quotaText(n), limitText(n), cli.Ago(n.UpdatedAt, s.Now), n.UpdatedBy)
				}
				g.Write(w)
			})
		}),
	}
	cmd.Flags().BoolVar(&every, "all", false, "those without limits too that have tasks or monitors")
	return cmd
}

func allowedQueues(n access.Namespace) string {
	if len(n.Queues) == 0 {
		return "all"
	}
	return strings.Join(n.Queues, ", ")
}

func maxPriorityText(n access.Namespace) string {
	if n.MaxPriority == nil {
		return "no limit"
	}
	return strconv.Itoa(*n.MaxPriority)
}

func namespaceShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Aliases: []string{"get"}, Short: "Show the limits of a namespace, and how much of its quotas it uses", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			n, err := s.Namespace(ctx, args[0])
			if err != nil {
				return err
			}
			use, err := s.QuotaUse(ctx, args[0])
			if err != nil {
				return err
			}
			return emitNamespace(c, s, n, use)
		}),
	}
}

// namespaceUse is a namespace and how much of its quotas it uses.
type namespaceUse struct {
	access.Namespace
	Use []access.QuotaUse `json:"use"`
}

func emitNamespace(c *cli.CLI, s *cli.Conn, n access.Namespace, use []access.QuotaUse) error {
	return c.Emit(namespaceUse{n, use}, func(w io.Writer) {
		pairs := []string{"name", n.Name, "queues", allowedQueues(n), "max priority", maxPriorityText(n)}
		for _, u := range use {
			pairs = append(pairs, strings.ReplaceAll(u.Quota, "_", " "), u.Text())
		}
		c.Pairs(w, append(pairs, "limits", strings.Join(define.LimitTexts(n.Limits), "\n"), "updated", cli.When(n.UpdatedAt, s.Now), "updated by", n.UpdatedBy)...)
	})
}

// quotaText returns the quotas of a namespace in one line.
func quotaText(n access.Namespace) string {
	limits := n.Quota.Limits()
	if len(limits) == 0 {
		return "none"
	}
	return strings.Join(limits, ", ")
}

// limitText returns the limits of a namespace's jobs in one line.
func limitText(n access.Namespace) string {
	if len(n.Limits) == 0 {
		return "none"
	}
	return strings.Join(define.LimitTexts(n.Limits), "; ")
}

func namespaceSet(c *cli.CLI) *cobra.Command {
	var queues, limits []string
	var maxPriority int
	var anyQueue, anyPriority bool
	var quotas quotaFlags
	cmd := &cobra.Command{
		Use: "set NAME", Aliases: []string{"update", "edit"}, Short: "Set the queues, priorities, quotas and limits of a namespace", Args: cobra.ExactArgs(1),
		Long: `Limit which queues the tasks and jobs of a namespace may use, and their highest
priority. --queue adds to the queues that are allowed; what no flag names stays as
it is. Without limits everything is allowed. Checks of monitors always have the
queue checks.

Tasks that exist must fit the limits. Jobs that exist keep their queue and
priority. A quota may be below what is used: then new things are refused, and
nothing ends. A limit holds jobs back, and refuses none: see how it is used by
belfry namespace limits NAME. Needs a token for all namespaces.`,
		Example: `  belfry namespace set team-a --queue default --queue render --max-priority 10
  belfry namespace set team-a --max-waiting 10000 --enqueue-rate 100/1s --enqueue-burst 500
  belfry namespace set team-a --max-waiting 0 --enqueue-rate ""
  belfry namespace set team-a --limit running=20
  belfry namespace set team-a --any-queue --any-priority`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if !given("queue") && !given("max-priority") && !anyQueue && !anyPriority && !given("limit") && !quotas.given(given) {
				return core.Errorf(core.Invalid, "no limit was given").WithHint("use --queue, --max-priority, --max-waiting or another flag of: belfry namespace set --help")
			}
			n, err := s.Namespace(ctx, args[0])
			if err != nil {
				return err
			}
			if anyQueue {
				n.Queues = nil
			}
			n.Queues = append(n.Queues, queues...)
			if given("max-priority") {
				n.MaxPriority = &maxPriority
			}
			if anyPriority {
				n.MaxPriority = nil
			}
			if given("limit") {
				if n.Limits, err = define.ReadLimits(limits); err != nil {
					return err
				}
			}
			if err := quotas.apply(given, &n.Quota); err != nil {
				return err
			}
			if n, err = s.SaveNamespace(ctx, n); err != nil {
				return err
			}
			return c.Emit(n, func(w io.Writer) {
				fmt.Fprintf(w, "namespace %s: queues %s, max priority %s, quotas %s, limits %s\n", n.Name, allowedQueues(n), maxPriorityText(n), quotaText(n), limitText(n))
			})
		}),
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&queues, "queue", nil, "also allow this queue; may be given more than once")
	fs.IntVar(&maxPriority, "max-priority", 0, "highest priority of its tasks and jobs")
	fs.BoolVar(&anyQueue, "any-queue", false, "allow all queues, or with --queue these alone")
	fs.BoolVar(&anyPriority, "any-priority", false, "set no highest priority")
	define.LimitFlag(fs, &limits)
	quotas.add(fs)
	cmd.MarkFlagsMutuallyExclusive("max-priority", "any-priority")
	return cmd
}

func namespaceLimits(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "limits NAME", Short: "Show how the limits of a namespace's jobs are used now, and by which keys most", Args: cobra.ExactArgs(1),
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, args []string) error {
			all, err := s.NamespaceLimitUse(ctx, args[0])
			if err != nil {
				return err
			}
			return define.EmitLimitUse(c, all, "the jobs of the namespace have no limits; try: belfry namespace set "+args[0]+" --limit running=20")
		}),
	}
}
