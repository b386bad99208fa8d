package parts

import (
	"fmt"
	"strings"
)

// Spark is a number over time as a row of small bars, the oldest at the left. It
// has no axis; Said has its text.
type Spark struct {
	Said   string
	Path   string // of all bars
	Bad    string // of those in the tone of failures
	Tone   string
	Width  int
	Height int
}

const (
	sparkHeight = 24
	sparkStep   = 4 // of a bar of three and a gap
)

// NewSpark draws values; a nil value leaves a gap. Bars have the tone, except where bad is above zero. bad may be nil.
func NewSpark(said, tone string, values []*float64, bad []float64) Spark {
	s := Spark{Said: said, Tone: tone, Width: max(len(values)*sparkStep-1, 1), Height: sparkHeight}
	most := 0.0
	for _, v := range values {
		if v != nil {
			most = max(most, *v)
		}
	}
	var all, red strings.Builder
	for i, v := range values {
		switch {
		case v == nil:
		case *v <= 0:
			fmt.Fprintf(&all, "M%d %dh3v1h-3z", i*sparkStep, sparkHeight-1) // zero, and not a gap
		default:
			high := max(2, int(*v/most*float64(sparkHeight)+.5))
			bar := fmt.Sprintf("M%d %dh3v%dh-3z", i*sparkStep, sparkHeight-high, high)
			if i < len(bad) && bad[i] > 0 {
				red.WriteString(bar)
			} else {
				all.WriteString(bar)
			}
		}
	}
	s.Path, s.Bad = all.String(), red.String()
	return s
}
