package cycle

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs the property tests of this package more often than rapid does by
// default, because a run is cheap here.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}
