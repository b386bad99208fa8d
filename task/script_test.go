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

// TestMain asks the properties of this package more often than rapid does by
// itself, because a question costs next to nothing here.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}
