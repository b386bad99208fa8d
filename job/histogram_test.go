package job

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAHistogramIsReadyAtOnce(t *testing.T) {
	t.Parallel()
	var h Histogram
	if h.Count() != 0 || h.Quantile(0.5) != 0 {
		t.Errorf("empty: %d, %s", h.Count(), h.Quantile(0.5))
	}
	h.Merge(nil)
	h.Merge(&Histogram{})
	h.Add(-time.Second)
	h.Add(0)
	h.Add(math.MaxInt64)
	if h.Count() != 3 || h.Quantile(0) != shortestBucket || h.Quantile(1) != longestBucket || h.Quantile(math.NaN()) == 0 {
		t.Errorf("%d: %s to %s", h.Count(), h.Quantile(0), h.Quantile(1))
	}
}

// A quantile is within 5% of that of a sorted list.
func TestQuantilesAreNear(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(math.Exp(rapid.Float64Range(math.Log(1e5), math.Log(600e9)).Draw(t, "log")))
		}), 1, 200).Draw(t, "list")
		var h Histogram
		for _, d := range list {
			h.Add(d)
		}
		slices.Sort(list)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		want := list[min(max(int(math.Ceil(q*float64(len(list)))), 1), len(list))-1]
		if off := math.Abs(float64(h.Quantile(q)-want)) / float64(want); off > 0.05 {
			t.Fatalf("quantile %g is %s, want %s: %.2f%% off", q, h.Quantile(q), want, 100*off)
		}
	})
}

func TestBucketsAreNear(t *testing.T) {
	t.Parallel()
	for i, top := range bucketTops[:len(bucketTops)-1] {
		for _, d := range []time.Duration{top, max(top-1, shortestBucket), top + 1} {
			var h Histogram
			h.Add(d)
			if off := math.Abs(float64(h.Quantile(1)-d)) / float64(d); off > 0.05 {
				t.Errorf("bucket %d: %s is told as %s", i, d, h.Quantile(1))
			}
		}
	}
	if n := len(bucketTops); n > 170 {
		t.Errorf("%d buckets", n)
	}
}

// Merging in any order equals counting everything at once, and encoding loses
// nothing.
func TestMergingIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Int64Range(0, int64(20*time.Minute))).Draw(t, "list")
		var whole Histogram
		parts := make([]Histogram, 3)
		for _, n := range list {
			whole.Add(time.Duration(n))
			parts[rapid.IntRange(0, 2).Draw(t, "part")].Add(time.Duration(n))
		}
		var merged Histogram
		for i := range parts {
			var read Histogram
			if err := read.UnmarshalBinary(bytesOf(t, &parts[i])); err != nil {
				t.Fatal(err)
			}
			merged.Merge(&read)
		}
		if !bytes.Equal(bytesOf(t, &merged), bytesOf(t, &whole)) || merged.Count() != int64(len(list)) {
			t.Fatal("merged it is something else")
		}
	})
}

func bytesOf(t rapid.TB, h *Histogram) []byte {
	b, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAHistogramIsSmall(t *testing.T) {
	t.Parallel()
	var h Histogram
	for i := range 3600 {
		h.Add(100*time.Millisecond + time.Duration(i%100)*time.Millisecond)
	}
	if n := len(bytesOf(t, &h)); n > 32 {
		t.Errorf("%d bytes for an hour of checks", n)
	}
}

func TestBytesThatAreNoHistogram(t *testing.T) {
	t.Parallel()
	h := Histogram{}
	h.Add(time.Second)
	before := bytesOf(t, &h)
	for name, b := range map[string][]byte{
		"another version":        {2, 0},
		"no number of buckets":   {1},
		"cut":                    before[:len(before)-1],
		"more than there is":     append(slices.Clone(before), 0),
		"a count of zero":        {1, 1, 5, 0},
		"a bucket beyond":        {1, 1, 200, 1, 1},
		"beyond, step by step":   {1, 2, 160, 1, 1, 160, 1, 1},
		"too many buckets":       {1, 255, 255, 3},
		"a count too large":      {1, 1, 5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"a number without end":   append([]byte{1, 1}, bytes.Repeat([]byte{255}, 20)...),
		"a text":                 []byte(strings.Repeat("histogram", 100)),
		"one bucket without end": {1, 1},
	} {
		if err := h.UnmarshalBinary(b); err == nil || !bytes.Equal(bytesOf(t, &h), before) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := h.UnmarshalBinary(nil); err != nil || h.Count() != 0 {
		t.Errorf("no bytes: %v, %d", err, h.Count())
	}
}

func FuzzHistogram(f *testing.F) {
	var h Histogram
	for _, d := range []time.Duration{0, time.Millisecond, time.Second, time.Hour} {
		h.Add(d)
		b, _ := h.MarshalBinary()
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again Histogram
		if h.UnmarshalBinary(b) != nil {
			return
		}
		if n := len(h.counts); n > len(bucketTops) {
			t.Fatalf("%d buckets", n)
		}
		if n := h.Count(); n < 0 || n > 0 && (h.Quantile(0.5) < shortestBucket || h.Quantile(0.5) > longestBucket) {
			t.Fatalf("%d, median %s", n, h.Quantile(0.5))
		}
		out, _ := h.MarshalBinary()
		if err := again.UnmarshalBinary(out); err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("%x reads as another than %x: %v", out, b, err)
		}
	})
}
