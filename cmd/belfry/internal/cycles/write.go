package cycles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/cmd/belfry/internal/define"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// cycleFlags are the fields of a cycle that have a flag, and those of the
// schedule that goes with it. Only flags that were given change anything.
type cycleFlags struct {
	file, stagger, timeout, title, description string
	members, add, remove                       []string
	tags                                       []string
	times                                      define.Times
	zone                                       string
}

const memberHelp = `TASK,SETTING=VALUE..., with the settings every, timeout, max-attempts, on-failure and input`

func (f *cycleFlags) flags(fs *pflag.FlagSet, update bool) {
	fs.StringVarP(&f.file, "file", "f", "", "read the whole task from a YAML or JSON file; - for standard input")
	if update {
		fs.StringArrayVar(&f.members, "member", nil, "member instead of those there are, in the order of the flags: "+memberHelp)
		fs.StringArrayVar(&f.add, "add-member", nil, "member at the end, or instead of the one of the same task")
		fs.StringArrayVar(&f.remove, "remove-member", nil, "member to remove; may be repeated")
	} else {
		fs.StringArrayVar(&f.members, "member", nil, "member, in the order of the flags: "+memberHelp)
	}
	fs.StringVar(&f.stagger, "stagger", "", "longest pause before a member, the first excepted, such as 30s; default: none")
	fs.StringVar(&f.timeout, "timeout", "", "longest a run may take from its start, up to 7d; default: 24h")
	fs.StringSliceVar(&f.tags, "tag", nil, "tags, for filters")
	fs.StringVar(&f.title, "title", "", "what people call it, in any script; the name stays its address")
	fs.StringVar(&f.description, "description", "", "for people")
	fs.StringArrayVar(&f.times.Every, "every", nil, "how often it runs, such as 1h, by a schedule of the same name")
	fs.BoolVar(&f.times.AfterFinish, "after-finish", false, "count --every from the end of the run before, instead of from the plan")
	fs.StringArrayVar(&f.times.Cron, "cron", nil, "when it runs, such as '0 3 * * *', by a schedule of the same name; may be repeated")
	fs.StringVar(&f.zone, "zone", "", "time zone of --cron; default: UTC")
}

func (f *cycleFlags) timed(fs *pflag.FlagSet) bool {
	return fs.Changed("every") || fs.Changed("cron") || fs.Changed("zone") || f.times.AfterFinish
}

// apply puts the given flags into a task.
func (f *cycleFlags) apply(fs *pflag.FlagSet, t *task.Task) error {
	var cycle task.Cycle
	if t.Cycle != nil {
		cycle = *t.Cycle
		cycle.Members = slices.Clone(cycle.Members)
	}
	if fs.Changed("member") {
		cycle.Members = nil
		for _, text := range f.members {
			m, err := memberOf("--member", text)
			if err != nil {
				return err
			}
			cycle.Members = append(cycle.Members, m)
		}
	}
	if err := f.applyEdits(&cycle); err != nil {
		return err
	}
	cli.Set(fs.Changed("tag"), f.tags, &t.Tags)
	cli.Set(fs.Changed("title"), f.title, &t.Title)
	cli.Set(fs.Changed("description"), f.description, &t.Description)
	t.Cycle = &cycle
	if err := cli.Duration(fs.Changed, "timeout", f.timeout, &t.Timeout); err != nil {
		return err
	}
	return cli.Duration(fs.Changed, "stagger", f.stagger, &cycle.Stagger)
}

func (f *cycleFlags) applyEdits(cycle *task.Cycle) error {
	place := func(name string) int {
		return slices.IndexFunc(cycle.Members, func(m task.Member) bool { return m.Task == name })
	}
	for _, name := range f.remove {
		i := place(name)
		if i < 0 {
			return core.InvalidField("--remove-member", name, "is not a member", "see: belfry cycle show NAME")
		}
		cycle.Members = slices.Delete(cycle.Members, i, i+1)
	}
	for _, text := range f.add {
		m, err := memberOf("--add-member", text)
		if err != nil {
			return err
		}
		if i := place(m.Task); i >= 0 {
			cycle.Members[i] = m
		} else {
			cycle.Members = append(cycle.Members, m)
		}
	}
	return nil
}

var memberSettings = []string{"every", "timeout", "max-attempts", "on-failure", "input"}

