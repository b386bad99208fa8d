// Package spell reads and writes small texts: numbers, names, lists, durations. It also guesses the intended word of a
// misspelt one.
package spell

import (
	"strconv"
	"strings"
)

// Number reads digits only.
func Number(s string) (int, bool) {
	if s == "" || len(s) > 6 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// Plural is "1 day" or "3 days".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Ordinal is 1st, 2nd, 3rd.
func Ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return strconv.Itoa(n) + suffix
}

// List joins words with commas and an "and".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Capital writes the first letter large.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// LowerFirst writes the first letter small.
func LowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Clip keeps a hostile text from filling a log line.
func Clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:77], "") + "..."
}

// Months are the months, from January.
var Months = strings.Fields("JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER")

// Weekdays are the weekdays, from Sunday.
var Weekdays = strings.Fields("SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY")

// Month is March for 3.
func Month(n int) string { return Capital(strings.ToLower(Months[n-1])) }

// Weekday is Monday for 1; 0 is Sunday.
func Weekday(n int) string { return Capital(strings.ToLower(Weekdays[n])) }
