package monitors

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// checkFlags are the flags of a monitor's check: one flag for the kind and the
// target, and the settings of that kind.
type checkFlags struct {
	settings             cli.Settings
	conditions, warnings []string
	timeout, queue       string
}

func (f *checkFlags) add(fs *pflag.FlagSet) {
	f.settings = cli.Settings{
		Said: "kind %: ", And: ", ", Missing: "say what to look at: one of ", Twice: "a monitor has exactly one kind",
	}
	for _, k := range task.MonitorKinds() {
		f.settings.Kinds = append(f.settings.Kinds, cli.KindFlags{Kind: string(k.Kind), Flag: k.Flag, Fields: k.Fields})
	}
	f.settings.Add(fs)
	fs.StringArrayVar(&f.conditions, "condition", nil, "expression that must hold of the answer, such as 'status == 200' or \"latency < duration('500ms')\"; may be repeated")
	fs.StringArrayVar(&f.warnings, "warning", nil, "expression that should hold; the target is degraded otherwise; may be repeated")
	fs.StringVar(&f.timeout, "timeout", "", "longest a check may take; default: 10s")
	fs.StringVar(&f.queue, "queue", "", "lane of the checks; default: checks")
}

// common holds flags that many kinds share, with a function that reports whether a kind has the flag.
var common = map[string]func(k task.KindInfo) bool{
	"condition": func(k task.KindInfo) bool { return k.Values != "" }, "warning": func(k task.KindInfo) bool { return k.Values != "" },
	"timeout": func(k task.KindInfo) bool { return k.Kind != task.KindHeartbeat }, "queue": func(k task.KindInfo) bool { return k.Kind != task.KindHeartbeat },
}

// kindOf returns the kind of a monitor, or "" if it is unknown.
func kindOf(m monitor.Monitor) task.Kind {
	if k := m.WithDefaults().Kind(); k != task.KindFunc {
		return k
	}
	return ""
}

// applyCheck puts the given flags into a monitor.
func (f *checkFlags) applyCheck(c *cli.CLI, fs *pflag.FlagSet, m *monitor.Monitor) error {
	given := fs.Changed
	kind, err := f.kind(fs, m)
	if err != nil {
		return err
	}
	if err := f.belongs(given, kind); err != nil {
		return err
	}
	cli.Set(given("condition"), f.conditions, &m.Check.Conditions)
	cli.Set(given("warning"), f.warnings, &m.Check.Warnings)
	cli.Set(given("queue"), f.queue, &m.Check.Queue)
	if err := cli.Duration(given, "timeout", f.timeout, &m.Check.Timeout); err != nil {
		return err
	}
	return f.settings.Apply(c, given, string(kind), m.Settings(kind))
}

// kind returns the kind that the flags select, or else the monitor's. A change of
// the kind drops the settings of the old kind.
func (f *checkFlags) kind(fs *pflag.FlagSet, m *monitor.Monitor) (task.Kind, error) {
	before := kindOf(*m)
	asked, flag, err := f.settings.Kind(fs.Changed, string(before))
	kind := task.Kind(asked)
	switch {
	case err != nil || flag == "":
		return kind, err
	case fs.Lookup(flag).Value.String() == "false":
		return "", core.InvalidField("--"+flag, "false", "means nothing", "name another kind instead")
	case kind != before:
		m.Check = task.Task{Queue: m.Check.Queue, Timeout: m.Check.Timeout}
		m.Heartbeat = nil
	}
	return kind, nil
}

// belongs refuses a setting of another kind.
func (f *checkFlags) belongs(given func(string) bool, kind task.Kind) error {
	stray, of := f.settings.Stray(given, string(kind))
	for _, name := range slices.Sorted(maps.Keys(common)) {
		if stray == "" && given(name) && !common[name](kind.Info()) {
			stray, of = name, f.having(common[name])
		}
	}
	if stray == "" {
		return nil
	}
	return core.InvalidField("--"+stray, "", "does not belong to a monitor of kind "+string(kind), "it belongs to "+strings.Join(of, ", "))
}

// having lists the flags of the kinds for which is returns true.
func (f *checkFlags) having(is func(k task.KindInfo) bool) (flags []string) {
	for _, k := range f.settings.Kinds {
		if is(task.Kind(k.Kind).Info()) {
			flags = append(flags, "--"+k.Flag)
		}
	}
	return flags
}

// changed reports whether a flag of the check was given.
func (f *checkFlags) changed(given func(string) bool) bool {
	return f.settings.Changed(given) || slices.ContainsFunc(slices.Collect(maps.Keys(common)), given)
}