// memberOf reads a member from a flag. All text after input= is the input,
// because JSON contains commas.
func memberOf(flag, text string) (task.Member, error) {
	name, rest, _ := strings.Cut(text, ",")
	m := task.Member{Task: strings.TrimSpace(name)}
	if m.Task == "" || strings.Contains(m.Task, "=") {
		return m, core.InvalidField(flag, text, "does not begin with the name of a task", "such as "+flag+" report,every=24h")
	}
	for rest != "" {
		var setting string
		setting, rest, _ = strings.Cut(rest, ",")
		key, value, found := strings.Cut(setting, "=")
		key = strings.ReplaceAll(strings.TrimSpace(key), "_", "-")
		if key == "input" && rest != "" {
			value, rest = value+","+rest, ""
		}
		if !slices.Contains(memberSettings, key) {
			hint := "one of " + strings.Join(memberSettings, ", ")
			if s := config.Suggest(key, memberSettings); s != "" {
				hint = "did you mean " + s + "?"
			}
			return m, core.InvalidField(flag, setting, "is not a setting of a member", hint)
		}
		if !found || value == "" {
			return m, core.InvalidField(flag, setting, "has no value", "such as "+key+"="+map[string]string{
				"every": "24h", "timeout": "10m", "max-attempts": "3", "on-failure": "stop", "input": `{"full": true}`}[key])
		}
		if err := setMember(&m, key, value); err != nil {
			return m, core.InvalidField(flag, setting, err.Error(), "")
		}
	}
	return m, nil
}

func setMember(m *task.Member, key, value string) (err error) {
	switch key {
	case "every":
		m.Every, err = core.ParseDuration(value)
	case "timeout":
		m.Timeout, err = core.ParseDuration(value)
	case "max-attempts":
		if m.MaxAttempts, err = strconv.Atoi(value); err != nil || m.MaxAttempts < 1 {
			err = errors.New("is not a number of attempts, at least 1")
		}
	case "on-failure":
		if m.OnFailure = task.OnFailure(value); m.OnFailure != task.FailureContinue && m.OnFailure != task.FailureStop {
			err = errors.New("is neither continue nor stop")
		}
	case "input":
		if m.Input = json.RawMessage(value); !json.Valid(m.Input) {
			err = errors.New("is not JSON")
		}
	}
	return err
}

// cycleFrom builds a cycle from a file, a name and flags.
func cycleFrom(c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *cycleFlags, args []string) (task.Task, error) {
	var t task.Task
	if err := c.Draft(s, f.file, "task", args, &t, &t.Name, &t.Namespace); err != nil {
		return t, err
	}
	switch {
	case t.Name == "":
		return t, core.InvalidField("NAME", "", "is missing", "write: belfry cycle create NAME --member TASK --member TASK")
	case f.file != "" && t.Cycle == nil:
		return t, core.InvalidField("cycle", "", "is missing in "+f.file, "such as cycle: {members: [{task: backup}]}")
	case f.file == "" && len(f.members) == 0:
		return t, core.InvalidField("--member", "", "is missing", "such as --member backup --member report,every=24h")
	}
	return t, f.apply(cmd.Flags(), &t)
}

func cycleCreate(c *cli.CLI) *cobra.Command {
	var f cycleFlags
	cmd := &cobra.Command{
		Use: "create NAME --member TASK[,SETTING=VALUE...]... [--every INTERVAL | --cron RULE]", Short: "Create a cycle of tasks that exist", Args: cobra.MaximumNArgs(1),
		Long: `Create a cycle: a task that runs others, one after another, in the order of the
flags. Settings of a member count in this cycle, instead of the task's own:

  every         least time between two runs that succeeded, from start to start;
                without it the member runs in each cycle
  timeout       longest an attempt may take
  max-attempts  how often it is tried
  on-failure    continue with the next member (the default), or stop
  input         JSON for its job; the last setting, because JSON has commas

With --every or --cron a schedule of the same name is created with it, in one
transaction. Without, it runs when a schedule or a request starts it.`,
		Example: `  belfry cycle create nightly --member backup --member report,every=24h,timeout=10m,max-attempts=3,on-failure=stop --member cleanup --cron '0 3 * * *' --zone Europe/Sofia
  belfry cycle create sync --member pull --member 'push,input={"full": true}' --stagger 30s --every 10m --after-finish
  belfry cycle create -f cycle.yaml`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			t, err := cycleFrom(c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			if !f.timed(cmd.Flags()) {
				if t, err = s.CreateTask(ctx, t); err != nil {
					return err
				}
				return cycleSaved(ctx, c, s, t, "created")
			}
			sc := schedule.Schedule{Namespace: t.Namespace, Name: t.Name, Task: t.Name}
			return saveTimed(ctx, c, s, cmd, &f, t, sc, "created")
		}),
	}
	f.flags(cmd.Flags(), false)
	return cmd
}

