//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// samples has the values of the rounds: by contender and measure, one value a round.
type samples map[string]map[string][]float64

func (s samples) add(contender, measure string, v float64) {
	if s[contender] == nil {
		s[contender] = map[string][]float64{}
	}
	s[contender][measure] = append(s[contender][measure], v)
}

// last returns the newest value, or 0.
func (s samples) last(contender, measure string) float64 {
	list := s[contender][measure]
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// median returns the median of a list that is not empty.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// ratio returns the ratio of two medians as text.
func ratio(over, under []float64) string {
	if len(over) == 0 || len(under) == 0 {
		return "-"
	}
	a, b := median(over), median(under)
	switch {
	case a == b:
		return "1"
	case b == 0:
		return "∞"
	}
	return number(a / b)
}

// span returns the median with the least and the greatest value as text.
func span(list []float64, unit float64) string {
	if len(list) == 0 {
		return "-"
	}
	show := func(f float64) string { return number(f / unit) }
	text := show(median(list))
	if len(list) > 1 {
		text += fmt.Sprintf(" (%s to %s)", show(slices.Min(list)), show(slices.Max(list)))
	}
	return text
}

// number writes about three digits, and all before the point.
func number(f float64) string {
	switch {
	case f == 0:
		return "0"
	case math.IsInf(f, 1):
		return "∞"
	case f < 0.01:
		return fmt.Sprintf("%.4f", f)
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	case f < 100:
		return fmt.Sprintf("%.1f", f)
	}
	text := strconv.FormatFloat(f, 'f', 0, 64)
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return strings.Join(append([]string{text}, parts...), ",")
}
