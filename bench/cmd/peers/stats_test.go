//go:build linux

package main

import (
	"math"
	"testing"
	"time"
)

func TestNumbersKeepThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.00123: "0.0012", 0.5: "0.50", 3.14159: "3.14", 42.42: "42.4", 999.4: "999", 1000: "1,000", 1234567.8: "1,234,568", math.Inf(1): "∞",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestMedianAndSpan(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median of three: got %v", got)
	}
	if got := median([]float64{9, 1, 5, 7}); got != 6 {
		t.Errorf("median of four: got %v", got)
	}
	if got, want := span([]float64{3e6, 1e6, 2e6}, 1e6), "2.00 (1.00 to 3.00)"; got != want {
		t.Errorf("span: got %q, want %q", got, want)
	}
	if got := span([]float64{5}, 1); got != "5.00" {
		t.Errorf("span of one: got %q", got)
	}
	if got := span(nil, 1); got != "-" {
		t.Errorf("span of none: got %q", got)
	}
}

func TestRatios(t *testing.T) {
	for _, test := range []struct {
		over, under []float64
		want        string
	}{
		{[]float64{30, 10, 20}, []float64{5}, "4.00"},
		{[]float64{1}, []float64{4}, "0.25"},
		{[]float64{7}, []float64{7}, "1"},
		{[]float64{0}, []float64{0}, "1"},
		{[]float64{7}, []float64{0}, "∞"},
		{nil, []float64{7}, "-"},
		{[]float64{7}, nil, "-"},
	} {
		if got := ratio(test.over, test.under); got != test.want {
			t.Errorf("ratio of %v to %v: got %q, want %q", test.over, test.under, got, test.want)
		}
	}
}

func TestTheSearchClosesIn(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct{ holds, breaks, want float64 }{
		{100, inf, 160}, {0, 100, 50}, {100, 400, 200},
	} {
		if got := nextRate(test.holds, test.breaks); got != test.want {
			t.Errorf("step between %v and %v: got %v, want %v", test.holds, test.breaks, got, test.want)
		}
	}
}

func TestALineOfProcIsRead(t *testing.T) {
	line := "42 (a name) with (it) S 7 1 1 0 -1 4194560 100 200 0 0 11 22 33 44 20 0 1 0 5 6 7"
	parent, used := parseStat([]byte(line))
	if parent != 7 || used != 110*tick {
		t.Errorf("line of proc(5): got parent %d and CPU time %v", parent, used)
	}
	if parent, used := parseStat([]byte("garbage")); parent != 0 || used != 0 {
		t.Errorf("malformed line of proc(5): got parent %d and CPU time %v", parent, used)
	}
}

func TestAProcessThatEndedHasNoTimes(t *testing.T) {
	if used, err := treeCPU(1 << 30); err == nil {
		t.Errorf("CPU time: got %v", time.Duration(used))
	}
}
