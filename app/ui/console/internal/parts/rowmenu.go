package parts

import (
	"fmt"
	"strings"
)

// RowMenu has the actions on the rows of a list. It is on the page once, and a
// script opens it for the row whose button was pressed. Without scripts, the page
// of the object has the same actions.
type RowMenu struct {
	Next  string // where actions come back to
	Items []RowItem
}

// RowItem is an action of a [RowMenu].
type RowItem struct {
	Icon, Name string
	Key        string // a row that lacks it does not have the item
	To         string // behind the address of the row, such as /edit; or a whole address, with [RowName]
	Post       bool   // it sends a form
	Asks, Text string // the question before it is sent, which ends before the name, and the effect
}

// RowName stands for the name of a row in an address.
const RowName = "--row--"

// NewRowMenu is a menu of items, without those that may not be used.
func NewRowMenu(next string, items ...RowItem) RowMenu {
	m := RowMenu{Next: next}
	for _, i := range items {
		if i.Name != "" {
			m.Items = append(m.Items, i)
		}
	}
	return m
}

// If is the item, or none.
func (i RowItem) If(may bool) RowItem {
	if may {
		return i
	}
	return RowItem{}
}

// Sends reports that some item sends a form at once.
func (m RowMenu) Sends() bool {
	for _, i := range m.Items {
		if i.Post && i.Asks == "" {
			return true
		}
	}
	return false
}

// rowButton opens the menu for a row.
type rowButton struct{ Link, Name, Lacks, Sent string }

// newRowButton is that of a row with its address, its name, and the keys of items that it lacks.
func newRowButton(link string, name any, lacks ...string) rowButton {
	return rowButton{Link: link, Name: textOf(name), Lacks: strings.Join(lacks, " ")}
}

// WithKey is the button of a row whose actions send an idempotency key.
func (b rowButton) WithKey(key string) rowButton {
	b.Sent = key
	return b
}

// switchLacks returns the action that an object does not allow: disabling it again, or enabling it.
func switchLacks(off bool) string {
	if off {
		return "off"
	}
	return "on"
}

func textOf(v any) string {
	if text, is := v.(string); is {
		return text
	}
	return fmt.Sprint("job ", v)
}
