package cron

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyZone, anyCron and anyRule draw from the whole language, not only from what people write.
func anyZone(t *rapid.T) *time.Location {
	loc, err := LoadZone(rapid.SampledFrom(oddWeeks).Draw(t, "zone").zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func anyInstant(t *rapid.T) time.Time {
	week := rapid.SampledFrom(oddWeeks).Draw(t, "week")
	around, _ := time.Parse(day, week.around)
	return around.Add(time.Duration(rapid.IntRange(-20*24*3600, 20*24*3600).Draw(t, "seconds")) * time.Second)
}

// bounds is a field of an expression: its name and what its numbers are.
type bounds struct {
	name     string
	min, max int
}

func (b bounds) size() int { return b.max - b.min + 1 }

func anyField(t *rapid.T, f bounds, special ...string) string {
	one := func() string { return fmt.Sprint(rapid.IntRange(f.min, f.max).Draw(t, f.name)) }
	part := func() string {
		switch rapid.IntRange(0, 8).Draw(t, "form") {
		case 0, 1:
			return "*"
		case 2:
			return "*/" + fmt.Sprint(rapid.IntRange(1, f.size()).Draw(t, "step"))
		case 3:
			return one() + "-" + one()
		case 4:
			return one() + "-" + one() + "/" + fmt.Sprint(rapid.IntRange(1, f.size()).Draw(t, "step"))
		case 5:
			if len(special) > 0 {
				return rapid.SampledFrom(special).Draw(t, "special")
			}
			return "H"
		}
		return one()
	}
	parts := make([]string, rapid.IntRange(1, 2).Draw(t, "parts"))
	for i := range parts {
		parts[i] = part()
	}
	return strings.Join(parts, ",")
}

func anyCron(t *rapid.T) string {
	words := []string{
		anyField(t, bounds{"minute", 0, 59}), anyField(t, bounds{"hour", 0, 23}),
		anyField(t, bounds{"day of month", 1, 31}, "L", "L-3", "LW", "15W", "31W", "1W", "H", "L-2W"),
		anyField(t, bounds{"month", 1, 12}),
		anyField(t, bounds{"weekday", 0, 6}, "5L", "FRI#3", "MON#5", "7", "SAT-MON"),
	}
	if rapid.Bool().Draw(t, "seconds") {
		words = append([]string{anyField(t, bounds{"second", 0, 59})}, words...)
	}
	if rapid.IntRange(0, 3).Draw(t, "and") == 0 {
		words[len(words)-1] = "+" + words[len(words)-1]
	}
	return strings.Join(words, " ")
}

func anyRule(t *rapid.T) string {
	pick := func(name string, low, high int) string {
		return fmt.Sprintf(";%s=%d", name, rapid.IntRange(low, high).Draw(t, name))
	}
	freqs := []string{"SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"}
	freq := freqs[rapid.IntRange(0, len(freqs)-1).Draw(t, "freq")]
	text := "DTSTART:" + rapid.SampledFrom([]string{"20101231T003000", "20260101T090000", "19700101T013000"}).Draw(t, "start") + "\nRRULE:FREQ=" + freq
	maybe := func(s string) {
		if rapid.IntRange(0, 3).Draw(t, "maybe") == 0 {
			text += s
		}
	}
	maybe(pick("INTERVAL", 1, 40))
	maybe(pick("COUNT", 1, 200))
	maybe(pick("BYMONTH", 1, 12))
	if freq != "WEEKLY" {
		maybe(pick("BYMONTHDAY", -31, -1))
	}
	maybe(";BYDAY=" + rapid.SampledFrom([]string{"MO", "SU,WE", "TU,TH,SA"}).Draw(t, "BYDAY"))
	maybe(pick("BYHOUR", 0, 23))
	maybe(pick("BYMINUTE", 0, 59))
	if strings.Contains(text, ";BY") {
		maybe(pick("BYSETPOS", 1, 3))
	}
	return text
}

// anyTimes is any rule that parses.
func anyTimes(t *rapid.T) (Times, string) {
	o := Options{
		Zone: anyZone(t), Seed: "property",
		Gap:  rapid.SampledFrom([]Gap{"", GapSkip}).Draw(t, "gap"),
		Fold: rapid.SampledFrom([]Fold{"", FoldSecond, FoldBoth}).Draw(t, "fold"),
	}
	if rapid.Bool().Draw(t, "rrule") {
		text := anyRule(t)
		if r, err := ParseRRule(text, o); err == nil {
			return r, fmt.Sprintf("%s %+v", text, o)
		}
	}
	e, text := anyExpr(t, o)
	return e, fmt.Sprintf("%s %+v", text, o)
}

// anyExpr is any cron rule that parses; what is refused (it never matches) gives way to a plain one.
func anyExpr(t *rapid.T, o Options) (*Expr, string) {
	text := anyCron(t)
	e, err := Parse(text, o)
	if err != nil {
		text = "17 1-3 * * *"
		e, err = Parse(text, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e, text
}

func TestNextIncreasesAndPrevIsItsInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ts, what := anyTimes(t)
		from := anyInstant(t)
		before := ts.Prev(from)
		if !before.IsZero() && !before.Before(from) {
			t.Fatalf("%s: Prev(%v) = %v", what, from, before)
		}
		last := from
		for range 40 {
			u := ts.Next(last)
			if u.IsZero() {
				break
			}
			if !u.After(last) {
				t.Fatalf("%s: Next(%v) = %v", what, last, u)
			}
			want := last
			if last.Equal(from) && !ts.Next(from.Add(-time.Second)).Equal(from) {
				want = before // from itself is no occurrence
			}
			if p := ts.Prev(u); !p.Equal(want) && !(want.IsZero() && p.IsZero()) {
				t.Fatalf("%s: Prev(%v) = %v, want %v", what, u, p, want)
			}
			last = u
		}
	})
}

// Asking from anywhere gives the same series: a restart changes nothing.
func TestSlicesEqualTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ts, what := anyTimes(t)
		from := anyInstant(t)
		whole := Upcoming(ts, from, 60)
		if len(whole) == 0 {
			return
		}
		span := whole[len(whole)-1].Sub(from)
		for range 10 {
			cut := from.Add(time.Duration(rapid.Int64Range(0, int64(span)).Draw(t, "cut")))
			i := slices.IndexFunc(whole, func(u time.Time) bool { return u.After(cut) })
			if i < 0 {
				continue
			}
			if got := ts.Next(cut); !got.Equal(whole[i]) {
				t.Fatalf("%s: Next(%v) = %v, want %v", what, cut, got, whole[i])
			}
		}
	})
}

