package bench

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

var zones = []string{"UTC", "America/New_York"}

func zoneOf(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := cron.LoadZone(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func parse(tb testing.TB, peer, text string, loc *time.Location) *Schedule {
	tb.Helper()
	s, err := Parse(peer, text, loc)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestSameTimes shows that the comparison is fair: all libraries compute the same times.
func TestSameTimes(t *testing.T) {
	for _, zone := range zones {
		loc := zoneOf(t, zone)
		for _, r := range Rules {
			ours := parse(t, "belfry", r.Belfry, loc)
			for _, peer := range Peers[1:] {
				if r.Text(peer) == "" {
					continue
				}
				theirs := parse(t, peer, r.Text(peer), loc)
				for n := 1; n <= 1000; n += 37 {
					if a, b := ours.Walk(n), theirs.Walk(n); !a.Equal(b) {
						t.Errorf("%s in %s: time %d is %s, %s has %s", r.Name, zone, n, a, peer, b)
						break
					}
				}
			}
		}
		for i := range 100 {
			ours := parse(t, "belfry", mixed("belfry", i), loc).After(Now(loc))
			for _, peer := range Peers[1:] {
				if theirs := parse(t, peer, mixed(peer, i), loc).After(Now(loc)); !ours.Equal(theirs) {
					t.Errorf("mix %d in %s: %s, %s has %s", i, zone, ours, peer, theirs)
				}
			}
		}
	}
}

// TestLastDays compares days before the last, which netresearch/go-cron knows and no engine of internal/oracles reads.
func TestLastDays(t *testing.T) {
	for _, expr := range []string{"0 9 L * *", "0 9 L-1 * *", "0 9 L-3 * *", "0 9 L-9 * *", "0 9 L-27 * *", "0 9 LW * *", "0 9 15W * *", "0 9 1W * *", "0 9 L-2,LW,3W * *"} {
		ours, theirs := parse(t, "belfry", expr, time.UTC), parse(t, "netresearch", expr, time.UTC)
		for n := 1; n <= 600; n++ {
			if a, b := ours.Walk(n), theirs.Walk(n); !a.Equal(b) {
				t.Errorf("%s: time %d is %s, netresearch/go-cron has %s", expr, n, a, b)
				break
			}
		}
	}
}

// BenchmarkNext1000 computes the next 1,000 times of a rule.
func BenchmarkNext1000(b *testing.B) {
	for _, zone := range zones {
		for _, r := range Rules {
			for _, peer := range Peers {
				if r.Text(peer) == "" {
					continue
				}
				b.Run(zone+"/"+r.Name+"/"+peer, func(b *testing.B) {
					s := parse(b, peer, r.Text(peer), zoneOf(b, zone))
					b.ReportAllocs()
					for b.Loop() {
						s.Walk(1000)
					}
				})
			}
		}
	}
}

// BenchmarkStart computes the next time of one of many schedules. A node computes a million of them at its start.
func BenchmarkStart(b *testing.B) {
	for _, zone := range zones {
		for _, peer := range Peers {
			b.Run(zone+"/"+peer, func(b *testing.B) {
				loc := zoneOf(b, zone)
				list, err := Mix(peer, 10_000, loc)
				if err != nil {
					b.Fatal(err)
				}
				now, i := Now(loc), 0
				b.ReportAllocs()
				for b.Loop() {
					list[i%len(list)].After(now)
					i++
				}
			})
		}
	}
}

// BenchmarkParse reads one of many rules.
func BenchmarkParse(b *testing.B) {
	for _, peer := range Peers {
		b.Run(peer, func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				parse(b, peer, mixed(peer, i), time.UTC)
				i++
			}
		})
	}
}
