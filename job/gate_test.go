package job

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// In any interval at most the burst plus the rate times the interval begins. Looking at each instant that Take returns
// uses the full rate, if it is late by no more than the slack.
func TestAPaceNeverBeginsMoreThanItsRateAndBurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		per := time.Duration(rapid.Int64Range(int64(n)*100, 3_600_000_000).Draw(t, "per")) * time.Microsecond
		p := PaceOf(n, per, rapid.IntRange(0, 50).Draw(t, "burst"))
		var at []int64
		next, now := int64(0), int64(1_700_000_000_000_000)
		for range 200 {
			now += rapid.Int64Range(0, 3*p.Every).Draw(t, "waited")
			then, ok, from := p.Take(next, now)
			if !ok {
				if from <= now {
					t.Fatalf("too early at %d, and not from %d on", now, from)
				}
				if _, ok, _ := p.Take(next, from); !ok {
					t.Fatalf("too early at %d, which it said was not", from)
				}
				continue
			}
			next, at = then, append(at, now)
		}
		for i := range at {
			for k := i; k < len(at); k++ {
				if most := (at[k]-at[i])/p.Every + 1 + p.Slack/p.Every + 1; int64(k-i+1) > most {
					t.Fatalf("%d began within %d us, one each %d us and %d us of slack", k-i+1, at[k]-at[i], p.Every, p.Slack)
				}
			}
		}
	})
}

func TestAPaceLosesNothingToLooksThatComeLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := PaceOf(rapid.IntRange(1, 40).Draw(t, "n"), 2*time.Second, 1)
		const start, long = int64(1_700_000_000_000_000), int64(10_000_000)
		next, began := int64(0), int64(0)
		for now := start; now < start+long; {
			then, ok, from := p.Take(next, now)
			if ok {
				next, began = then, began+1
				continue
			}
			now = from + rapid.Int64Range(0, 90_000).Draw(t, "late")
		}
		if even := long / p.Every; began < even-1 || began > even+p.Slack/p.Every+2 {
			t.Fatalf("%d began, and evenly %d would have", began, even)
		}
	})
}

// However batches are requested, no interval admits more than the rate and its burst. A refused batch is admitted at the
// returned instant.
func TestBatchesKeepTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, burst := rapid.IntRange(1, 200).Draw(t, "n"), rapid.IntRange(1, 50).Draw(t, "burst")
		p := PaceOf(n, rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "per"), burst)
		var next int64
		now, begun, let := int64(1e15), int64(1e15), int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			now += rapid.Int64Range(0, 3*p.Every).Draw(t, "pause")
			k := rapid.IntRange(1, p.Burst()).Draw(t, "batch")
			then, ok, from := p.TakeAll(k, next, now)
			if !ok {
				if then != next || from <= now {
					t.Fatalf("a refused batch moved the row to %d, or may come at %d of %d", then, from, now)
				}
				if _, early, _ := p.TakeAll(k, next, from-1); early {
					t.Fatalf("%d fit before %d", k, from)
				}
				now = from
				if then, ok, _ = p.TakeAll(k, next, now); !ok {
					t.Fatalf("%d do not fit at %d, as was told", k, now)
				}
			}
			next, let = then, let+int64(k)
			if most := (p.Slack+now-begun)/p.Every + 1; let > most {
				t.Fatalf("%d were let in within %d microseconds, at most %d may be", let, now-begun, most)
			}
			if used := p.Used(next, now); used < int64(k) || used > int64(p.Burst()) {
				t.Fatalf("%d of %d are used up after %d", used, p.Burst(), k)
			}
		}
		if _, ok, _ := p.TakeAll(p.Burst()+1, 0, now); ok {
			t.Fatal("more than the burst fit")
		}
		if _, ok, _ := p.TakeAll(1, now+1e12, now+p.Every); !ok {
			t.Fatal("a clock that was set back holds up for longer than one start")
		}
	})
}

// A transaction that began earlier may lock the row later. Its decision must not undo what was taken since.
func TestInstantsOutOfOrderKeepTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := PaceOf(rapid.IntRange(1, 2000).Draw(t, "n"), time.Second, rapid.IntRange(1, 20).Draw(t, "burst"))
		var next int64
		oldest := min(Behind.Microseconds(), 5*p.Every)
		now, begun, let := int64(1e15), int64(1e15)-oldest, int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			now += rapid.Int64Range(0, 2*p.Every).Draw(t, "pause")
			at := now - rapid.Int64Range(0, oldest).Draw(t, "behind")
			next = p.Near(next, at)
			k := rapid.IntRange(1, p.Burst()).Draw(t, "batch")
			var ok bool
			if k == 1 {
				next, ok, _ = p.Take(next, at)
			} else {
				next, ok, _ = p.TakeAll(k, next, at)
			}
			if ok {
				let += int64(k)
			}
			if most := (p.Slack+now-begun)/p.Every + 1; let > most {
				t.Fatalf("%d were let in within %d microseconds, at most %d may be", let, now-begun, most)
			}
		}
	})
}

// Jobs that have not begun are counted if more than the burst may have been admitted.
func TestWhereTheUnbegunAreCounted(t *testing.T) {
	pace := PaceOf(10, time.Second, 5)
	for _, test := range []struct {
		gate Gate
		want bool
	}{
		{Gate{Running: 3}, false},
		{Gate{Pace: pace}, true},
		{Gate{Running: pace.Burst(), Pace: pace}, false},
		{Gate{Running: pace.Burst() + 1, Pace: pace}, true},
	} {
		if got := test.gate.CountsUnbegun(); got != test.want {
			t.Errorf("running %d, pace %+v: %v", test.gate.Running, test.gate.Pace, got)
		}
	}
}
