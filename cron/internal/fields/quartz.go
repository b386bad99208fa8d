package fields

import "strings"

// Quartz is the weekdays as Quartz would mean their numbers, where 1 is Sunday. Not ok: the text shows that no Quartz number
// was meant.
func (c Column) Quartz(text string) (moved Column, ok bool) {
	moved = c
	moved.items = nil
	for _, i := range c.items {
		i, ok := quartzItem(i, text)
		if !ok {
			return c, false
		}
		moved.items = append(moved.items, i)
	}
	return moved, true
}

// quartzItem is the item as Quartz would mean its numbers. Not ok: names or a 0 show that no Quartz number was meant.
func quartzItem(i item, text string) (item, bool) {
	for _, name := range weekdayNames {
		if strings.Contains(strings.ToUpper(text), name) {
			return i, false
		}
	}
	if strings.HasPrefix(text, "0") || strings.Contains(text, ",0") || strings.Contains(text, "-0") {
		return i, false
	}
	switch i.form {
	case values:
		i.lo, i.hi = (i.lo+6)%7, (i.hi+6)%7
	case lastOf, nthOf:
		i.lo = (i.lo + 6) % 7
	}
	return i, true
}

// SameDays reports whether two fields of weekdays beside one of days of the month name the same days.
func SameDays(dom, a, b Column, seed string) bool {
	return newDays(dom, a, seed) == newDays(dom, b, seed)
}