// saveTimed saves a cycle and its schedule in one transaction.
func saveTimed(ctx context.Context, c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *cycleFlags, t task.Task, sc schedule.Schedule, done string) error {
	cli.Set(cmd.Flags().Changed("zone"), f.zone, &sc.Zone)
	if err := f.times.Apply(cmd.Flags().Changed, &sc); err != nil {
		return err
	}
	if len(sc.Rules) == 0 {
		return core.InvalidField("--zone", f.zone, "belongs to --cron", "such as --cron '0 3 * * *' --zone Europe/Sofia")
	}
	m := view.Manifest{Tasks: []task.Task{t}, Schedules: []schedule.Schedule{sc}}
	if done == "created" {
		plan, err := s.Apply(ctx, m, view.ApplyOptions{Namespace: t.Namespace, DryRun: true})
		if err != nil {
			return withoutPlaces(err)
		}
		for _, ch := range plan.Changes {
			if ch.Action != view.ActionCreate {
				return core.Errorf(core.Conflict, "%s %q exists already", ch.Noun, ch.Name).WithHint("belfry cycle update %s, or another name", ch.Name)
			}
		}
	}
	if _, err := s.Apply(ctx, m, view.ApplyOptions{Namespace: t.Namespace}); err != nil {
		return withoutPlaces(err)
	}
	return cycleSaved(ctx, c, s, t, done)
}

// withoutPlaces removes the list prefix of fields in an error: the user has
// entered one definition, not a list of tasks.
func withoutPlaces(err error) error {
	var be *core.Error
	if !errors.As(err, &be) {
		return err
	}
	out := *be
	out.Fields = slices.Clone(be.Fields)
	for i, f := range out.Fields {
		for _, list := range []string{"tasks[0].", "schedules[0]."} {
			f.Field = strings.TrimPrefix(f.Field, list)
		}
		out.Fields[i] = f
	}
	return &out
}

// cycleSaved shows a saved cycle and its next run.
func cycleSaved(ctx context.Context, c *cli.CLI, s *cli.Conn, t task.Task, done string) error {
	v, err := s.CycleStatus(ctx, t.Namespace, t.Name)
	if err != nil {
		return err
	}
	return c.Emit(v, func(w io.Writer) {
		next := "none: no schedule runs it"
		if !v.NextAt.IsZero() {
			next = cli.When(v.NextAt, s.Now)
		}
		fmt.Fprintf(w, "cycle %s %s, %s, next run %s\n", t.Name, done, core.Plural(len(v.Members), "member"), next)
		switch {
		case v.Run != nil:
			fmt.Fprintf(c.Stderr, "note: job %d is under way and goes on as it began\n", v.Run.JobID)
		case v.NextAt.IsZero():
			fmt.Fprintf(c.Stderr, "try: belfry cycle run %s --wait, or belfry schedule create %s --task %s --every 1h\n", t.Name, t.Name, t.Name)
		}
	})
}

func cycleUpdate(c *cli.CLI) *cobra.Command {
	var f cycleFlags
	cmd := &cobra.Command{
		Use: "update NAME [flags]", Aliases: []string{"edit", "set"}, Short: "Change a cycle from its next run on; what no flag names stays as it is", Args: cobra.MaximumNArgs(1),
		Long: `Change a cycle. What no flag names stays as it is. A run under way goes on as it
began: the change counts from the next one on. When members last succeeded is
kept.

--every, --cron and --zone change the schedule of the same name, or create it.`,
		Example: `  belfry cycle update nightly --add-member audit,every=7d --remove-member report
  belfry cycle update nightly --cron '0 4 * * *' --zone Europe/Sofia`,
		RunE: c.Verb(func(ctx context.Context, s *cli.Conn, cmd *cobra.Command, args []string) error {
			t, err := cycleToUpdate(ctx, c, s, cmd, &f, args)
			if err != nil {
				return err
			}
			if !f.timed(cmd.Flags()) {
				if t, err = s.UpdateTask(ctx, t); err != nil {
					return err
				}
				return cycleSaved(ctx, c, s, t, "updated")
			}
			sc, err := s.Schedule(ctx, t.Namespace, t.Name)
			switch {
			case core.CodeOf(err) == core.NotFound:
				sc = schedule.Schedule{Namespace: t.Namespace, Name: t.Name, Task: t.Name}
			case err != nil:
				return err
			case sc.Task != t.Name:
				return core.Errorf(core.Conflict, "schedule %q runs task %q", sc.Name, sc.Task).WithHint("belfry schedule create OTHER-NAME --task %s", t.Name)
			}
			return saveTimed(ctx, c, s, cmd, &f, t, sc, "updated")
		}),
	}
	f.flags(cmd.Flags(), true)
	return cmd
}

func cycleToUpdate(ctx context.Context, c *cli.CLI, s *cli.Conn, cmd *cobra.Command, f *cycleFlags, args []string) (task.Task, error) {
	if f.file != "" {
		return cycleFrom(c, s, cmd, f, args)
	}
	if len(args) == 0 {
		return task.Task{}, core.InvalidField("NAME", "", "is missing", "see: belfry cycle list")
	}
	v, err := statusOf(ctx, s, args[0]) // fails if the task is not a cycle
	if err != nil {
		return task.Task{}, err
	}
	return v.Task, f.apply(cmd.Flags(), &v.Task)
}
