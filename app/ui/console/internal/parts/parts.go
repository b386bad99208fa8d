package parts

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// The data of parts.html, one type per part.

// Chip is a state as a word with a mark, so that it is never told by colour alone.
type Chip struct{ Word, Tone, Mark string }

// Tones are the looks of states: good, needs care, bad, in progress, or at rest.
var Tones = map[string][2]string{
	"succeeded": {"good", "✓"}, "ok": {"good", "✓"}, "up": {"good", "✓"}, "active": {"good", "✓"}, "enqueued": {"good", "✓"},
	"failed": {"bad", "✕"}, "down": {"bad", "✕"}, "error": {"bad", "✕"}, "fail": {"bad", "✕"}, "lost": {"bad", "✕"}, "timeout": {"bad", "✕"}, "dead": {"bad", "✕"},
	"degraded": {"warn", "!"}, "late": {"warn", "!"}, "retrying": {"warn", "!"}, "failing": {"warn", "!"}, "disabled": {"bad", "✕"}, "confirming": {"warn", "!"}, "draining": {"warn", "!"},
	"running": {"busy", "▶"}, "recovering": {"busy", "▶"}, "ready": {"busy", "●"},
	"paused": {"idle", "‖"}, "canceled": {"idle", "–"}, "skipped": {"idle", "»"}, "scheduled": {"idle", "◷"}, "snoozed": {"idle", "◷"}, "waiting": {"idle", "◷"},
	"due": {"busy", "●"}, "not_due": {"idle", "◷"}, "left_out": {"idle", "»"}, "uploaded": {"good", "✓"}, "pending upload": {"idle", "◷"}, "behind": {"warn", "!"}, "expired": {"idle", "–"},
	"open": {"good", "✓"}, "closed": {"idle", "■"},
	"flapping": {"warn", "≈"}, "stale": {"warn", "?"}, "unstable": {"warn", "≈"}, "slow": {"warn", "!"}, "maintenance": {"busy", "◇"}, "muted": {"idle", "∅"}, "unknown": {"idle", "?"},
	"pending": {"busy", "◷"}, "sent": {"good", "✓"}, "suppressed": {"idle", "–"}, "ongoing": {"bad", "✕"}, "over": {"good", "✓"}, "acknowledged": {"busy", "✓"}, "investigating": {"warn", "…"}, "identified": {"warn", "!"}, "monitoring": {"busy", "◷"}, "resolved": {"good", "✓"}, "note": {"idle", "–"}, "public": {"idle", "○"}, "off": {"idle", "–"}, "on": {"good", "✓"},
	"changed": {"warn", "≠"}, "first": {"idle", "○"}, "reset": {"idle", "○"}, "baseline": {"good", "✓"},
	"new": {"idle", "○"}, "idle": {"idle", "○"}, "completed": {"idle", "■"}, "ended": {"idle", "■"}, "revoked": {"idle", "–"}, "used_up": {"idle", "■"}, "bad": {"bad", "✕"},
}

// NewChip is the chip of a state.
func NewChip(state any) Chip {
	word := fmt.Sprint(state)
	look, known := Tones[word]
	if !known {
		look = [2]string{"idle", "○"}
	}
	return Chip{Words(word), look[0], look[1]}
}

// empty is the part for an empty list, with the first step.
type empty struct{ Title, Text, CLI, Link, Button string }

func newEmpty(title, text, cli string) empty { return empty{Title: title, Text: text, CLI: cli} }

// newEmptyWith is newEmpty with a button for the first step, if there is a link.
func newEmptyWith(title, text, cli, link, button string) empty {
	return empty{title, text, cli, link, button}
}

// Pager links to the next page of a list, and back to the first.
type Pager struct{ First, Next string }

// Bar is a share of a whole, for the part "bar". Without a whole its length is unknown, and it only moves.
type Bar struct {
	Label      string
	Value, Max float64
	Text       string
	Tone       string
}

// NewBar returns the bar of a part of a whole.
func NewBar(label string, value, of float64, text, tone string) Bar {
	return Bar{label, value, of, text, tone}
}

// Field is an input of a form, with its faults.
type Field struct {
	ID, Name, Label, Type, Value, Hint string
	Required                           bool
	List                               string            // ID of a datalist with suggestions
	Offers                             []string          // suggestions; other values can be typed
	Titles                             map[string]string // of suggestions that are names of objects
	Each                               bool              // the offers are for each word of a list
	Code                               bool              // of an area: it is a program, and large
	Unkept                             bool              // of an area: it is a secret, which no draft keeps
	Options                            []string          // of a choice
	Names                              map[string]string // of options, for people
	Faults                             []core.FieldError
}

