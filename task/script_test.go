package task

import (
	"flag"
	"os"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func span(text string) core.Duration {
	d, err := core.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// TestMain runs the property tests of this package more often than rapid does by
// default, because a run is cheap here.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}
