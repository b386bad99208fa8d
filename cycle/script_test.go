package cycle

import (
	"flag"
	"os"
	"testing"
)

// TestMain asks the properties of this package more often than rapid does by
// itself, because a question costs next to nothing here.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "2000")
	}
	os.Exit(m.Run())
}