// NewField is an input by its name in the API, with the faults in err of the field and of its parts.
func NewField(name, label, kind, value, hint string, err error) Field {
	f := Field{ID: "f-" + strings.NewReplacer(".", "-", "[", "-", "]", "").Replace(name), Name: name, Label: label, Type: kind, Value: value, Hint: hint}
	for _, fault := range FaultsOf(err) {
		inner, is := strings.CutPrefix(fault.Field, name)
		if !is || inner != "" && inner[0] != '.' && inner[0] != '[' {
			continue
		}
		if key, is := strings.CutPrefix(inner, "."); is {
			fault.Message = key + " " + fault.Message
		}
		f.Faults = append(f.Faults, fault)
	}
	return f
}

// Need makes an input required.
func (f Field) Need() Field { f.Required = true; return f }

// Among makes an input a choice of options.
func (f Field) Among(options ...string) Field { f.Type, f.Options = "select", options; return f }

// Named gives options names for people. Others are shown as they are.
func (f Field) Named(names map[string]string) Field { f.Names = names; return f }

// OptionName is an option for people.
func (f Field) OptionName(option string) string {
	if name, is := f.Names[option]; is {
		return name
	}
	return option
}

// Offer adds suggestions. Other values can be typed.
func (f Field) Offer(values ...string) Field {
	if len(values) > 0 {
		f.Offers, f.List = values, f.ID+"-list"
	}
	return f
}

// From takes suggestions from a datalist.
func (f Field) From(list string) Field { f.List = list; return f }

// OwnFaults are the faults shown at the input.
func (f Field) OwnFaults() []core.FieldError { return f.Faults }

// faulty is a part that shows its own faults.
type faulty interface{ OwnFaults() []core.FieldError }

// FaultsOf returns the faults of fields in an error.
func FaultsOf(err error) []core.FieldError {
	if e := AsError(err); e != nil {
		return e.Fields
	}
	return nil
}

// AsError returns the error of the API in err, or nil.
func AsError(err error) *core.Error {
	var e *core.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// problem is an error for the part "problem".
type problem struct {
	Message string
	Hint    string
	Faults  []core.FieldError
}

// ProblemOf returns the part "problem" of an error: its message and its hint.
func ProblemOf(err error) *problem {
	if err == nil {
		return nil
	}
	var e *core.Error
	if !errors.As(err, &e) {
		return &problem{Message: "Something went wrong on our side.", Hint: "The server's log says more."}
	}
	message := e.Message
	if subject, _, _ := strings.Cut(message, `"`); e.Code == core.Invalid && len(e.Fields) > 0 && !saysFault.MatchString(subject) {
		message = "invalid " + message
	}
	return &problem{Message: sentence(message), Hint: sentence(e.Hint), Faults: e.Fields}
}

// saysFault matches messages that state the fault of an input, and not those that only name the input.
var saysFault = regexp.MustCompile(`\b(not|cannot|no|invalid|is|are|must)\b`)

// above is the problem above a refused form, without the faults that its parts
// show. shown are these parts, lists of them, or names of fields.
func above(err error, shown ...any) *problem {
	e := ProblemOf(err)
	if e == nil {
		return nil
	}
	var names []string
	add := func(faults []core.FieldError) {
		for _, fault := range faults {
			names = append(names, fault.Field)
		}
	}
	for _, s := range shown {
		switch s := s.(type) {
		case string:
			names = append(names, s)
		case faulty:
			add(s.OwnFaults())
		default: // a list of such parts
			list := reflect.ValueOf(s)
			for i := range list.Len() {
				add(list.Index(i).Interface().(faulty).OwnFaults())
			}
		}
	}
	all := e.Faults
	e.Faults = slices.DeleteFunc(slices.Clone(all), func(fault core.FieldError) bool { return slices.Contains(names, fault.Field) })
	if len(e.Faults) < len(all) && e.Hint == "" {
		e.Hint = "Correct the marked fields."
	}
	return e
}

// sentence begins with a capital and ends with a stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?…") {
		text += "."
	}
	return text
}

// Tab is one tab of a row of tabs.
type Tab struct {
	Name, Link string
	Here       bool
	Count      string
}

// NewTab is a tab.
func NewTab(name, link string, here bool, count string) Tab { return Tab{name, link, here, count} }

// Stat is a number that matters.
type Stat struct {
	Label, Value, Note, Link, Tone string
}

// NewStat is a number that matters.
func NewStat(label, value, note, link, tone string) Stat { return Stat{label, value, note, link, tone} }

