package belfry

import (
	"fmt"
	"strconv"
	"strings"
)

// SizeText writes bytes for people, in the largest unit that fits and with at
// most one digit behind the point: 512 B, 1.5 KiB, 4 MiB.
func SizeText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[i]
}
