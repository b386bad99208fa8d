package sandbox

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// A worker with a low limit of open files is told to raise it, and not that it needs to be root.
func TestReasonNamesALowLimit(t *testing.T) {
	const hint, root = "raise it (ulimit -H", "neither root"
	for _, c := range []struct {
		fault    isolation.Fault
		has, not string
	}{
		{isolation.Fault{Step: isolation.StepRlimit, Text: "open files", Err: unix.EPERM}, hint, root},
		{isolation.Fault{Step: isolation.StepRlimit, Text: "open files", Err: unix.EINVAL}, "invalid argument", hint},
		{isolation.Fault{Step: "setuid", Err: unix.EPERM}, root, hint},
	} {
		if got := reason(&c.fault); !strings.Contains(got, c.has) || strings.Contains(got, c.not) {
			t.Errorf("got %q, want it with %q and without %q", got, c.has, c.not)
		}
	}
}
