package job

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Histogram counts durations in buckets that grow by a tenth. So a quantile is
// at most 5% off between 100 µs and 10 min; shorter and longer durations count
// as these. Merging loses nothing. The zero value is empty and ready to use.
type Histogram struct {
	low    int // bucket of counts[0]
	counts []int64
}

// Bucket i counts durations over bucketTops[i-1] and up to bucketTops[i]. The
// first counts all up to 100 µs, and the last all over 10 min.
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

// Add counts one duration.
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

// Merge adds the counts of o.
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

// Count returns the number of counted durations.
func (h *Histogram) Count() (n int64) {
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Quantile returns the duration that a share q of all does not exceed, by the
// nearest rank: 0.5 is the median. It is 0 for an empty histogram.
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

// bucketValue returns the duration that represents a bucket: its relative
// distance from the bottom and from the top is the same.
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

// histogramVersion is the first part of an encoded histogram. It changes with the
// buckets.
const histogramVersion = 1

// AppendBinary appends the non-empty buckets: their number, and for each the
// number of empty buckets before it and its count, as varints.
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

// MarshalBinary encodes the histogram: see [Histogram.AppendBinary].
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// maxBucketCount is the largest count that is decoded, so that sums of merged
// histograms do not overflow.
const maxBucketCount = 1 << 48

// UnmarshalBinary decodes the bytes of AppendBinary. An empty slice is an empty
// histogram. On other bytes it fails and leaves h unchanged.
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
