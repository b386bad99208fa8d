package monitors

import (
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core/setting"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/spf13/pflag"
)

func TestSettingsOfMonitorsAreFlags(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	var check checkFlags
	check.add(fs)
	known := map[string]bool{}
	for _, k := range task.MonitorKinds() {
		known[k.Flag] = true
		if f := fs.Lookup(k.Flag); f == nil || !strings.HasPrefix(f.Usage, "kind "+string(k.Kind)+": ") {
			t.Errorf("--%s is no flag of kind %s", k.Flag, k.Kind)
		}
		var m monitor.Monitor
		settings := m.Settings(k.Kind)
		if settings == nil {
			t.Errorf("kind %s has no settings", k.Kind)
			continue
		}
		for _, f := range k.Fields {
			if f.Path != "" && !setting.Value(settings, f.Path).IsValid() {
				t.Errorf("kind %s has no setting %s", k.Kind, f.Path)
			}
			if f.Flag == "" || f.Flag == k.Flag {
				continue
			}
			known[f.Flag] = true
			if flag := fs.Lookup(f.Flag); !strings.Contains(strings.SplitN(flag.Usage, ": ", 2)[0], "--"+k.Flag) {
				t.Errorf("--%s of kind %s: the help is %q", f.Flag, k.Kind, flag.Usage)
			}
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] && common[f.Name] == nil {
			t.Errorf("--%s belongs to no kind", f.Name)
		}
		if strings.HasPrefix(f.Usage, "of ") != (known[f.Name] && len(check.settings.Of(f.Name)) > 0) {
			t.Errorf("--%s: the help is %q", f.Name, f.Usage)
		}
		for _, k := range task.MonitorKinds() {
			of := check.settings.Of(f.Name)
			if told := strings.Contains(strings.SplitN(f.Usage, ": ", 2)[0], "--"+k.Flag); told != slices.Contains(of, "--"+k.Flag) {
				t.Errorf("--%s: the help says %q, and it belongs to %v", f.Name, f.Usage, of)
			}
		}
	})
	for name := range common {
		if fs.Lookup(name) == nil {
			t.Errorf("--%s is no flag", name)
		}
	}
}
