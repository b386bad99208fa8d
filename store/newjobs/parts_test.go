package newjobs

import (
	"slices"
	"strings"
	"testing"
)

func TestPartsHoldABoundedNumberOfBytes(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int
		parts []int // jobs of each part
	}{
		{"one job", []int{10}, []int{1}},
		{"small jobs", []int{10, 20, 30}, []int{3}},
		{"just as many bytes as fit", []int{partBytes / 2, partBytes / 2}, []int{2}},
		{"one byte more", []int{partBytes / 2, partBytes / 2, 1}, []int{2, 1}},
		{"jobs that are too large for a part", []int{partBytes + 1, partBytes + 1, 5, 5}, []int{1, 1, 2}},
		{"a large job after small ones", []int{5, 5, partBytes + 1, 5}, []int{2, 1, 1}},
		{"jobs without input", []int{-1, -1, partBytes, -1, 1}, []int{4, 1}},
	} {
		rows := make([]Row, len(c.sizes))
		for i, size := range c.sizes {
			if rows[i].ID = int64(i); size >= 0 {
				input := strings.Repeat("x", size)
				rows[i].Input = &input
			}
		}
		var jobs []int
		next := int64(0)
		for _, part := range Parts(rows) {
			jobs = append(jobs, len(part))
			for _, r := range part {
				if r.ID != next {
					t.Errorf("%s: got job %d, want %d", c.name, r.ID, next)
				}
				next++
			}
		}
		if !slices.Equal(jobs, c.parts) {
			t.Errorf("%s: got parts %v, want %v", c.name, jobs, c.parts)
		}
	}
}
