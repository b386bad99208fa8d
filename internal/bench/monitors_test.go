//go:build linux

package bench

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/task"
)

func TestATargetRemembersWhoAsked(t *testing.T) {
	target, err := StartTarget(3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := []int64{0, 1, 2, 7}
	for _, i := range want {
		answer, err := http.Get(target.URL(int(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("monitor %d: %s %v", i, answer.Status, err)
		}
	}
	seen, err := target.Seen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, a := range seen {
		got = append(got, a.Monitor)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if again, err := target.Seen(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("then %v %v", again, err)
	}
}

func TestMonitorsAreWatchedOnANodeThatLeavesAndComesBack(t *testing.T) {
	program, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	onBoth(t, func(t *testing.T, s *Site) {
		t.Parallel()
		o := Watch{Monitors: 5, Every: time.Second, Hosts: 2, Warm: 2 * time.Second, For: 2 * time.Second, Away: time.Second, Back: 5 * time.Second}
		w, err := o.Run(t.Context(), s, program)
		if err != nil {
			t.Fatal(err)
		}
		if w.Return.CaughtUp+w.Return.Others != o.Monitors || w.Return.After.N == 0 || w.Memory == 0 {
			t.Errorf("%+v", w)
		}
	})
}

func TestRequestsAreMeasuredByTheirDistances(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	at := func(monitor int64, ms int) Arrival {
		return Arrival{monitor, begin.Add(time.Duration(ms) * time.Millisecond).UnixNano()}
	}
	seen := []Arrival{at(1, 0), at(2, 300), at(1, 1100), at(2, 1250), at(1, 2050), at(3, 2100)}
	want := []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}
	if got := Uneven(seen, time.Second); !slices.Equal(got, want) {
		t.Errorf("uneven by %v, want %v", got, want)
	}
	if least, most := Seconds(append(seen, at(1, -1), at(2, 3500)), begin.Add(-time.Millisecond), begin.Add(4*time.Second+time.Millisecond)); least != 1 || most != 2 {
		t.Errorf("%d to %d in a second that is whole", least, most)
	}
	if least, most := Seconds(seen, begin, begin.Add(3*time.Second)); least != 2 || most != 2 {
		t.Errorf("%d to %d in a second", least, most)
	}
}

func TestChecksThatAreNotAsTheyShouldBeAreCounted(t *testing.T) {
	o := Watch{Monitors: 4, Every: time.Minute, For: 2 * time.Minute}
	ok := func(monitor int64) result { return result{monitor: monitor, outcome: task.CheckOK} }
	bad := result{monitor: 3, outcome: task.CheckFail}
	// The first is as it should be, the second was left out once, the third failed once, the fourth was never made.
	if got := o.astray([]result{ok(1), ok(1), ok(2), ok(3), bad}); got != 1+1+2 {
		t.Errorf("%d are astray", got)
	}
	if got := o.astray([]result{ok(1), ok(1), ok(1), ok(2), ok(2), ok(3), ok(3), ok(4), ok(4)}); got != 1 {
		t.Errorf("%d are astray when one was made twice", got)
	}
}

func TestALateCheckWasDueBeforeItCounts(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	for delay, want := range map[time.Duration]time.Time{time.Second: at, veryLate: at, time.Minute: at.Add(-time.Minute)} {
		if got := (result{at: at, delay: delay}).due(); !got.Equal(want) {
			t.Errorf("%s late: due at %s, want %s", delay, got, want)
		}
	}
}
