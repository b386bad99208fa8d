package job

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Histogram counts lengths of time in buckets that grow by a tenth, so that a
// quantile is at most 5% off between 100 µs and 10 min; what is shorter or
// longer counts as the one or the other. Two that are merged are as good as one
// that saw everything. The zero value is empty and ready.
type Histogram struct {
	low    int // bucket of counts[0]
	counts []int64
}

// A bucket i holds what is over bucketTops[i-1] and not over bucketTops[i]. The
// first holds all up to 100 µs, and the last all over 10 min.
const (
	bucketGrowth   = 1.1
	shortestBucket = 100 * time.Microsecond
	longestBucket  = 10 * time.Minute
)

var bucketTops = func() (tops []time.Duration) {
	for top := float64(shortestBucket); top < float64(longestBucket); top *= bucketGrowth {
		tops = append(tops, time.Duration(math.Round(top)))
	}
	return append(tops, longestBucket, math.MaxInt64)
}()

// Add counts one.
func (h *Histogram) Add(d time.Duration) {
	i := sort.Search(len(bucketTops)-1, func(i int) bool { return d <= bucketTops[i] })
	h.add(i, 1)
}

func (h *Histogram) add(i int, n int64) {
	h.reach(i)
	h.counts[i-h.low] += n
}

// reach makes room for bucket i.
func (h *Histogram) reach(i int) {
	switch {
	case len(h.counts) == 0:
		h.low, h.counts = i, append(h.counts, 0)
	case i < h.low:
		h.counts = slices.Insert(h.counts, 0, make([]int64, h.low-i)...)
		h.low = i
	case i >= h.low+len(h.counts):
		h.counts = append(h.counts, make([]int64, i+1-h.low-len(h.counts))...)
	}
}

// Merge counts all that another one counted.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil {
		return
	}
	for i, n := range o.counts {
		if n != 0 {
			h.add(o.low+i, n)
		}
	}
}

// Count is how many there are.
func (h *Histogram) Count() (n int64) {
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Quantile is the length that a part q of all do not exceed, by the nearest
// rank: 0.5 is the median. It is zero when there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	rank := int64(math.Ceil(min(max(q, 0), 1) * float64(n)))
	rank = min(max(rank, 1), n)
	for i, c := range h.counts {
		if rank -= c; rank <= 0 {
			return bucketValue(h.low + i)
		}
	}
	return longestBucket
}

// bucketValue stands for all of a bucket: as far from its bottom as from its
// top, as a part of each.
func bucketValue(i int) time.Duration {
	switch i {
	case 0:
		return shortestBucket
	case len(bucketTops) - 1:
		return longestBucket
	}
	bottom, top := float64(bucketTops[i-1]), float64(bucketTops[i])
	return time.Duration(2 * bottom * top / (bottom + top))
}

// histogramVersion stands before the bytes of a histogram. The buckets are part
// of it.
const histogramVersion = 1

// AppendBinary writes the buckets that are not empty: their number, and for
// each the empty ones before it and its count, as varints.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	used := 0
	for _, c := range h.counts {
		if c != 0 {
			used++
		}
	}
	b = append(b, histogramVersion)
	b = binary.AppendUvarint(b, uint64(used))
	next := 0
	for i, c := range h.counts {
		if c != 0 {
			b = binary.AppendUvarint(b, uint64(h.low+i-next))
			b = binary.AppendUvarint(b, uint64(c))
			next = h.low + i + 1
		}
	}
	return b, nil
}

// MarshalBinary is AppendBinary to nothing.
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// maxBucketCount bounds a count that is read, so that no sum of what is merged
// overflows.
const maxBucketCount = 1 << 48

// UnmarshalBinary reads what AppendBinary wrote. No bytes at all are an empty
// histogram; other bytes are refused and leave it as it was.
func (h *Histogram) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*h = Histogram{}
		return nil
	}
	if b[0] != histogramVersion {
		return fmt.Errorf("histogram of version %d, this Belfry reads %d", b[0], histogramVersion)
	}
	b = b[1:]
	read := func(limit uint64) (int64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > limit {
			return 0, false
		}
		b = b[n:]
		return int64(v), true
	}
	used, ok := read(uint64(len(bucketTops)))
	var out Histogram
	next := 0
	for ; ok && used > 0; used-- {
		var empty, count int64
		if empty, ok = read(uint64(len(bucketTops))); !ok {
			break
		}
		if count, ok = read(maxBucketCount); !ok || count == 0 || next+int(empty) >= len(bucketTops) {
			ok = false
			break
		}
		out.add(next+int(empty), count)
		next += int(empty) + 1
	}
	if !ok || len(b) > 0 {
		return fmt.Errorf("not the bytes of a histogram")
	}
	*h = out
	return nil
}
