package model

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/model/check"
	"github.com/belfry-run/belfry/internal/portion"
)

// worlds are explored completely. Each is large enough for one kind of fault: all
// faults in one world would have too many states.
var worlds = map[string]Config{
	"claims in two parts, late finishes": {Workers: 2, Jobs: 1, Attempts: 2, Split: true, SlowFinish: true, Repeat: true, TTL: 2, Crash: true, Close: true, Errors: true, Cancel: true},
	"claims in two parts, leaving":       {Workers: 2, Jobs: 1, Attempts: 2, Split: true, TTL: 2, Crash: true, Close: true, Fails: 2},
	"two jobs in one claim":              {Workers: 2, Jobs: 2, Attempts: 2, Split: true, Loose: true, Cancel: true, Lose: true},
	"a queue with a limit":               {Workers: 2, Jobs: 2, Attempts: 2, Split: true, Loose: true, Limit: 1, Errors: true, Lose: true, Cancel: true},
	"slow claims and renewals, crashes":  {Workers: 2, Jobs: 1, Attempts: 2, SlowClaim: true, SlowRenew: true, TTL: 3, Crash: true},
	"slow claims and renewals, freezes":  {Workers: 2, Jobs: 1, Attempts: 2, SlowClaim: true, SlowRenew: true, TTL: 2, Stall: true},
	"slow renewals and finishes":         {Workers: 2, Jobs: 1, Attempts: 2, SlowRenew: true, SlowFinish: true, TTL: 2, Stall: true, Fails: 1},
	"claims ahead":                       {Workers: 2, Jobs: 2, Attempts: 2, Ahead: true, TTL: 1, Crash: true, Errors: true},
	"claims ahead, single tries":         {Workers: 2, Jobs: 2, Attempts: 1, Ahead: true, TTL: 2, Crash: true, Errors: true},
	"a plan that skips":                  {Workers: 2, Attempts: 2, Split: true, Loose: true, Errors: true, Lose: true, Pause: true, Cancel: true, Plan: 3},
	"a plan that buffers":                {Workers: 2, Attempts: 2, Split: true, Loose: true, Errors: true, Lose: true, Pause: true, Cancel: true, Plan: 3, Overlap: BufferOne},
	"a short plan that buffers":          {Workers: 1, Attempts: 1, Split: true, Loose: true, Pause: true, Plan: 2, Overlap: BufferOne},
	"a loop":                             {Workers: 2, Attempts: 2, Split: true, Loose: true, Errors: true, Lose: true, Pause: true, Cancel: true, Loop: true},
}

func TestEveryPromiseHoldsInEveryWorld(t *testing.T) { explore(t, false) }

// Worlds with slow calls have more states than all others together.
func TestLargeWorlds(t *testing.T) { explore(t, true) }

