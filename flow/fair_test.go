package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
)

// line is a minimal fair queue of one priority.
type line struct {
	fair    Fair
	reached int64
	next    map[string]int64
	waiting []place
	id      int
}

type place struct {
	turn  int64
	id    int
	value string
}

func (l *line) join(value string, n int) {
	cost := l.fair.Cost(value)
	first, after := Turns(l.reached, l.next[value], cost, n)
	l.next[value] = after
	for i := range n {
		l.id++
		l.waiting = append(l.waiting, place{first + cost*int64(i), l.id, value})
	}
}

func (l *line) take() (p place, some bool) {
	if len(l.waiting) == 0 {
		return p, false
	}
	i := 0
	for k, w := range l.waiting {
		if cmp.Or(cmp.Compare(w.turn, l.waiting[i].turn), cmp.Compare(w.id, l.waiting[i].id)) < 0 {
			i = k
		}
	}
	p = l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.reached = max(l.reached, p.turn)
	return p, true
}

func (l *line) forget() {
	for value, next := range l.next {
		if next <= l.reached {
			delete(l.next, value)
		}
	}
}

// While two keys have waiting jobs, each gets its share by weight, except for one job of each and the rounding of the
// weights. The jobs of a key keep their order, a claim takes a job whenever one waits, and forgetting keys changes
// nothing.
func TestSharesFollowWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := []string{"a", "b", "c", "d"}
		weights := map[string]int{}
		for _, k := range keys {
			weights[k] = rapid.IntRange(1, 20).Draw(t, "weight of "+k)
		}
		l := line{fair: Fair{Key: "input.k", Weights: weights}, next: map[string]int64{}}
		count := map[string]int{}
		waits := func(k string) bool { return slices.ContainsFunc(l.waiting, func(p place) bool { return p.value == k }) }
		last := map[string]int{}
		type pair struct{ a, b string }
		since := map[pair]map[string]int{} // counts at the time when both began to wait
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				l.join(rapid.SampledFrom(keys).Draw(t, "key"), rapid.IntRange(1, 60).Draw(t, "jobs"))
			case 1:
				l.forget()
			default:
				had := len(l.waiting)
				p, some := l.take()
				if some != (had > 0) {
					t.Fatal("nothing is taken while something waits")
				}
				if !some {
					continue
				}
				if p.id < last[p.value] {
					t.Fatalf("%s: %d is taken after %d", p.value, p.id, last[p.value])
				}
				last[p.value] = p.id
				count[p.value]++
			}
			for i, a := range keys {
				for _, b := range keys[i+1:] {
					at := pair{a, b}
					if !waits(a) || !waits(b) {
						delete(since, at)
						continue
					}
					if since[at] == nil {
						since[at] = map[string]int{a: count[a], b: count[b]}
					}
					used := func(k string) int64 { return int64(count[k]-since[at][k]) * l.fair.Cost(k) }
					if off := used(a) - used(b); off > l.fair.Cost(a)+l.fair.Cost(b) || -off > l.fair.Cost(a)+l.fair.Cost(b) {
						t.Fatalf("%s with weight %d has used %d, %s with weight %d has used %d", a, weights[a], used(a), b, weights[b], used(b))
					}
				}
			}
		}
	})
}

// However many jobs of another key wait, a key without earlier jobs is among the next.
func TestAQuietKeyIsNext(t *testing.T) {
	l := line{fair: Fair{Key: "input.k"}, next: map[string]int64{}}
	l.join("noisy", 9000)
	for range 500 {
		l.take()
	}
	for i := range 100 {
		l.join("noisy", 9)
		l.join("quiet", 1)
		for n := 1; ; n++ {
			if p, _ := l.take(); p.value == "quiet" {
				break
			}
			if n > 2 {
				t.Fatalf("quiet job %d waits for %d others", i, n)
			}
		}
	}
}

func TestFairIsChecked(t *testing.T) {
	many := map[string]int{}
	for i := range 101 {
		many[strings.Repeat("x", i+1)] = 1
	}
	for want, f := range map[string]Fair{
		"":           {Key: "input.customer", Weights: map[string]int{"acme": 100, "": 1}},
		"is missing": {Key: " "}, "names": {Key: "output.x"}, "has more than 100 entries": {Key: "task", Weights: many},
		`"a" is outside 1 to 100`: {Key: "task", Weights: map[string]int{"a": 0}}, "is outside": {Key: "task", Weights: map[string]int{"a": 101}},
		"over 200 bytes": {Key: "task", Weights: map[string]int{strings.Repeat("x", 201): 2}},
	} {
		if err := f.Validate(); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || core.CodeOf(err) != core.Invalid) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
	f := Fair{Weights: map[string]int{"a": 3, "b=c": 1, "": 2}}
	if w, err := ParseWeights(f.WeightTexts()); err != nil || !maps.Equal(w, f.Weights) {
		t.Errorf("%v are read as %v, %v", f.WeightTexts(), w, err)
	}
	for _, bad := range [][]string{{"acme"}, {"acme=x"}, {"a=1", "a=2"}} {
		if _, err := ParseWeights(bad); core.CodeOf(err) != core.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if f.Cost("a") != 333 || f.Cost("c") != TurnCost {
		t.Errorf("costs %d and %d", f.Cost("a"), f.Cost("b"))
	}
}
