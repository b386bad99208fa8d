package monitors

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestSettingsOfMonitorsAreFlags(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(checkFlags).add(fs)
	var kinds []string
	for _, k := range kindFlags {
		kinds = append(kinds, k.name)
		if f := fs.Lookup(k.name); f == nil || !strings.HasPrefix(f.Usage, "kind "+string(k.kind)+": ") {
			t.Errorf("--%s is no flag of kind %s", k.name, k.kind)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(kinds, f.Name) {
			return
		}
		of := kindsOf[f.Name]
		if len(of) == 0 {
			t.Errorf("--%s belongs to no kind", f.Name)
		}
		if len(of) >= len(probed) {
			return // it is about all of them
		}
		for _, k := range kindFlags {
			if told := strings.Contains(strings.SplitN(f.Usage, ": ", 2)[0], "--"+k.name); told != slices.Contains(of, k.kind) {
				t.Errorf("--%s: the help says %q, and it belongs to %v", f.Name, f.Usage, of)
			}
		}
	})
	for name := range kindsOf {
		if fs.Lookup(name) == nil {
			t.Errorf("--%s is no flag", name)
		}
	}
}
