package windows_test

import (
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/windows"
)

func TestNoWindowCostsLittle(t *testing.T) {
	asked := windows.Request{Job: &job.Job{}}
	at := func(int) (windows.Request, bool) { return asked, true }
	if n := testing.AllocsPerRun(100, func() {
		if _, err := windows.Take(nil, 100, at); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("batch without windows: got %v allocations, want 1, of the result", n)
	}
}
