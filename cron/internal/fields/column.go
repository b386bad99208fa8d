package fields

import "strings"

// Column is a parsed field.
type Column struct {
	*Field
	items []item
	and   bool // weekday with a + in front
}

// star reports whether the text starts with a star, in the sense of Vixie cron's rule for the two day fields.
func (c Column) star() bool { return c.items[0].form == star || c.items[0].form == anyDay }

func (c Column) open() bool {
	for _, i := range c.items {
		if i.open() {
			return true
		}
	}
	return false
}

func (c Column) moving() bool {
	for _, i := range c.items {
		if i.moving() {
			return true
		}
	}
	return false
}

// Bits is the set of plain numbers in the column.
func (c Column) Bits(seed string) uint64 {
	var set uint64
	for _, i := range c.items {
		c.each(i, seed, func(n int) { set |= 1 << n })
	}
	return set
}

// String is the column in normal form: upper case, weekdays and months by name, no needless parts.
func (c Column) String() string {
	var b strings.Builder
	if c.and {
		b.WriteByte('+')
	}
	for n, i := range c.items {
		if n > 0 {
			b.WriteByte(',')
		}
		c.write(&b, i)
	}
	return b.String()
}

// Join is an expression in normal form.
func Join(cols []Column) string {
	words := make([]string, len(cols))
	for i, c := range cols {
		words[i] = c.String()
	}
	return strings.Join(words, " ")
}
