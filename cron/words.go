package cron

import (
	"strconv"
	"strings"
)

// number reads digits only.
func number(s string) (int, bool) {
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func ordinal(n int) string {
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

// list joins words with commas and an "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// clip keeps a hostile text from filling a log line.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:77], "") + "..."
}

// longMonths are the months, from January.
var longMonths = strings.Fields("JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER")

// longWeekdays are the weekdays, from Sunday.
var longWeekdays = strings.Fields("SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY")

// monthName is March for 3.
func monthName(n int) string { return capital(strings.ToLower(longMonths[n-1])) }

// weekdayName is Monday for 1; 0 is Sunday.
func weekdayName(n int) string { return capital(strings.ToLower(longWeekdays[n])) }
