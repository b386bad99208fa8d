package console

import (
	"slices"
	"strings"
)

// Forms are the patterns of all that pages of areas send.
func Forms() (patterns []string) {
	for _, a := range areas() {
		for pattern := range a.Routes {
			if strings.HasPrefix(pattern, "POST ") {
				patterns = append(patterns, pattern)
			}
		}
	}
	slices.Sort(patterns)
	return patterns
}