// Rules of any shape against the notebook of dst_test.go, in any odd week.
func TestRandomRulesByBruteForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := rapid.SampledFrom(oddWeeks).Draw(rt, "week")
		loc, err := LoadZone(o.zone)
		if err != nil {
			rt.Fatal(err)
		}
		list := func(low, high int) string {
			a, b := rapid.IntRange(low, high).Draw(rt, "a"), rapid.IntRange(low, high).Draw(rt, "b")
			switch rapid.IntRange(0, 4).Draw(rt, "form") {
			case 0:
				return "*"
			case 1:
				return fmt.Sprintf("*/%d", a-low+1)
			case 2:
				return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
			case 3:
				return fmt.Sprintf("%d,%d", a, b)
			}
			return fmt.Sprint(a)
		}
		expr := strings.Join([]string{list(0, 59), list(0, 4), list(1, 31), "*", list(0, 6)}, " ")
		knob := Options{
			Zone: loc,
			Gap:  rapid.SampledFrom([]Gap{GapRunAfter, GapSkip}).Draw(rt, "gap"),
			Fold: rapid.SampledFrom([]Fold{FoldFirst, FoldSecond, FoldBoth}).Draw(rt, "fold"),
		}
		around, _ := time.Parse(day, o.around)
		w := watch(loc, around)
		n := naiveRule(t, expr)
		compare(t, parse(t, expr, knob), w, w.runs(n, knob.Gap, knob.Fold), fmt.Sprintf("%s in %s around %s, %s %s", expr, o.zone, o.around, knob.Gap, knob.Fold))
	})
}

func TestNormalFormIsTheSameRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Zone: anyZone(t), Seed: "property"}
		e, text := anyExpr(t, o)
		again, err := Parse(e.String(), o)
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q becomes %q becomes %v (%v)", text, e, again, err)
		}
		from := anyInstant(t)
		if a, b := fmt.Sprint(Upcoming(e, from, 20)), fmt.Sprint(Upcoming(again, from, 20)); a != b {
			t.Fatalf("%q: %s\n%q: %s", text, a, again, b)
		}
		if e.Explain() == "" {
			t.Fatal("no words")
		}
	})
}

func TestUnionIsSortedAndWithoutDuplicates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := anyTimes(t)
		b, _ := anyTimes(t)
		from := anyInstant(t)
		want := append(Upcoming(a, from, 20), Upcoming(b, from, 20)...)
		slices.SortFunc(want, time.Time.Compare)
		want = slices.CompactFunc(want, time.Time.Equal)
		for i, u := range Upcoming(Union(a, b), from, min(20, len(want))) {
			if !u.Equal(want[i]) {
				t.Fatalf("%d: %v, want %v", i, u, want[i])
			}
		}
	})
}