func explore(t *testing.T, large bool) {
	chosen := maps.Clone(worlds)
	maps.DeleteFunc(chosen, func(_ string, c Config) bool { return large != (c.SlowClaim || c.SlowRenew) })
	for _, name := range portion.Names(t, chosen) {
		c := chosen[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Alike = true
			begun := time.Now()
			g, err := check.Explore(c.Spec())
			t.Logf("%d states, %d steps, %v", len(g.States), len(g.Edges), time.Since(begun).Round(time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// broken are worlds without a guard, with the promise that is violated then.
var broken = []struct {
	without Guard
	world   string
	breaks  string
}{
	{UniqueLease, "claims in two parts, late finishes", OneLease},
	{NumberAfterLock, "claims in two parts, late finishes", NumbersGrow},
	{ClaimChecksAgain, "claims in two parts, late finishes", ExhaustedStaysDead},
	{ClaimChecksAgain, "a plan that skips", LeaseOfLive},
	{FinishMatchesNumber, "claims in two parts, late finishes", NoStaleWrite},
	{FinishMatchesNumber, "a loop", NoStaleWrite},
	{FinishMatchesLocked, "claims in two parts, late finishes", EndsOnce},
	{CountFailures, "claims in two parts, late finishes", ExhaustedStaysDead},
	{ClaimLocksSession | ReleaseLooksAgain, "claims in two parts, leaving", AllEnd},
	{CancelLocksFirst, "claims in two parts, late finishes", LeaseOfLive},
	{CancelLocksFirst, "two jobs in one claim", LeaseOfLive},
	{LimitLocksQueue, "a queue with a limit", WithinLimit},
	{ReleaseChecksAgain, "slow claims and renewals, freezes", KeepsSession},
	{HandBackLate, "slow claims and renewals, crashes", NeverTwice},
	{WorkerFences, "slow claims and renewals, crashes", NeverTwice},
	{FenceFromSending, "slow claims and renewals, crashes", NeverTwice},
	{LateClaimDropped, "slow claims and renewals, crashes", NeverTwice},
	{SettledBefore, "slow claims and renewals, crashes", NeverTwice},
	{FenceAtWaking, "slow claims and renewals, freezes", NeverTwice},
	{FinalNeedsSlot, "claims ahead, single tries", FailedHasBegun},
	{AheadIsForgiven, "claims ahead", FailedHasBegun},
	{ForgivenOnce, "claims ahead", FewBegins},
	{UniqueNominal | FireLocksSchedule, "a plan that skips", OneJobEach},
	{FireLocksSchedule, "a plan that skips", AboveMark},
	{FireLocksSchedule, "a plan that buffers", AboveMark},
	{FireIsOne, "a plan that skips", AllDecided},
	{PauseWithdraws, "a plan that skips", PausedIsQuiet},
	{PauseWithdraws, "a loop", PausedIsQuiet},
	{PauseLocksFirst, "a plan that skips", LeaseOfLive},
	{PauseLocksFirst, "a loop", LeaseOfLive},
	{PauseMoves, "a plan that skips", PauseHolds},
	{ResumeSeesRuns, "a loop", OneLoop},
	{FollowLocksFirst, "a loop", LoopGoesOn},
	{FollowLocksFirst, "a short plan that buffers", BufferDrains},
	{FollowIsOne, "a loop", LoopGoesOn},
	{FollowIsOne, "a short plan that buffers", BufferDrains},
	{FreshAboveMark, "a loop", AboveMark},
	{FreshAboveMark, "a loop", LoopGoesOn},
}

// TestNoGuardCanBeSpared removes each guard and requires that the checker finds the
// violated promise. Together with the test above, in which the same worlds have all
// guards, this shows that the guard keeps the promise, and that the checker notices
// its absence.
func TestNoGuardCanBeSpared(t *testing.T) {
	var tried Guard
	for _, b := range broken {
		tried |= b.without
		t.Run(b.without.String()+" breaks "+b.breaks, func(t *testing.T) {
			t.Parallel()
			c := worlds[b.world]
			c.Without = b.without
			spec := only(t, c.Spec(), b.breaks)
			g, err := check.Explore(spec)
			var v *check.Violation
			if !errors.As(err, &v) {
				t.Fatalf("nothing was found in %d states, %d steps: %v", len(g.States), len(g.Edges), err)
			}
			t.Logf("%s, without %s, after %d states: %v", b.world, b.without, len(g.States), v)
		})
	}
	if all := lastGuard - 1; tried != all {
		t.Errorf("no test takes away %v", all&^tried)
	}
}

// only returns a specification with only one of its promises.
func only(t *testing.T, spec check.Spec[State, Act], name string) check.Spec[State, Act] {
	t.Helper()
	always, each, can := spec.Always, spec.Each, spec.Can
	spec.Always, spec.Each, spec.Can = nil, nil, nil
	for _, p := range always {
		if p.Name == name {
			spec.Always = append(spec.Always, p)
		}
	}
	for _, p := range each {
		if p.Name == name {
			spec.Each = append(spec.Each, p)
		}
	}
	for _, p := range can {
		if p.Name == name {
			spec.Can = append(spec.Can, p)
		}
	}
	if len(spec.Always)+len(spec.Each)+len(spec.Can) != 1 {
		t.Fatalf("no promise of this world is called %q", name)
	}
	return spec
}

// TestGuardsThatStandInForEachOther is about pairs of guards of which one suffices.
func TestGuardsThatStandInForEachOther(t *testing.T) {
	for _, without := range []Guard{ClaimLocksSession, ReleaseLooksAgain, UniqueNominal} {
		t.Run(without.String(), func(t *testing.T) {
			t.Parallel()
			c := worlds["claims in two parts, late finishes"]
			if without == UniqueNominal {
				c = worlds["a plan that buffers"]
			}
			c.Alike, c.Without = true, without
			if g, err := check.Explore(c.Spec()); err != nil {
				t.Fatalf("in %d states: %v", len(g.States), err)
			}
		})
	}
}

func TestTracesAreForPeople(t *testing.T) {
	c := worlds["claims in two parts, late finishes"]
	c.Without = UniqueLease
	_, err := check.Explore(only(t, c.Spec(), OneLease))
	for _, words := range []string{"the claim of worker 1 looks", "the claim of worker 2 looks", "worker 2 claims", "lease 1 of session", "lease 2 of session"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Fatalf("the trace does not say %q: %v", words, err)
		}
	}
}
