package fields

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Read reads one field of an expression, which begins in column pos of the text.
func Read(f *Field, written string, pos int) (Column, error) {
	c, begin := Column{Field: f}, pos
	text := strings.ToUpper(written)
	if len(text) != len(written) { // a letter whose upper case is longer is not in the grammar
		return c, &refusal.Error{Field: f.Name, Value: written, Pos: pos, Msg: "holds a character that cron does not know"}
	}
	if f.weekday && text[0] == '+' {
		c.and = true
		text, pos = text[1:], pos+1
	}
	for part := range strings.SplitSeq(text, ",") {
		i, err := f.item(part, pos)
		if err != nil {
			return c, err
		}
		c.items = append(c.items, i)
		pos += len(part) + 1
	}
	for _, i := range c.items {
		if i.form == anyDay && len(c.items) > 1 {
			return c, f.wrong(written, begin, "mixes ? with other values", "use ? alone")
		}
	}
	return c, nil
}

// wrong is an error about this field.
func (f *Field) wrong(value string, pos int, msg, hint string) *refusal.Error {
	return &refusal.Error{Field: f.Name, Value: value, Pos: pos, Msg: msg, Hint: hint}
}

// item reads one part of a comma list.
func (f *Field) item(s string, pos int) (item, error) {
	if s == "" {
		return item{}, f.wrong("", pos, "has an empty part", "remove the extra comma")
	}
	body, step, stepped := strings.Cut(s, "/")
	i, err := f.body(body, pos)
	if err != nil || !stepped {
		return i, err
	}
	return f.step(i, s, step, pos+len(body)+1)
}

// step adds /n to an item.
func (f *Field) step(i item, s, step string, pos int) (item, error) {
	n, ok := spell.Number(step)
	switch {
	case !ok || n == 0:
		return i, f.wrong(s, pos, "needs a whole number above zero behind /", "did you mean "+strconv.Quote(s[:strings.IndexByte(s, '/')]+"/5")+"?")
	case n > f.size():
		return i, f.wrong(s, pos, fmt.Sprintf("steps further than the field is long (%d)", f.size()), f.longStep(n))
	}
	switch i.form {
	case star:
	case hashed:
		i.through = !i.ranged
	case anyDay:
		i.form = star
	case values:
		if i.lo == i.hi && !i.ranged {
			i.hi, i.ranged, i.through = f.max, true, true
		}
	default:
		return i, f.wrong(s, pos-1, "cannot have a step", "remove /"+step)
	}
	i.step = n
	return i, nil
}

// longStep is the hint for a step that is too long, such as */90.
func (f *Field) longStep(n int) string {
	switch f {
	case secondField:
		return fmt.Sprintf(`did you mean "@every %ds"?`, n)
	case minuteField:
		return fmt.Sprintf(`did you mean "@every %dm"?`, n)
	case hourField:
		return fmt.Sprintf(`did you mean "@every %dh"?`, n)
	}
	return "use a smaller step"
}

// body reads an item without its step.
func (f *Field) body(s string, pos int) (item, error) {
	switch {
	case s == "*":
		return item{form: star}, nil
	case s == "?" && (f.day || f.weekday):
		return item{form: anyDay}, nil
	case s == "?":
		return item{}, f.wrong(s, pos, "stands only in a day field", `use "*"`)
	case s[:min(1, len(s))] == "H":
		return f.hashItem(s, pos)
	case f.day && strings.ContainsAny(s, "LW"):
		return f.dayItem(s, pos)
	case f.weekday && (strings.HasSuffix(s, "L") || strings.Contains(s, "#")):
		return f.weekdayItem(s, pos)
	}
	return f.rangeItem(s, pos)
}

// rangeItem reads a or a-b.
func (f *Field) rangeItem(s string, pos int) (item, error) {
	a, b, ranged := strings.Cut(s, "-")
	lo, err := f.value(a, pos)
	if err != nil {
		return item{}, err
	}
	i := item{form: values, lo: lo, hi: lo}
	if !ranged {
		if f.weekday && i.lo == 7 {
			i.lo, i.hi = 0, 0
		}
		return i, nil
	}
	if i.hi, err = f.value(b, pos+len(a)+1); err != nil {
		return item{}, err
	}
	i.ranged = true
	return f.wrap(i, s, pos)
}

// wrap settles ranges that run past the end of the field, and weekday 7.
func (f *Field) wrap(i item, s string, pos int) (item, error) {
	if f == yearField && i.lo > i.hi {
		return i, f.wrong(s, pos, "runs backwards", fmt.Sprintf("did you mean %q?", f.label(i.hi)+"-"+f.label(i.lo)))
	}
	if !f.weekday {
		return i, nil
	}
	if i.hi-i.lo >= 7 { // 0-7
		return item{form: values, lo: 0, hi: 6, ranged: true}, nil
	}
	i.lo, i.hi = i.lo%7, i.hi%7
	return i, nil
}

