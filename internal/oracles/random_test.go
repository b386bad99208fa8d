//go:build oracles

package oracles

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

// defaultRules is the number of rules of each kind, which take some twenty seconds on two cores.
const defaultRules = 600

// plan returns the number of rules and the seed, the same for all tests of a run. Rule i depends on the seed and i alone.
// The default run is the same each time, so that it does not sometimes fail on an unknown fault of a foreign engine. With
// BELFRY_ORACLE_RULES the seed is new unless it is given.
func plan(t *testing.T) (rules int, seed uint64) {
	t.Helper()
	rules, seed = defaultRules, 1
	if text := os.Getenv("BELFRY_ORACLE_RULES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("BELFRY_ORACLE_RULES=%q is not a number above zero", text)
		}
		rules, seed = n, runSeed
	}
	if text := os.Getenv("BELFRY_ORACLE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("BELFRY_ORACLE_SEED=%q is not a whole number", text)
		}
		seed = n
	}
	t.Logf("%d rules; BELFRY_ORACLE_SEED=%d repeats them", rules, seed)
	return rules, seed
}

var runSeed = rand.Uint64() >> 32

// dice is a source of randomness with the draws that rules need.
type dice struct{ *rand.Rand }

func newDice(seed uint64, i int) dice { return dice{rand.New(rand.NewPCG(seed, uint64(i)))} }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }
func (d dice) between(lo, hi int) int  { return lo + d.IntN(hi-lo+1) }

func oneOf[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

// some draws 1 to most different numbers, in random order.
func (d dice) some(most, lo, hi int) []int {
	n := 1
	for n < min(most, hi-lo+1) && d.chance(60) {
		n++
	}
	var list []int
	for _, k := range d.Perm(hi - lo + 1)[:n] {
		list = append(list, lo+k)
	}
	return list
}

// seams returns the times between two years at which the clock of a zone jumps.
func seams(t testing.TB, zone string, from, to int) []int64 {
	t.Helper()
	loc, err := cron.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	var list []int64
	at, end := time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(to, 1, 1, 0, 0, 0, 0, time.UTC)
	for {
		_, next := at.In(loc).ZoneBounds()
		if next.IsZero() || next.After(end) {
			return list
		}
		_, before := next.Add(-time.Second).In(loc).Zone()
		if _, after := next.Zone(); after != before {
			list = append(list, next.Unix())
		}
		at = next
	}
}

// sameZones drops zones for which an engine has other zone data than we do, since a difference would not concern the
// engine itself. It compares the offsets around every seam and fails if too few zones are left.
func sameZones(t *testing.T, c *child, zones []string, from, to, least int) map[string][]int64 {
	t.Helper()
	kept := make(map[string][]int64)
	for _, zone := range zones {
		loc, err := cron.LoadZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		list := seams(t, zone, from, to)
		at := []int64{time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(to, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
		for y := from; y < to; y++ {
			for m := time.January; m <= time.December; m++ {
				at = append(at, time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).Unix())
			}
		}
		for _, u := range list {
			at = append(at, u-1, u)
		}
		a, err := c.ask(query{Engine: "offsets", Zone: zone, At: at})
		if err != nil {
			t.Fatal(err)
		}
		if differs := firstOffset(loc, at, a.Times); differs != "" {
			t.Logf("%s is left out: %s", zone, differs)
			continue
		}
		kept[zone] = list
	}
	if len(kept) < least {
		t.Fatalf("only %d of %d zones have the same data in Go (%s) and in %s: update the system's tzdata or Node.js", len(kept), len(zones), cron.ZoneVersion(), c.args[0])
	}
	return kept
}

func firstOffset(loc *time.Location, at, theirs []int64) string {
	if len(at) != len(theirs) {
		return fmt.Sprintf("asked %d times, answered %d", len(at), len(theirs))
	}
	for i, u := range at {
		if _, ours := time.Unix(u, 0).In(loc).Zone(); int64(ours) != theirs[i] {
			return fmt.Sprintf("at %s we have the offset %d, they %d", time.Unix(u, 0).UTC().Format(time.RFC3339), ours, theirs[i])
		}
	}
	return ""
}

// versions names the engines and their versions.
func versions(t *testing.T, c *child) {
	t.Helper()
	a, err := c.ask(query{Engine: "versions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(a.Versions, "zones in Go:", cron.ZoneVersion())
}

// show prints two lists from shortly before their first difference.
func show(theirs, ours []int64) string {
	from := 0
	for from < len(theirs) && from < len(ours) && theirs[from] == ours[from] {
		from++
	}
	line := func(list []int64) string {
		s, first := "", max(0, from-3)
		if first > 0 {
			s = " ..."
		}
		for i, u := range list[min(first, len(list)):] {
			if i == 10 {
				return s + " ..."
			}
			s += time.Unix(u, 0).UTC().Format(" 2006-01-02T15:04:05Z")
		}
		return s
	}
	return fmt.Sprintf("they:%s\n  ours:%s", line(theirs), line(ours))
}
