package cron

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/fields"
	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Doubt: texts that two worlds read differently, and errors that could say more. Nothing here is needed to read a good
// expression.

// ambiguous refuses six fields that are as likely "minute hour day month weekday year" (EventBridge, cronexpr) as
// "second minute hour day month weekday". Most of six fields are not: a year does not fit a weekday, "0 0 9 * * *" is
// the usual way to write nine o'clock. The rest has a * for the hour and for the weekday, a second field that
// would make a good hour, and either a first field that is unusual for a second or a fifth that looks like weekdays.
func (p *parser) ambiguous(words []word) error {
	if len(words) != 6 || words[5].text != "*" || words[2].text != "*" {
		return nil
	}
	first, ok1 := spell.Number(words[0].text)
	hour, ok2 := spell.Number(words[1].text)
	if !ok1 || !ok2 || first > 59 || hour > 23 || first == 0 && words[4].text == "*" {
		return nil
	}
	asYear := []word{{"0", 0}}
	asYear = append(asYear, words...)
	other := p.try(asYear)
	self := p.try(append(append([]word{}, words...), word{"*", 0}))
	if other == nil || self == nil {
		return nil
	}
	return &Error{
		Field: "expression", Value: p.text, Pos: words[0].pos,
		Msg: "can be read in two ways: " + spell.LowerFirst(strings.TrimSuffix(self.Explain(), ".")) + " (six fields, seconds first), or " +
			spell.LowerFirst(strings.TrimSuffix(other.Explain(), ".")) + " (minute first, year last)",
		Hint: fmt.Sprintf("write %q or %q", self.text, fields.Join(p.tryColumns(words[:5]))),
	}
}

// tryColumns reads fields without asking questions; nil when it cannot.
func (p *parser) tryColumns(words []word) []fields.Column {
	var cols []fields.Column
	for i, f := range fields.Layout(len(words)) {
		c, err := fields.Read(f, words[i].text, words[i].pos)
		if err != nil {
			return nil
		}
		cols = append(cols, c)
	}
	return cols
}

// try is the expression of some words, or nil.
func (p *parser) try(words []word) *Expr {
	cols := p.tryColumns(words)
	if cols == nil {
		return nil
	}
	q := &parser{opts: p.opts, cols: cols}
	return q.build()
}

// quartz refuses weekday numbers beside the ? that only Quartz demands, because Quartz counts from 1 for Sunday.
func (p *parser) quartz(words []word) error {
	if len(words) < 6 || words[3].text != "?" || !strings.ContainsAny(words[5].text, "1234567") {
		return nil
	}
	dow := p.cols[5]
	other, ok := dow.Quartz(words[5].text)
	if !ok || fields.SameDays(p.cols[3], dow, other, p.opts.Seed) {
		return nil
	}
	return &Error{
		Field: "weekday", Value: words[5].text, Pos: words[5].pos,
		Msg: fmt.Sprintf("can be read in two ways: %s in cron, where 0 and 7 are Sunday, or %s in Quartz, where 1 is Sunday",
			dow.String(), other.String()),
		Hint: "write the weekday by name",
	}
}

// wrongCount is the error for fewer than five or more than seven fields.
func (p *parser) wrongCount(words []word) error {
	e := &Error{
		Field: "expression", Value: p.text, Pos: words[len(words)-1].pos,
		Msg:  fmt.Sprintf("has %s; cron has 5 (minute hour day month weekday), 6 (second first) or 7 (year last)", spell.Plural(len(words), "field")),
		Hint: `try "0 9 * * MON-FRI"`,
	}
	upper := strings.ToUpper(p.text)
	switch {
	case strings.Contains(upper, "FREQ="):
		e.Msg, e.Hint = "is not a cron expression", "this is an RRULE: give it as one"
	case len(words) > 7:
		e.Hint = "a crontab line ends with a command: leave the command away"
	case len(words) == 4 && p.try(append(words[:4:4], word{"*", 0})) != nil:
		e.Hint = fmt.Sprintf("did you mean %q?", p.text+" *")
	}
	return e
}

// explainError adds to the error of a field what had been understood, and a whole expression that would work.
func (p *parser) explainError(err error, words []word) error {
	e := refusal.As(err)
	seen := make([]string, len(p.cols))
	for n, c := range p.cols {
		seen[n] = c.Name + " " + c.String()
	}
	e.Seen = strings.Join(seen, ", ")
	if better := p.repaired(e, words); better != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", better)
		return e
	}
	if len(words) == 6 && p.try(append([]word{{"0", 0}}, words...)) != nil {
		e.Hint = fmt.Sprintf("six fields start with the second; if these are minute to weekday and a year, write %q", "0 "+strings.TrimSpace(p.text))
	}
	return e
}

// repaired is the expression with the error's fix put in, or "" if there is none or it would not parse either.
func (p *parser) repaired(e *Error, words []word) string {
	fix := refusal.Fix(e)
	if fix == "" || e.Pos == 0 {
		return ""
	}
	at := e.Pos - 1
	text := p.text[:at] + fix + p.text[at+len(e.Value):]
	fixed := split(text)
	if skip := len(fixed) - len(words); skip > 0 {
		fixed = fixed[skip:] // the zone prefix
	}
	if p.try(fixed) == nil {
		return ""
	}
	return text
}
