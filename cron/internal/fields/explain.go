package fields

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/civil"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// Explain returns the rule in words. The columns are those it was made of, with one for the seconds; fixed is what
// cron.Expr.Fixed says.
func (r *Rule) Explain(cols []Column, fixed bool) string {
	sets := []uint64{r.times.Sec, r.times.Min, uint64(r.times.Hour), uint64(r.days.dom), uint64(r.month), uint64(r.days.dow)}
	for i, set := range sets {
		cols[i] = cols[i].resolved(set)
	}
	text := r.explainTime(cols)
	if !r.days.plain {
		text += explainDays(cols[3], cols[5], &r.days)
	} else if fixed || r.month != 0x1ffe {
		text += " every day"
	}
	text += explainMonths(cols[4])
	if len(cols) == 7 && r.years != nil {
		text += " in " + phrase(cols[6])
	}
	return text
}

// resolved shows the numbers that H stands for.
func (c Column) resolved(set uint64) Column {
	hash := false
	for _, i := range c.items {
		hash = hash || i.form == hashed
	}
	if !hash {
		return c
	}
	if i := c.items[0]; len(c.items) == 1 && i.step > 0 {
		first, last := bits.TrailingZeros64(set), 63-bits.LeadingZeros64(set)
		c.items = []item{{form: values, lo: first, hi: last, step: i.step}}
		return c
	}
	c.items = nil
	for ; set != 0; set &= set - 1 {
		n := bits.TrailingZeros64(set)
		c.items = append(c.items, item{form: values, lo: n, hi: n})
	}
	return c
}

// explainTime is "at 09:00 and 17:30" or "every 5 minutes from 09:00 to 17:59".
func (r *Rule) explainTime(cols []Column) string {
	sec, min, hour := cols[0], cols[1], cols[2]
	if r.times.Count() <= 6 {
		times := make([]string, r.times.Count())
		for k := range times {
			times[k] = civil.ClockText(int64(r.times.At(k)))
		}
		return "at " + spell.List(times)
	}
	var parts []string
	if !only(sec, 0) {
		parts = append(parts, cadence(sec, "second"))
	}
	if text := cadence(min, "minute"); text != "every minute" || len(parts) == 0 {
		parts = append(parts, text)
	}
	switch {
	case hour.star() && hour.items[0].step <= 1:
		if !min.moving() && only(sec, 0) {
			return pastTheHour(min)
		}
		if !min.moving() {
			parts = append(parts, "of every hour")
		}
	case len(hour.items) == 1 && hour.items[0].form == values && hour.items[0].step == 0:
		i := hour.items[0]
		parts = append(parts, fmt.Sprintf("from %02d:00 to %02d:59", i.lo, i.hi))
	case hour.star():
		parts = append(parts, "of every "+spell.Ordinal(hour.items[0].step)+" hour")
	default:
		parts = append(parts, "of hour "+phrase(hour))
	}
	return strings.Join(parts, " ")
}

func only(c Column, n int) bool {
	return len(c.items) == 1 && c.items[0] == item{form: values, lo: n, hi: n}
}

func pastTheHour(min Column) string {
	if only(min, 0) {
		return "every hour on the hour"
	}
	return "every hour at minute " + phrase(min)
}

// cadence is "every 5 minutes", or "at minute 5 and 10".
func cadence(c Column, unit string) string {
	i := c.items[0]
	switch {
	case len(c.items) > 1 || i.form != star && i.step == 0:
		return "at " + unit + " " + phrase(c)
	case i.step <= 1 && i.form == star:
		return "every " + unit
	case i.form == star && c.size()%i.step == 0:
		return fmt.Sprintf("every %d %ss", i.step, unit)
	case i.form == star:
		return fmt.Sprintf("at every %s %s of its round, from 0", spell.Ordinal(i.step), unit)
	}
	if i.hi-i.lo+i.step == c.size() {
		return fmt.Sprintf("every %d %ss from %s %d on", i.step, unit, unit, i.lo)
	}
	return fmt.Sprintf("at every %s %s from %d to %d", spell.Ordinal(i.step), unit, i.lo, i.hi)
}

// explainDays puts the two day fields into words, unless they mean "every day".
func explainDays(dom, dow Column, d *days) string {
	a, b := "", ""
	if !dom.star() || dom.items[0].step > 1 {
		a = "on " + phrase(dom) + " of the month"
	}
	if !dow.star() || dow.items[0].step > 1 {
		b = "on " + phrase(dow)
	}
	switch {
	case a == "" || b == "":
		return " " + a + b
	case d.and:
		return " " + a + ", but only " + b
	}
	return " " + a + " and also " + b
}

func explainMonths(c Column) string {
	if c.star() && c.items[0].step <= 1 {
		return ""
	}
	return " in " + phrase(c)
}