// value reads a number or a name.
func (f *Field) value(s string, pos int) (int, error) {
	if n, ok := spell.Number(s); ok {
		top := f.max
		if f.weekday {
			top = 7
		}
		if n < f.min || n > top {
			return 0, f.wrong(s, pos, fmt.Sprintf("is outside %d to %d", f.min, top), f.rangeHint(n))
		}
		return n, nil
	}
	if n, ok := f.named(s); ok {
		return n, nil
	}
	return 0, f.unknown(s, pos)
}

// rangeHint knows the two usual slips.
func (f *Field) rangeHint(n int) string {
	switch {
	case f == hourField && n == 24, f == minuteField && n == 60, f == secondField && n == 60:
		return "did you mean 0?"
	case (f.day || f == monthField) && n == 0:
		return "did you mean 1?"
	case f.weekday && n >= epochYear:
		return "six fields start with the second; a year is the seventh"
	}
	return ""
}

// named looks a name up: three letters or the whole word.
func (f *Field) named(s string) (int, bool) {
	for i, name := range f.names {
		if s == name || s == f.long[i] {
			return f.min + i, true
		}
	}
	return 0, false
}

// unknown is the error for a value that is neither number nor name.
func (f *Field) unknown(s string, pos int) *refusal.Error {
	e := f.wrong(s, pos, "is not a number", "")
	if s == "" {
		e.Msg = "lacks a value"
	}
	if f.names != nil && s != "" {
		e.Msg = "is neither a number nor a name"
		fix := spell.Nearest(s, f.names)
		e = refusal.WithFix(e, fix)
		e.Hint = spell.DidYouMean(fix, "the names are "+strings.Join(f.names, " "))
	}
	for _, other := range []*Field{monthField, Weekday} {
		if _, ok := other.named(s); ok {
			e.Msg = "is a " + other.Name + ", and this is the " + f.Name + " field"
		}
	}
	return e
}

// hashItem reads H or H(a-b).
func (f *Field) hashItem(s string, pos int) (item, error) {
	i := item{form: hashed, lo: f.min, hi: f.max}
	if f == yearField {
		return i, f.wrong(s, pos, "cannot be hashed", "name the years")
	}
	if f.day {
		i.hi = 28 // so that it comes every month
	}
	if s == "H" {
		return i, nil
	}
	if len(s) < 3 || s[1] != '(' || s[len(s)-1] != ')' {
		return i, f.wrong(s, pos, "is not a hash", fmt.Sprintf("write H, H/2 or H(%d-%d)", f.min, i.hi))
	}
	r, err := f.rangeItem(s[2:len(s)-1], pos+2)
	if err != nil {
		return i, err
	}
	if r.lo >= r.hi {
		return i, f.wrong(s, pos+2, "needs a range that grows", fmt.Sprintf("write H(%d-%d)", f.min, i.hi))
	}
	i.lo, i.hi, i.ranged = r.lo, r.hi, true
	return i, nil
}

// dayItem reads L, L-n, LW, L-nW and nW.
func (f *Field) dayItem(s string, pos int) (item, error) {
	i := item{form: lastDay}
	rest, work := strings.CutSuffix(s, "W")
	if work {
		i.form = lastWork
	}
	if rest == "L" {
		return i, nil
	}
	digits, before := strings.CutPrefix(rest, "L-")
	n, ok := spell.Number(digits)
	switch {
	case before && ok && n >= 1 && n <= 30:
		i.lo = n
	case !before && work && ok && n >= 1 && n <= 31:
		i.form, i.lo = nearWork, n
	case !before && !work && !strings.HasPrefix(s, "L"):
		_, err := f.rangeItem(s, pos)
		return i, err
	default:
		return i, f.wrong(s, pos, "is not a day", "write L (last day), L-3 (three days before it), LW (last workday) or 15W (workday nearest to the 15th)")
	}
	return i, nil
}

// weekdayItem reads 5L and 5#3.
func (f *Field) weekdayItem(s string, pos int) (item, error) {
	if s == "L" {
		return item{}, f.wrong(s, pos, "needs a weekday in front: Quartz reads it as Saturday, others as the last day of the week",
			`did you mean "SAT", or "FRIL" for the last Friday of the month?`)
	}
	day, nth, numbered := strings.Cut(s, "#")
	if !numbered {
		day = s[:len(s)-1]
	}
	n, err := f.value(day, pos)
	if err != nil {
		return item{}, err
	}
	if !numbered || nth == "L" {
		return item{form: lastOf, lo: n % 7}, nil
	}
	k, ok := spell.Number(nth)
	if !ok || k < 1 || k > 5 {
		return item{}, f.wrong(s, pos+len(day)+1, "needs 1 to 5 behind #", fmt.Sprintf("did you mean \"%sL\" for the last?", day))
	}
	return item{form: nthOf, lo: n % 7, hi: k}, nil
}
