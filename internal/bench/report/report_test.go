//go:build linux

package report

import (
	"strings"
	"sync"
	"testing"
	"time"
)

func TestQuantilesAreByNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[len(hundred)-1-i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		all  []time.Duration
		want Quantiles
	}{
		{nil, Quantiles{}},
		{[]time.Duration{7}, Quantiles{1, 7, 7, 7, 7}},
		{[]time.Duration{9, 1}, Quantiles{2, 1, 9, 9, 9}},
		{[]time.Duration{3, 1, 2}, Quantiles{3, 2, 3, 3, 3}},
		{hundred, Quantiles{100, 50, 95, 99, 100}},
	} {
		if got := QuantilesOf(test.all); got != test.want {
			t.Errorf("quantiles of %v: got %+v, want %+v", test.all, got, test.want)
		}
	}
}

func TestLagsAreCollectedFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var l Lags
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 250 {
				l.Add(time.Duration(i*250 + k + 1))
			}
		})
	}
	all.Wait()
	if got, want := l.Quantiles(), (Quantiles{1000, 500, 950, 990, 1000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSpreads(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 3}
	if got, want := SpreadOf(values), (Spread{3, 1, 3, 5}); got != want || values[0] != 5 {
		t.Errorf("spread of %[2]v: got %+[1]v, want %+[3]v", got, values, want)
	}
	if got, want := SpreadOf([]float64{4, 2}), (Spread{2, 2, 3, 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := SpreadOf(nil); got != (Spread{}) {
		t.Errorf("spread of no figures: got %+v", got)
	}
}

func TestFiguresAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	one := func(v float64) Spread { return Spread{1, v, v, v} }
	for _, test := range []struct {
		unit Unit
		s    Spread
		want string
	}{
		{Rate, one(123456.7), "123,457/s"},
		{Rate, one(0), "0.00/s"},
		{Time, one(12_300), "12.3 us"},
		{Time, one(1_234_000), "1.23 ms"},
		{Time, one(99_960_000), "100 ms"},
		{Time, one(37.25e9), "37.2 s"},
		{Time, Spread{3, 900_000, 1_100_000, 2_000_000}, "1.10 ms (0.90-2.00)"},
		{Bytes, one(812), "812 B"},
		{Bytes, one(300 << 20), "300 MiB"},
		{Percent, one(0.0031), "0.31 %"},
		{Plain, one(-1234), "-1,234"},
	} {
		if got := test.unit.Text(test.s); got != test.want {
			t.Errorf("text of %+v: got %q, want %q", test.s, got, test.want)
		}
	}
}

func TestTheTableHasRatiosFirstAndKinAdjacent(t *testing.T) {
	t.Parallel()
	var r Report
	r.Add("SQLite", "burn-down", Rate, 1000)
	r.Add("PostgreSQL", "burn-down", Rate, 2000)
	r.Add("PostgreSQL", "burn-down", Rate, 4000)
	r.Compare("PostgreSQL", "with history", Rate, 90, 100)
	r.Compare("PostgreSQL", "with history", Rate, 110, 100)
	r.Compare("SQLite", "with history", Rate, 50, 100)
	r.Compare("SQLite", "no base", Rate, 50, 0)
	r.Add("SQLite", "burn-down", Rate, 1000)
	r.Add("SQLite", "of its kind", Plain, 1)
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	const want = `| measure | SQLite | PostgreSQL |
|---|--:|--:|
| burn-down | 1,000/s (1,000-1,000) | 3,000/s (2,000-4,000) |
| of its kind | 1.00 |  |
| with history | **0.50**: 50.0/s to 100/s | **1.00** (0.90-1.10): 100/s to 100/s |
| no base | no base |  |
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
