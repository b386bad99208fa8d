package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// finding is one result of doctor.
type finding struct {
	core.Check
	Warning bool          `json:"warning,omitempty"`
	Took    time.Duration `json:"took_ns,omitempty"`
	unwell  bool          // no fault of the installation, and yet something does not go on
}

type diagnosis struct {
	OK     bool      `json:"ok"`
	Where  string    `json:"where"`
	Checks []finding `json:"checks"`
}

// Doctor is the command doctor.
func Doctor(c *cli.CLI) *cobra.Command {
	var within string
	var canaryOnly bool
	var only []string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the installation from end to end", Args: cobra.NoArgs,
		Long: `Check the installation as an operator would: the database and its schema,
clocks, wake-ups, lag, workers, the place of artifacts, and one canary job on each
queue, which must be claimed and settled within a stated time. Exits with 1 and
says what to do when something is wrong.

Some bytes are stored, read and deleted to check the place of artifacts.

Needs a token with the scopes read and operate; with admin, for all namespaces,
it looks into the database too: backlog, history, dead rows, old transactions,
connections, what holds the write-ahead log, and whether this node has the key
that stored secrets are sealed with.`,
		Example: `  belfry doctor
  belfry doctor --canary-only --queue default --within 5s -o json`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, _ *cobra.Command, _ []string) error {
			limit, err := core.ParseDuration(within)
			if err != nil || limit <= 0 || limit > core.Duration(time.Hour) {
				return core.InvalidField("--within", within, "is not a span up to 1h", "such as 10s")
			}
			d := diagnosis{Where: s.Where}
			if !canaryOnly {
				d.Checks = examine(ctx, s)
			}
			d.Checks = append(d.Checks, canaries(ctx, s, only, limit.D())...)
			return tell(c, d)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&within, "within", "10s", "how long a canary may take")
	f.BoolVar(&canaryOnly, "canary-only", false, "send the canaries and check nothing else")
	f.StringSliceVar(&only, "queue", nil, "only these queues; default: all")
	return cmd
}

func good(name, format string, args ...any) finding {
	return finding{Check: core.Check{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)}}
}

func bad(name, fix, format string, args ...any) finding {
	return finding{Check: core.Check{Name: name, Detail: fmt.Sprintf(format, args...), Fix: fix}}
}

func warning(name, fix, format string, args ...any) finding {
	f := bad(name, fix, format, args...)
	f.OK, f.Warning = true, true
	return f
}

// examine makes all checks that do not run jobs.
func examine(ctx context.Context, s *cli.Conn) []finding {
	server := good("server", "%s", s.Where)
	if s.Direct {
		server = bad("server", "start it with: belfry serve", "no server runs; the database was opened directly")
	}
	begun := time.Now()
	h, err := s.Health(ctx)
	took := time.Since(begun)
	if err != nil {
		switch core.CodeOf(err) {
		case core.Unauthorized, core.Forbidden:
			return []finding{server, bad("token", "give a token that this server knows: --token or BELFRY_TOKEN", "%s", err)}
		}
		// An answer has no cause, unlike the lack of one.
		if e := (*core.Error)(nil); !s.Direct && errors.As(err, &e) && e.Code == core.Unavailable && e.Err != nil {
			return []finding{bad("server", e.Hint, "%s", e.Message)}
		}
		return []finding{server, bad("database", "see the server's log, and whether the database runs", "%s", err)}
	}
	answer := good("database", "%s, answered in %s", h.Database, core.SpanText(took))
	if room := h.Room(); !room.OK {
		answer = finding{Check: room}
	}
	answer.Took = took
	return append([]finding{server, answer, schemaFinding(h), clockFinding(h, begun, took), nodeClock(h), zonesFinding(h), wakeupFinding(h), lagFinding(h), workerFinding(h), waitingFinding(ctx, s)},
		append(databaseFindings(ctx, s), artifactsFinding(ctx, s))...)
}

// Bounds of the look for jobs that no worker can run.
const (
	lookedAt = 200 // newest ready jobs of a queue; what no worker runs stays, while others leave
	askedFor = 20  // tasks, over all queues
)

