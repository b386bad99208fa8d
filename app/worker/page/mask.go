package page

import (
	"regexp"
	"strings"
)

// mask replaces texts of one kind by a sign. A sign must not match any mask.
type mask struct {
	name  string
	apply func(text string) (string, int)
}

// masksOf returns the masks in the order of their application: dates come first,
// because they contain numbers.
func masksOf(names []string) []mask {
	var masks []mask
	for _, m := range []mask{{"dates", maskDates}, {"numbers", maskNumbers}} {
		for _, name := range names {
			if name == m.name {
				masks = append(masks, m)
				break
			}
		}
	}
	return masks
}

const (
	numberSign = "#"
	dateSign   = "[date]"
)

// numberRule matches 1,234.56 and 1 234,56 as one number each, including a sign
// if it cannot be a dash between two numbers.
var numberRule = regexp.MustCompile(`(^|[\s(\[=:>"])[-+−](?:` + digits + `)|` + digits)

const digits = `(?:\p{Nd}{1,3}(?: \p{Nd}{3})+\b|\p{Nd}+)(?:[.,:'’]\p{Nd}+)*`

func maskNumbers(text string) (string, int) {
	n := 0
	out := numberRule.ReplaceAllStringFunc(text, func(match string) string {
		n++
		if i := strings.IndexAny(match, "-+−"); i > 0 {
			return match[:i] + numberSign // what stood before the sign stays
		}
		return numberSign
	})
	return out, n
}
