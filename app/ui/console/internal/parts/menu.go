package parts

import "html/template"

// Menu has the actions of a row, behind a button with three dots.
type Menu struct {
	ID    string // unique on the page
	Label string // such as Actions for backup
	Items []MenuItem
}

// MenuItem is an action of a menu: a link, a form that is sent at once, or a
// button that opens what asks first.
type MenuItem struct {
	Icon, Name string
	Link       string // where it leads; empty: it sends a form
	Action     string // where the form goes
	Asks       string // ID of the dialog that asks first
	Danger     bool
}

// NewMenu is a menu without the items that have nothing to do.
func NewMenu(id, label string, items ...MenuItem) Menu {
	m := Menu{ID: id, Label: label}
	for _, i := range items {
		if i.Link+i.Action+i.Asks != "" {
			m.Items = append(m.Items, i)
		}
	}
	return m
}

// NewMenuItem sends a form.
func NewMenuItem(icon, name, action string) MenuItem {
	return MenuItem{Icon: icon, Name: name, Action: action}
}

// LinkItem leads somewhere.
func LinkItem(icon, name, link string) MenuItem {
	return MenuItem{Icon: icon, Name: name, Link: link}
}

// AskItem is an action that opens a dialog first.
func AskItem(icon, name, asks string) MenuItem {
	return MenuItem{Icon: icon, Name: name, Asks: asks, Danger: true}
}

// dot is a state as a shape with a colour, for a row whose words are elsewhere.
type dot struct {
	Tone, Word string
	Icon       template.HTML
}

// newDot is the dot of a state.
func newDot(state any) (d dot, err error) {
	c := NewChip(state)
	d = dot{Tone: c.Tone, Word: c.Word}
	name, known := map[string]string{"good": "circle-check", "warn": "triangle-alert", "bad": "circle-alert", "busy": "play", "idle": "pause"}[c.Tone]
	if !known {
		name = "info"
	}
	d.Icon, err = icon(name)
	return d, err
}
