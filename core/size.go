package core

import (
	"fmt"
	"strconv"
	"strings"
)

var units = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// SizeText formats bytes for people, in the largest unit that fits and with at
// most one decimal: 512 B, 1.5 KiB, 4 MiB.
func SizeText(n int64) string {
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[i]
}

// ExactSize formats a size exactly, in the largest unit in which it is a whole
// number: 1 MiB, 1536 KiB, 1000 B.
func ExactSize(n int64) string {
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return fmt.Sprintf("%d %s", n, units[i])
}
