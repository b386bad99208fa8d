//go:build oracles

package oracles

import (
	"fmt"
	"slices"
	"strings"
)

// kind is the kind of an item of a cron field.
type kind int

const (
	star     kind = iota // *
	question             // ?
	starStep             // */n
	value                // a
	span                 // a-b
	oneSpan              // a-a
	wrap                 // b-a
	openStep             // a/n
	spanStep             // a-b/n
	wrapStep             // b-a/n
	last                 // L
	lastLess             // L-n
	lastWork             // LW
	nearWork             // nW
	lastOf               // 5L
	nthOf                // 5#3
	toSeven              // a-7
	sunToSun             // SUN-SUN
)

// column is one field of an expression and its items.
type column struct {
	at     int // index into bounds
	texts  []string
	kinds  []kind
	values []int // the values of plain items, with repeats
}

const (
	second = iota
	minute
	hour
	day
	month
	weekday
	year
)

var bounds = [...][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}, {2024, 2060}}

var names = map[int][]string{
	month:   {"", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
	weekday: {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
}

// cronRule is a random expression and the generator's knowledge of it, which is independent of package cron.
type cronRule struct {
	columns []column // second to year; absent ones have no text
	plus    bool     // + before the weekday
	zone    string
	from    int64
	gap     string // the setting of package cron
	fold    string
}

func (c *column) has(kinds ...kind) bool {
	for _, k := range c.kinds {
		for _, want := range kinds {
			if k == want {
				return true
			}
		}
	}
	return false
}

func (c *column) text() string { return strings.Join(c.texts, ",") }

// starred reports whether the field starts with a star, as Vixie cron tests it.
func (c *column) starred() bool {
	return c.kinds[0] == star || c.kinds[0] == question || c.kinds[0] == starStep
}

// plain reports whether the field is a lone star.
func (c *column) plain() bool {
	return len(c.kinds) == 1 && (c.kinds[0] == star || c.kinds[0] == question)
}

// both reports whether a day must match both day fields.
func (r *cronRule) both() bool {
	return r.plus || r.columns[day].starred() || r.columns[weekday].starred()
}

// falseStar reports whether a day field starts with a star and yet restricts the days, beside another that restricts them:
// Vixie cron then requires both, others require either.
func (r *cronRule) falseStar() bool {
	d, w := &r.columns[day], &r.columns[weekday]
	return !r.plus && !d.plain() && !w.plain() && r.both()
}

// listed reports whether second, minute and hour are single values or lists of values.
func (r *cronRule) listed() bool {
	for _, c := range r.columns[:day] {
		for _, k := range c.kinds {
			if k != value {
				return false
			}
		}
	}
	return true
}

// onceAnHour reports whether the rule names one second of one minute.
func (r *cronRule) onceAnHour() bool {
	one := func(c *column) bool {
		return len(c.values) == 0 && len(c.texts) == 0 || len(c.values) > 0 && slices.Min(c.values) == slices.Max(c.values)
	}
	return one(&r.columns[second]) && one(&r.columns[minute])
}

func (r *cronRule) any(kinds ...kind) bool {
	for i := range r.columns {
		if r.columns[i].has(kinds...) {
			return true
		}
	}
	return false
}

func (r *cronRule) fields() int {
	n := 0
	for _, c := range r.columns {
		if len(c.texts) > 0 {
			n++
		}
	}
	return n
}

// text returns the expression for package cron.
func (r *cronRule) text() string {
	var list []string
	for _, c := range r.columns {
		if len(c.texts) == 0 {
			continue
		}
		text := c.text()
		if c.at == weekday && r.plus {
			text = "+" + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func (r *cronRule) String() string {
	return fmt.Sprintf("%q in %s after %d (gap %q, fold %q)", r.text(), r.zone, r.from, r.gap, r.fold)
}

// label writes a value, half of the time by its name if it has one.
func label(d dice, at, n int) string {
	if list := names[at]; list != nil && d.chance(50) {
		if d.chance(30) {
			return strings.ToLower(list[n])
		}
		return list[n]
	}
	if at == weekday && n == 0 && d.chance(30) {
		return "7"
	}
	return fmt.Sprint(n)
}

// randomCron makes an expression of 5, 6 or 7 fields.
func randomCron(d dice) *cronRule {
	r := &cronRule{columns: make([]column, 7), gap: "run_after", fold: "first"}
	fields := oneOf(d, 5, 5, 5, 5, 6, 6, 6, 7)
	for at := range r.columns {
		r.columns[at] = column{at: at}
		if at == second && fields == 5 || at == year && fields < 7 {
			if at == second {
				r.columns[at].kinds = []kind{value}
			}
			continue
		}
		r.columns[at].fill(d)
	}
	r.plus = d.chance(8) && !r.columns[weekday].starred()
	return r
}

// fill makes the items of a field: a star, or one to four others.
func (c *column) fill(d dice) {
	stars := map[int]int{second: 15, minute: 15, hour: 25, day: 45, month: 60, weekday: 45, year: 40}[c.at]
	switch {
	case d.chance(stars):
		if (c.at == day || c.at == weekday) && d.chance(20) {
			c.add("?", question)
			return
		}
		c.add("*", star)
		return
	case d.chance(15):
		step := c.step(d)
		c.add(fmt.Sprintf("*/%d", step), starStep)
		c.spread(bounds[c.at][0], bounds[c.at][1], step)
		if d.chance(80) {
			return
		}
	}
	for n := 1; ; n++ {
		c.item(d)
		if n == 4 || !d.chance(35) {
			return
		}
	}
}

func (c *column) add(text string, k kind) {
	c.texts = append(c.texts, text)
	c.kinds = append(c.kinds, k)
}

// spread adds values; values past the end of the field wrap.
func (c *column) spread(lo, hi, step int) {
	first, size := bounds[c.at][0], bounds[c.at][1]-bounds[c.at][0]+1
	for n := lo; n <= hi; n += step {
		c.values = append(c.values, first+(n-first)%size)
	}
}

func (c *column) step(d dice) int {
	lo, hi := bounds[c.at][0], bounds[c.at][1]
	return d.between(1, min(20, hi-lo+1))
}

func (c *column) item(d dice) {
	lo, hi := bounds[c.at][0], bounds[c.at][1]
	if special := c.at == day && d.chance(25) || c.at == weekday && d.chance(25); special {
		c.special(d)
		return
	}
	a, b := d.between(lo, hi), d.between(lo, hi)
	a, b = min(a, b), max(a, b)
	step := c.step(d)
	x, y := label(d, c.at, a), label(d, c.at, b)
	if c.at == weekday && a == 0 {
		x = oneOf(d, "SUN", "0") // 7 ends a range and does not begin it
		if b == 0 {
			y = x
		}
	}
	switch n := d.IntN(100); {
	case n < 55:
		if c.at == weekday && a == 0 {
			x = label(d, c.at, 0)
		}
		c.add(x, value)
		c.spread(a, a, 1)
	case n < 60 && c.at == weekday:
		c.add(fmt.Sprintf("%d-7", a), toSeven)
		c.spread(a, 6, 1)
		if a > 0 {
			c.spread(0, 0, 1)
		}
	case c.at == weekday && b == 0:
		c.add(x+"-"+y, sunToSun)
		c.spread(0, 0, 1)
	case a == b:
		c.add(x+"-"+y, oneSpan)
		c.spread(a, a, 1)
	case n < 70:
		c.add(x+"-"+y, span)
		c.spread(a, b, 1)
	case n < 73 && c.at != year:
		c.add(y+"-"+x, wrap)
		c.spread(b, a+hi-lo+1, 1)
	case n < 82:
		c.add(fmt.Sprintf("%s/%d", x, step), openStep)
		c.spread(a, hi, step)
	case n < 98 || c.at == year:
		c.add(fmt.Sprintf("%s-%s/%d", x, y, step), spanStep)
		c.spread(a, b, step)
	default:
		c.add(fmt.Sprintf("%s-%s/%d", y, x, step), wrapStep)
		c.spread(b, a+hi-lo+1, step)
	}
}

func (c *column) special(d dice) {
	if c.at == weekday {
		n := d.between(0, 6)
		if d.chance(50) {
			c.add(label(d, weekday, n)+"L", lastOf)
			c.values = append(c.values, 100+n)
		} else {
			c.add(fmt.Sprintf("%s#%d", label(d, weekday, n), d.between(1, 5)), nthOf)
		}
		return
	}
	switch d.IntN(6) {
	case 0, 1:
		c.add("L", last)
		c.values = append(c.values, 100)
	case 2:
		c.add("LW", lastWork)
	case 3:
		c.add(fmt.Sprintf("L-%d", d.between(1, 29)), lastLess)
	default:
		c.add(fmt.Sprintf("%dW", d.between(1, 31)), nearWork)
	}
}

// full reports whether plain items name every value of the field.
func (c *column) full() bool {
	seen := make(map[int]bool)
	for _, n := range c.values {
		if n < 100 || c.at == year {
			seen[n] = true
		}
	}
	return len(seen) == bounds[c.at][1]-bounds[c.at][0]+1
}

// repeats reports whether a list names a value twice.
func (c *column) repeats() bool {
	seen := make(map[int]bool)
	for _, n := range c.values {
		if seen[n] {
			return true
		}
		seen[n] = true
	}
	return false
}
