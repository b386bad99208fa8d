package workflow

import "testing"

// A stop that came later and asked for less must not bring back the cleanup that the first one left out.
func TestAHardStopStaysHard(t *testing.T) {
	r := &Run{}
	r.StopFor("canceled", "at once", true)
	r.StopFor("canceled", "with cleanup", false)
	if !r.hard() {
		t.Errorf("%+v", r.Stop)
	}
}