// Confirm is a button that asks before it sends its form. It works without
// scripts.
type Confirm struct {
	ID     string // unique on the page
	Button string // label of the button
	Danger bool
	Main   bool   // the primary button of its page
	Title  string // the question
	Text   string // the effect
	Action string // where the form goes
	Fields []Field
	Hidden map[string]string
	Do     string // label of the button inside; default: the same
	Cmd    *Command
}

// Label of the button inside.
func (c Confirm) Label() string {
	if c.Do != "" {
		return c.Do
	}
	return c.Button
}

// Dismiss is the label of the button that closes the dialog: Cancel, unless the
// other button cancels something.
func (c Confirm) Dismiss() string {
	if strings.HasPrefix(c.Button, "Cancel") {
		return "Go back"
	}
	return "Cancel"
}

// Strip is the last results of something, oldest first, as small bars.
type Strip struct {
	Label string
	Cells []Cell
}

// Cell is a bar of a strip.
type Cell struct {
	Tone  string // good, warn, bad, busy, idle or none
	Title string
	Link  string
	Part  float64 // its height, as a share of the highest; 0: by its tone
}

// Said is the strip in words.
func (s Strip) Said() string {
	counts := map[string]int{}
	for _, c := range s.Cells {
		counts[c.Tone]++
	}
	var parts []string
	for _, t := range []struct{ tone, word string }{{"good", "good"}, {"warn", "with a warning"}, {"bad", "bad"}, {"busy", "under way"}, {"idle", "skipped"}} {
		if n := counts[t.tone]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t.word))
		}
	}
	if len(parts) == 0 {
		return s.Label + ": nothing yet"
	}
	return s.Label + ": " + strings.Join(parts, ", ")
}

// Width of the picture, and the place of a bar in it.
func (s Strip) Width() int { return max(len(s.Cells), 1) * 8 }

// X is where a bar begins.
func (s Strip) X(i int) int { return i * 8 }

// Top is the upper end of a bar, which ends at the bottom of the picture.
func (c Cell) Top() int {
	if c.Part > 0 {
		return stripHeight - max(3, int(min(c.Part, 1)*stripHeight+.5))
	}
	return map[string]int{"good": 4, "warn": 2, "busy": 6, "idle": 10, "none": 14}[c.Tone]
}

// Height of a bar.
func (c Cell) Height() int { return stripHeight - c.Top() }

const stripHeight = 18

// Step is one of a stepper.
type Step struct {
	Name, State string // a job state, as for a chip
	Note        string
	Link        string
	At          *Moment
}

// Command is the command line and the request of an action.
type Command struct{ Curl, CLI string }

// Quote quotes a word for a shell.
func Quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,?&") == "" && !strings.ContainsAny(word, "?&") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Chart is numbers over time or over names. It is a table, which a script draws;
// the table stays for readers who cannot see the picture.
type Chart struct {
	Title  string
	Kind   string // line, stacked or bars
	Unit   string // ms, jobs, …
	X      string // title of the first column
	Series []string
	Tones  string // of the series, such as good bad; default: in a fixed order
	Rows   []ChartRow
	Spans  []ChartSpan // shaded times, behind the lines
	About  string      // description of the numbers
}

// ChartSpan is a shaded time of a chart, such as an incident.
type ChartSpan struct{ From, To time.Time }

// SpanTimes are the ends of the spans in seconds, for the script that draws them.
func (c Chart) SpanTimes() string {
	text := make([]string, len(c.Spans))
	for i, s := range c.Spans {
		text[i] = fmt.Sprintf("%d-%d", s.From.Unix(), s.To.Unix())
	}
	return strings.Join(text, " ")
}

// ChartRow is a row of the table, with a value of each series.
type ChartRow struct {
	At     time.Time // of the first column
	Values []*float64
}

// Attr is the instant for machines.
func (r ChartRow) Attr() string { return r.At.UTC().Format(time.RFC3339) }

// Text is the instant for people.
func (r ChartRow) Text() string { return TimeTitle(r.At) }

// Search is the input of a search in a language of terms, with its help and the
// faults of the search.
type Search struct {
	Action, Namespace string
	Label, Text, Like string
	Most              int // bytes
	Faults            []core.FieldError
	Terms             []SearchTerm
}

// SearchTerm is an example of a term, with its meaning.
type SearchTerm struct{ Like, Means string }

// Fact is a setting, in words.
type Fact struct{ Name, Value string }

// Instant asks whether an instant is a time of the schedule.
type Instant struct {
	Text string
	Err  error
	Is   *bool
	Why  []string
}

// Yes reports that it is one, if it is known.
func (i Instant) Yes() bool { return i.Is != nil && *i.Is }