// waitingFinding finds ready jobs that no worker can run, however short they have waited.
func waitingFinding(ctx context.Context, s *cli.Conn) finding {
	const name = "waiting jobs"
	queues, err := s.Queues(ctx)
	if err != nil {
		return bad(name, "see the server's log", "%s", err)
	}
	asked := map[string]bool{}
	for _, q := range queues {
		if q.Ready == 0 || !q.PausedAt.IsZero() {
			continue
		}
		page, err := s.Jobs(ctx, job.Filter{Namespace: s.NS, Queue: q.Name, States: []job.State{job.Ready}, Paging: core.Paging{Limit: lookedAt}})
		if err != nil {
			return bad(name, "see the server's log", "%s", err)
		}
		for _, j := range page.Items {
			kind := j.Namespace + "/" + j.Task + " " + q.Name
			if asked[kind] || len(asked) == askedFor {
				continue
			}
			asked[kind] = true
			why, err := s.Why(ctx, j.Namespace, j.ID)
			if err != nil { // it may have ended and left meanwhile
				continue
			}
			if is := slices.IndexFunc(why.Checks, func(c core.Check) bool { return !c.OK }); is >= 0 && strings.HasPrefix(why.Checks[is].Name, "a worker ") {
				f := warning(name, why.Next, "no worker can run job %d of task %s in queue %s: %s", j.ID, j.Task, q.Name,
					strings.TrimSuffix(strings.TrimPrefix(why.Summary, "Waiting: "), "."))
				f.unwell = true
				return f
			}
		}
	}
	return good(name, "none lacks a worker")
}

// artifactsFinding tries whether artifacts can be stored.
func artifactsFinding(ctx context.Context, s *cli.Conn) finding {
	const name = "artifacts"
	namespace := s.NS
	if namespace == core.AnyNamespace {
		namespace = core.DefaultNamespace
	}
	check, err := s.TryArtifacts(ctx, namespace)
	switch core.CodeOf(err) {
	case "":
		check.Name = name
		return finding{Check: check, Warning: check.OK && check.Fix != ""}
	case core.NotFound:
		return good(name, "not tried, which needs a server of this version")
	case core.Forbidden:
		return good(name, "not tried, which needs a token with the scope operate")
	}
	return bad(name, "see the server's log", "%s", err)
}

// databaseFindings returns the findings of the database, without schedules,
// which are checked elsewhere.
func databaseFindings(ctx context.Context, s *cli.Conn) (found []finding) {
	d, err := s.DatabaseHealth(ctx)
	switch {
	case core.CodeOf(err) == core.Forbidden:
		return []finding{good("inside the database", "not looked at, which needs a token with the scope admin for namespace *")}
	case err != nil:
		return []finding{bad("inside the database", "see the server's log", "%s", err)}
	}
	for _, c := range d.Checks {
		if c.Name != "schedules" {
			found = append(found, finding{Check: c, Warning: c.OK && c.Fix != ""})
		}
	}
	return found
}

func schemaFinding(h view.Health) finding {
	if c := h.Schema().Check(); !c.OK {
		return finding{Check: c}
	}
	if h.SchemaVersion > h.SchemaWanted {
		return good("schema", "version %d, which this belfry, of version %d, can use", h.SchemaVersion, h.SchemaWanted)
	}
	return good("schema", "version %d", h.SchemaVersion)
}

// clockFinding compares the clock of this machine with the database clock. It
// assumes that the answer took half of the round trip.
func clockFinding(h view.Health, asked time.Time, took time.Duration) finding {
	skew := asked.Add(took / 2).Sub(h.Now)
	if skew.Abs() > view.MaxClockSkew+took {
		return warning("this machine's clock", "synchronise clocks, such as with NTP", "off by %s", core.SpanText(skew))
	}
	return good("this machine's clock", "within a second of the one that decides")
}

func nodeClock(h view.Health) finding {
	if h.ClockSkew.Abs() > view.MaxClockSkew {
		return bad("node's clock", "synchronise the clocks of nodes and database, such as with NTP", "off by %s", core.SpanText(h.ClockSkew))
	}
	return good("node's clock", "off by %s", core.SpanText(h.ClockSkew.Abs()))
}

// zonesFinding compares the node's time zone data with that of the other nodes, and with the data with which schedules
// were planned.
func zonesFinding(h view.Health) finding {
	const name = "time zones"
	switch z := h.Zones; {
	case len(z.Adopted) > 0:
		return warning(name, "update the zone data of the node's machine (the package tzdata) or Belfry, and restart the node",
			"the node's own (%s) are older than another node's, which are used instead: %s", z.Data, strings.Join(z.Adopted, " "))
	case len(z.Moving) > 0:
		return warning(name, "wait, and see: belfry audit --noun schedule", "schedules are being planned anew: %s", strings.Join(z.Moving, " "))
	default:
		return good(name, "%s, which all schedules were planned by", z.Data)
	}
}

