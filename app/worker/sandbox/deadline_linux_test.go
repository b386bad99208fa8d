package sandbox_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// The init enforces the deadline of a run. The last deadline counts, later or earlier.
func TestARunEndsWithItsTime(t *testing.T) {
	alsoInGVisor(t, sandbox.None, func(t *testing.T, w world) {
		mark := rand.Text()
		a := w.attack("sleep", mark)
		a.Until = time.Now().Add(time.Hour)
		r := a.start(t, w)
		r.KeepUntil(time.Now().Add(2 * time.Hour))
		r.KeepUntil(time.Now())
		result, err := r.Wait()
		if err != nil || !result.Expired || result.Signal != "SIGKILL" {
			t.Errorf("%+v %v", result, err)
		}
		if left := marked(mark); len(left) > 0 {
			t.Error("left:", left)
		}
		nothingIsLeft(t, w)
	})
}

func TestARunMayEndBeforeItsTime(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("exit", "3")
		a.Until = time.Now().Add(time.Hour)
		r := a.start(t, w)
		r.KeepUntil(time.Now().Add(2 * time.Hour))
		if result, err := r.Wait(); err != nil || result.Expired || result.ExitCode != 3 {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// A time that is over when the run starts ends it too, while it is set up or right after.
func TestARunIsNotStartedAfterItsTime(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		a := w.attack("sleep", rand.Text())
		a.Until = time.Now().Add(-time.Hour)
		r, err := w.open(t).Start(context.Background(), a.Spec)
		if err == nil {
			var result sandbox.Result
			if result, err = r.Wait(); err != nil || !result.Expired {
				t.Errorf("%+v %v", result, err)
			}
		}
		nothingIsLeft(t, w)
	})
}
