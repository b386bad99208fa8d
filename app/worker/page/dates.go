package page

import (
	"regexp"
	"strconv"
	"strings"
)

// Parts of date formats.
const (
	months = `(?i:january|february|march|april|may|june|july|august|september|october|november|december|` +
		`januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|` +
		`janvier|février|fevrier|mars|avril|juin|juillet|août|aout|septembre|octobre|novembre|décembre|` +
		`enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|` +
		`gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|` +
		`januari|februari|maart|mei|augustus|` +
		`janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|` +
		`jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|jän|mär|mrz|okt|dez|janv|févr|avr|juil|déc|ene|abr|ago|dic|` +
		`gen|mag|giu|lug|set|ott|fev|out)`
	weekdays = `(?i:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)`
	clock    = `(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-6]\d(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\b\.?)?(?: ?(?:Z|UTC|GMT|[A-Z]{2,4}T|[+-]\d{2}:?\d{2})\b)?`
	atClock  = `(?:(?:,|T| at| um| à| -)? ?` + clock + `)?`
	ordinal  = `(?:st|nd|rd|th|er|\.|º)?`
)

// Date formats that begin with a number. Ambiguous formats are left out: three
// numbers with dots are a version unless the last has four digits. A day and a
// month without a year may be anything, and so may two numbers with a colon if
// the first has one digit.
var (
	yearFirst = regexp.MustCompile(`^\d{4}(?:-\d{2}-\d{2}|/\d{1,2}/\d{1,2}|\.\d{2}\.\d{2}|年 ?\d{1,2}月 ?\d{1,2}日|년 ?\d{1,2}월 ?\d{1,2}일)` + atClock)
	dayFirst  = regexp.MustCompile(`^\d{1,2}(?:[./-]\d{1,2}[./-]\d{4}|/\d{1,2}/\d{2})\b` + atClock)
	dayName   = regexp.MustCompile(`^\d{1,2}` + ordinal + `[ -]?(?:de |of )?` + months + `\.?,?[ -](?:de |del )?\d{4}\b` + atClock)
	nameDay   = regexp.MustCompile(`^\d{1,2}` + ordinal + `,? \d{4}\b` + atClock)
	timeOnly  = regexp.MustCompile(`^(?:(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?(?: ?[AaPp]\.?[Mm]\b\.?)?| ?[AaPp]\.?[Mm]\b\.?)|(?:[01]\d|2[0-3]):[0-5]\d\b)(?: (?:UTC|GMT|[A-Z]{1,3}T)\b)?`)

	weekdayBefore = regexp.MustCompile(`\b` + weekdays + `[.,]{0,2} $`)
	monthBefore   = regexp.MustCompile(`\b(?:` + weekdays + `[.,]{0,2} )?` + months + `\.? $`)

	threeNumbers = regexp.MustCompile(`^(\d+)\D+(\d+)\D+(\d+)`)
)

// Maximum length of a date in bytes: after its first digit, and before it.
const (
	dateAfter  = 80
	dateBefore = 40
)

// maskDates masks dates. It matches only a few bytes around the begin of each
// number: a search of the whole text for dates takes a hundred times as long.
func maskDates(text string) (string, int) {
	var b strings.Builder
	n, last := 0, 0
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		end := i + 1
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if from, to := dateAt(text, last, i, end-i); to > 0 {
			b.WriteString(text[last:from] + dateSign)
			last, end = to, to
			n++
		}
		i = end - 1
	}
	if n == 0 {
		return text, 0
	}
	b.WriteString(text[last:])
	return b.String(), n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// dateAt returns the place of the date whose first number, of so many digits, is
// at i; to is 0 if there is none. Text before floor is already masked.
func dateAt(text string, floor, i, digits int) (from, to int) {
	if digits == 3 || digits > 4 || i > 0 && isNameByte(text[i-1]) && text[i-1] < 0x80 && text[i-1] != '-' ||
		i > 1 && strings.IndexByte(".:/-", text[i-1]) >= 0 && isDigit(text[i-2]) {
		return 0, 0 // within a word, or a longer series of numbers
	}
	window := text[i:min(len(text), i+dateAfter)]
	found := func(rule *regexp.Regexp, checked bool) bool {
		at := rule.FindStringIndex(window)
		if at == nil || i+at[1] < len(text) && isDigit(text[i+at[1]]) {
			return false
		}
		if checked && !isDate(threeNumbers.FindStringSubmatch(window)) {
			return false
		}
		from, to = i, i+at[1]
		return true
	}
	if digits == 4 {
		if next := window[4:]; next != "" && !strings.ContainsRune(" ,)\n", rune(next[0])) && found(yearFirst, true) {
			return from, to
		}
		return 0, 0
	}
	before := text[max(floor, i-dateBefore):i]
	next := byte(0)
	if digits < len(window) {
		next = window[digits]
	}
	switch {
	case next == ':':
		found(timeOnly, false)
	case (next == '.' || next == '/' || next == '-') && found(dayFirst, true):
	case !yearFollows(window[digits:]):
	case strings.HasSuffix(before, " ") && nameDay.MatchString(window):
		if at := monthBefore.FindStringIndex(before); at != nil && found(nameDay, false) {
			from = i - len(before) + at[0]
		}
	case next != 0 && found(dayName, false):
		if at := weekdayBefore.FindStringIndex(before); at != nil {
			from = i - len(before) + at[0]
		}
	}
	return from, to
}

// yearFollows is a cheap test that avoids the search for the name of a month after most numbers.
func yearFollows(text string) bool {
	at := strings.IndexAny(text, "0123456789")
	if at < 0 || len(text) < at+4 {
		return false
	}
	for i := at; i < at+4; i++ {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}

// isDate reports whether three numbers can be a day: 31/12/2026, 12/31/2026 and
// 2026/12/31, but not 2026-99-01.
func isDate(texts []string) bool {
	if len(texts) != 4 {
		return false
	}
	var n [3]int
	for i, t := range texts[1:] {
		n[i], _ = strconv.Atoi(t)
	}
	if len(texts[1]) == 4 {
		return n[1] >= 1 && n[1] <= 12 && n[2] >= 1 && n[2] <= 31
	}
	a, b := min(n[0], n[1]), max(n[0], n[1])
	return a >= 1 && a <= 12 && b <= 31
}
