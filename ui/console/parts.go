package console

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// What stands here is the data of templates/parts.html, one type per part.

// chip is a state as a word with a mark, so that it is never told by colour alone.
type chip struct{ Word, Tone, Mark string }

// tones are the ways that states look: what is well, needs care, is bad, is
// under way, or is at rest.
var tones = map[string][2]string{
	"succeeded": {"good", "✓"}, "ok": {"good", "✓"}, "up": {"good", "✓"}, "active": {"good", "✓"}, "enqueued": {"good", "✓"},
	"failed": {"bad", "✕"}, "down": {"bad", "✕"}, "error": {"bad", "✕"}, "fail": {"bad", "✕"}, "lost": {"bad", "✕"}, "timeout": {"bad", "✕"}, "dead": {"bad", "✕"},
	"degraded": {"warn", "!"}, "late": {"warn", "!"}, "retrying": {"warn", "!"}, "confirming": {"warn", "!"}, "draining": {"warn", "!"},
	"running": {"busy", "▶"}, "recovering": {"busy", "▶"}, "ready": {"busy", "●"},
	"paused": {"idle", "‖"}, "canceled": {"idle", "–"}, "skipped": {"idle", "»"}, "scheduled": {"idle", "◷"}, "waiting": {"idle", "◷"},
	"due": {"busy", "●"}, "not_due": {"idle", "◷"}, "left_out": {"idle", "»"}, "posted": {"good", "✓"}, "behind": {"warn", "!"}, "expired": {"idle", "–"},
	"open": {"good", "✓"}, "closed": {"idle", "■"},
	"flapping": {"warn", "≈"}, "stale": {"warn", "?"}, "slow": {"warn", "!"}, "maintenance": {"busy", "◇"}, "muted": {"idle", "∅"}, "unknown": {"idle", "?"},
	"pending": {"busy", "◷"}, "sent": {"good", "✓"}, "suppressed": {"idle", "–"}, "ongoing": {"bad", "✕"}, "over": {"good", "✓"}, "off": {"idle", "–"}, "on": {"good", "✓"},
	"changed": {"warn", "≠"}, "first": {"idle", "○"}, "reset": {"idle", "○"}, "baseline": {"good", "✓"},
	"new": {"idle", "○"}, "idle": {"idle", "○"}, "completed": {"idle", "■"}, "ended": {"idle", "■"}, "revoked": {"idle", "–"}, "used_up": {"idle", "■"}, "bad": {"bad", "✕"},
}

// newChip is the chip of a state.
func newChip(state any) chip {
	word := fmt.Sprint(state)
	look, known := tones[word]
	if !known {
		look = [2]string{"idle", "○"}
	}
	return chip{words(word), look[0], look[1]}
}

// empty says that there is nothing, and what to do first.
type empty struct{ Title, Text, CLI string }

func newEmpty(title, text, cli string) empty { return empty{title, text, cli} }

// pager goes on to the next page of a list, and back to the first.
type pager struct{ First, Next string }

// pager is that of a list under this address, by the cursor of its answer.
func (p *page) pager(next string) pager {
	var g pager
	if next != "" {
		g.Next = p.Here("cursor", next)
	}
	if p.Query("cursor") != "" {
		g.First = p.Here("cursor", "")
	}
	return g
}

// Pager is the pager of a list, for templates.
func (p *page) Pager(next string) pager { return p.pager(next) }

// bar is a share of a whole, for the part "bar". Without a whole it only moves.
type bar struct {
	Label      string
	Value, Max float64
	Text       string
	Tone       string
}

func newBar(label string, value, of float64, text, tone string) bar {
	return bar{label, value, of, text, tone}
}

// field is an input of a form, with what was wrong with it.
type field struct {
	ID, Name, Label, Type, Value, Hint string
	Required                           bool
	List                               string   // ID of a datalist with what to choose from
	Options                            []string // of a choice
	Faults                             []core.FieldError
}

// newField is an input by its name in the API. Faults are those of err about it.
func newField(name, label, kind, value, hint string, err error) field {
	f := field{ID: "f-" + strings.NewReplacer(".", "-", "[", "-", "]", "").Replace(name), Name: name, Label: label, Type: kind, Value: value, Hint: hint}
	for _, fault := range faultsOf(err) {
		if fault.Field == name {
			f.Faults = append(f.Faults, fault)
		}
	}
	return f
}

// Need makes an input a required one.
func (f field) Need() field { f.Required = true; return f }

// Among makes it a choice.
func (f field) Among(options ...string) field { f.Type, f.Options = "select", options; return f }

// From offers what a datalist has.
func (f field) From(list string) field { f.List = list; return f }

// OwnFaults are those that it shows.
func (f field) OwnFaults() []core.FieldError { return f.Faults }

// faulty is a part that shows what was wrong with it.
type faulty interface{ OwnFaults() []core.FieldError }

func faultsOf(err error) []core.FieldError {
	if e := asError(err); e != nil {
		return e.Fields
	}
	return nil
}

