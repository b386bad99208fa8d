// Package size reads lengths in bytes as people write them, such as 256MiB. The command line and the configuration share it.
package size

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Parse reads 256MiB, 2 GiB or a number of bytes. Errors name the field.
func Parse(field, text string) (int64, error) {
	wrong := core.InvalidField(field, text, "is not a size", "such as 256MiB, 2GiB, or a number of bytes")
	digits := strings.TrimRight(text, "BbIiKkMmGgTt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, wrong
	}
	shift, known := map[string]uint{"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40}[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	if !known || n > 1<<62>>shift {
		return 0, wrong
	}
	return n << shift, nil
}