func wakeupFinding(h view.Health) finding {
	if h.Wakeups == "poll" {
		return warning("wake-ups", "set wakeups: notify, if no pooler stands in between", "by polling: jobs start up to a second late")
	}
	return good("wake-ups", "%s", h.Wakeups)
}

// maxLag is the scheduler lag above which doctor reports a fault.
const maxLag = 10 * time.Second

func lagFinding(h view.Health) finding {
	if h.ScheduleLag > maxLag {
		return bad("schedules", "start a node with the role engine; if one runs, see its log and load", "the most overdue one waits for %s", core.SpanText(h.ScheduleLag))
	}
	if quiet := h.Quiet(); !quiet.OK {
		return warning("schedules", quiet.Fix, "the clock %s", strings.TrimPrefix(quiet.Detail, "it "))
	}
	return good("schedules", "fired on time")
}

func workerFinding(h view.Health) finding {
	if h.Workers == 0 {
		return bad("workers", "start a node with the role worker, or belfry worker", "there is none")
	}
	return good("workers", "%d", h.Workers)
}

// canaries sends a canary job to each queue, concurrently.
func canaries(ctx context.Context, s *cli.Conn, only []string, within time.Duration) []finding {
	queues, err := canaryQueues(ctx, s, only)
	if err != nil {
		return []finding{bad("canaries", "", "%s", err)}
	}
	namespace := s.NS
	if namespace == core.AnyNamespace {
		namespace = core.DefaultNamespace
	}
	limits, err := s.Namespace(ctx, namespace)
	if err != nil {
		return []finding{bad("canaries", "", "%s", err)}
	}
	found := make([]finding, len(queues))
	var all sync.WaitGroup
	for i, q := range queues {
		name := "canary on " + q.Name
		switch {
		case !q.PausedAt.IsZero():
			found[i] = warning(name, "belfry queue resume "+q.Name, "not sent: the queue was paused by %s: %s", q.PausedBy, cmp.Or(q.PausedReason, "no reason given"))
		case limits.AllowQueue(q.Name, task.CanaryTask) != nil:
			found[i] = warning(name, "belfry namespace set "+namespace+" --queue "+q.Name, "not sent: namespace %s may not use the queue", namespace)
		case s.Direct:
			found[i] = bad(name, "start it with: belfry serve", "not sent: no server runs")
		default:
			all.Go(func() { found[i] = canaryFinding(name, app.SendCanary(ctx, s, namespace, q.Name, within)) })
		}
	}
	all.Wait()
	return found
}

func canaryQueues(ctx context.Context, s *cli.Conn, only []string) ([]job.QueueStats, error) {
	if len(only) == 0 {
		return s.Queues(ctx)
	}
	var list []job.QueueStats
	for _, name := range only {
		q, err := s.Queue(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, nil
}

func canaryFinding(name string, k app.Canary) finding {
	if !k.OK {
		return bad(name, k.Fix, "%s", k.Error)
	}
	f := good(name, "job %d was claimed and settled in %s", k.JobID, core.SpanText(k.Took))
	f.Took = k.Took
	return f
}

// tell shows the diagnosis. The exit code reports whether all findings are good.
func tell(c *cli.CLI, d diagnosis) error {
	d.OK = true
	unwell := false
	for _, f := range d.Checks {
		d.OK, unwell = d.OK && f.OK, unwell || f.unwell
	}
	err := c.Emit(d, func(w io.Writer) {
		paint := c.Painter()
		for _, f := range d.Checks {
			mark := paint(cli.StyleGood, "ok  ")
			switch {
			case !f.OK:
				mark = paint(cli.StyleBad, "FAIL")
			case f.Warning:
				mark = paint(cli.StyleWarn, "note")
			}
			fmt.Fprintf(w, "%s  %s: %s\n", mark, f.Name, strings.TrimSpace(f.Detail))
			if f.Fix != "" {
				fmt.Fprintf(w, "      try: %s\n", f.Fix)
			}
		}
		switch {
		case d.OK && unwell:
			fmt.Fprintln(w, "no fault was found, but jobs wait that no worker can run")
		case d.OK:
			fmt.Fprintln(w, "all is well")
		}
	})
	if err == nil && !d.OK {
		return cli.ExitStatus(cli.ExitFailed)
	}
	return err
}