// asError is what the API said, or nil if it was something else.
func asError(err error) *core.Error {
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

// problemOf says what happened and what next.
func problemOf(err error) *problem {
	if err == nil {
		return nil
	}
	var e *core.Error
	if !errors.As(err, &e) {
		return &problem{Message: "Something went wrong on our side.", Hint: "The server's log says more."}
	}
	return &problem{Message: sentence(e.Message), Hint: sentence(e.Hint), Faults: e.Fields}
}

// above is what stands above a form that was refused: everything but the faults
// that its parts show. Shown are those parts, lists of them, or the names of fields.
func above(err error, shown ...any) *problem {
	e := problemOf(err)
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
		default: // a list of those
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

// tab is a page beside others.
type tab struct {
	Name, Link string
	Here       bool
	Count      string
}

func newTab(name, link string, here bool, count string) tab { return tab{name, link, here, count} }

// stat is a number that matters.
type stat struct {
	Label, Value, Note, Link, Tone string
}

func newStat(label, value, note, link, tone string) stat { return stat{label, value, note, link, tone} }

// confirm is a button that asks before it does what its form says. It works
// without scripts.
type confirm struct {
	ID     string // unique on the page
	Button string // what the button says
	Danger bool
	Title  string // the question
	Text   string // what will happen
	Action string // where the form goes
	Fields []field
	Hidden map[string]string
	Do     string // what the button inside says; default: the same
	Cmd    *command
}

// Label of the button inside.
func (c confirm) Label() string {
	if c.Do != "" {
		return c.Do
	}
	return c.Button
}

// Dismiss is what the button says that does nothing: Cancel, unless that is what
// the other one does.
func (c confirm) Dismiss() string {
	if strings.HasPrefix(c.Button, "Cancel") {
		return "Go back"
	}
	return "Cancel"
}

// strip is the last results of something, oldest first, as small bars.
type strip struct {
	Label string
	Cells []cell
}

type cell struct {
	Tone  string // good, warn, bad, busy, idle or none
	Title string
	Link  string
}

// Said is the strip in words.
func (s strip) Said() string {
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
func (s strip) Width() int  { return max(len(s.Cells), 1) * 8 }
func (s strip) X(i int) int { return i * 8 }
func (c cell) Top() int {
	return map[string]int{"good": 4, "warn": 2, "busy": 6, "idle": 10, "none": 14}[c.Tone]
}
func (c cell) Height() int { return 18 - c.Top() }

// step is one of a stepper.
type step struct {
	Name, State string // a job state, as for a chip
	Note        string
	Link        string
	At          *moment
}

// command is an action as it is done without this page.
type command struct{ Curl, CLI string }

// Command is an action by the API and by the command line. The body is JSON,
// or empty.
func (p *page) Command(method, path, body string, cli ...string) command {
	var b strings.Builder
	b.WriteString(`curl -H "Authorization: Bearer $BELFRY_TOKEN"`)
	if method != "GET" {
		b.WriteString(" -X " + method)
	}
	if body != "" {
		b.WriteString(" --json " + quote(body))
	}
	b.WriteString(" " + quote(p.c.base(p.r)+path))
	for i, word := range cli {
		cli[i] = quote(word)
	}
	text := "belfry " + strings.Join(cli, " ")
	if p.Namespace != core.DefaultNamespace {
		text += " --namespace " + quote(p.Namespace)
	}
	return command{Curl: b.String(), CLI: text}
}

// apiPath is a path of the API for a command, with the namespace that is shown.
func (p *page) apiPath(path string, query ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	if p.Namespace != p.home() {
		q.Set("namespace", p.Namespace)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// quote is a word as a shell takes it.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,?&") == "" && !strings.ContainsAny(word, "?&") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// chart is numbers over time or over names. It is a table, which the script
// draws: the table stays for who cannot see the picture.
type chart struct {
	Title  string
	Kind   string // line, stacked or bars
	Unit   string // ms, jobs, …
	X      string // what the first column is
	Series []string
	Tones  string // of the series, such as good bad; default: as they come
	Rows   []chartRow
}

type chartRow struct {
	At     time.Time // of the first column
	Values []*float64
}

// Attr is the instant for machines.
func (r chartRow) Attr() string { return r.At.UTC().Format(time.RFC3339) }

// Text is the instant for people.
func (r chartRow) Text() string { return r.At.UTC().Format("2 Jan 15:04") }

// search is the input of a search in a language of terms, with its help and
// with what is wrong with what was written.
type search struct {
	Action, Namespace string
	Label, Text, Like string
	Most              int // bytes
	Faults            []core.FieldError
	Terms             []searchTerm
}

// searchTerm is an example of a term, and what it finds.
type searchTerm struct{ Like, Means string }

// Elsewhere reports that pages show another namespace than one's own, which
// forms that lead to a page then name in a field, by the part "in-namespace".
func (p *page) Elsewhere() bool { return p.Namespace != p.home() }
