// Package forms has the forms of definitions: tables of inputs, which are shown, read and checked by the paths of their fields,
// and the clash of two edits of one definition. All areas of the console use it. A form never loses a field without an input,
// and never sends a secret back to the browser.
package forms

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/internal/size"
	"github.com/belfry-run/belfry/schedule"
)

//go:embed *.html
var files embed.FS

// Parts are the templates of forms.
var Parts = frame.Set{Files: files}

// Input is a field of a form about an object of the API. Its path is the field's
// name in the API's JSON, such as check.http.url or sections[0].title: the API's
// faults of that field stand beside it. A field without an input stays as it was,
// so a form with some of the fields loses none of the others.
type Input struct {
	Path, Label string
	Kind        inputKind
	Hint        string
	Options     []string          // of a choice or a set; an empty one means the default
	Names       map[string]string // of options, for people; default: those of the setting
	Titles      map[string]string // of options or offers that are names of objects; nil: they are none
	Offers      []string          // suggestions for a text, each word of a list, or the values of pairs
	Need        bool
	Code        bool   // of an area: it is a program
	Source      string // of an image: where it is shown from
}

// TitleHint is the help of a display title.
const TitleHint = "Shown to people, in any script. The name stays its address."

type inputKind string

// The kinds. Secrets are shown as core.Redacted, and kept while they read so.
const (
	asText     inputKind = "text"
	AsArea     inputKind = "area"
	AsNumber   inputKind = "number" // a whole one
	AsDuration inputKind = "duration"
	AsCheck    inputKind = "check"
	AsSize     inputKind = "size" // bytes
	AsChoice   inputKind = "choice"
	AsSet      inputKind = "set"   // some of the options
	AsLines    inputKind = "lines" // a list, one item a line
	AsWords    inputKind = "words" // a list, with spaces or commas between
	AsPairs    inputKind = "pairs" // a map, in rows of name and value
	AsSecret   inputKind = "secret"
	AsSecrets  inputKind = "secrets" // a map whose values are secrets
	AsRules    inputKind = "rules"   // cron or RRULE, one a line
	AsLimits   inputKind = "limits"  // of jobs, one a line
	AsJSON     inputKind = "json"    // any value
	AsTime     inputKind = "time"    // in the zone of the field zone
	AsImage    inputKind = "image"   // [Kept], or base64 until it is saved; a file is read with [Uploaded]
)

// Values are the values of a document for the inputs of a form.
func (d Document) Values(inputs []Input) url.Values {
	v := url.Values{}
	zone := zoneOf(fmt.Sprint(d.At("zone")))
	for _, in := range inputs {
		if in.Kind == AsSet {
			for _, item := range listOf(d.At(in.Path)) {
				v.Add(in.Path, item)
			}
			continue
		}
		if in.Kind == AsPairs || in.Kind == AsSecrets {
			pairs, _ := d.At(in.Path).(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(pairs)) {
				v.Add(in.Path+nameOf, name)
				v.Add(in.Path+valueOf, fmt.Sprint(pairs[name]))
			}
			continue
		}
		v.Set(in.Path, in.show(d.At(in.Path), zone))
	}
	return v
}

// Endings of the path of pairs, in the names of the inputs of a row.
const (
	nameOf  = "[name]"
	valueOf = "[value]"
)

func zoneOf(name string) *time.Location {
	zone, err := cron.LoadZone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

func listOf(v any) []string {
	var out []string
	list, _ := v.([]any)
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func (in Input) show(v any, zone *time.Location) string {
	if v == nil {
		return ""
	}
	switch in.Kind {
	case AsLines:
		return strings.Join(listOf(v), "\n")
	case AsWords:
		return strings.Join(listOf(v), ", ")
	case AsJSON:
		return parts.Pretty([]byte(parts.JSONText(v)))
	case AsRules:
		rules, _ := v.([]any)
		var lines []string
		for _, r := range rules {
			lines = append(lines, ruleLine(r))
		}
		return strings.Join(lines, "\n")
	case AsLimits:
		var limits []flow.Limit
		_ = json.Unmarshal([]byte(parts.JSONText(v)), &limits) // of the API
		return strings.Join(flow.LimitTexts(limits), "\n")
	case AsTime:
		at, err := time.Parse(time.RFC3339, fmt.Sprint(v))
		if err != nil {
			return ""
		}
		return at.In(zone).Format(timeLayout)
	case AsSize:
		if n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil {
			return core.ExactSize(n)
		}
	case AsNumber:
		if f, is := v.(float64); is {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	return fmt.Sprint(v)
}

const timeLayout = "2006-01-02T15:04"

// ruleLine is a rule as one line of a form; one that is no cron and no bare
// RRULE is its JSON, which [readRuleLine] takes as well.
func ruleLine(r any) string {
	fields, _ := r.(map[string]any)
	if len(fields) == 1 {
		for _, name := range []string{"cron", "rrule"} {
			if text, is := fields[name].(string); is && !strings.Contains(text, "\n") {
				return text
			}
		}
	}
	text, _ := plainjson.Marshal(r)
	return string(text)
}

func readRuleLine(line string) any {
	switch {
	case strings.HasPrefix(line, "{"):
		if json.Unmarshal([]byte(line), &schedule.Rule{}) == nil {
			return json.RawMessage(line)
		}
	case strings.HasPrefix(strings.ToUpper(line), "FREQ=") || strings.HasPrefix(strings.ToUpper(line), "RRULE:"):
		return map[string]any{"rrule": line}
	}
	return map[string]any{"cron": line}
}

// Read puts the fields of a form into a document. Its faults are those of values
// that cannot be read at all; the API finds the others.
func (d Document) Read(inputs []Input, form url.Values) error {
	var faults []core.FieldError
	zone := zoneOf(strings.TrimSpace(form.Get("zone")))
	for _, in := range inputs {
		if in.Kind == AsTime && form.Get(in.Path) == in.show(d.At(in.Path), zone) {
			continue // unchanged: keep the seconds, which the form does not show
		}
		value, err := in.value(form, zone)
		if err != nil {
			faults = append(faults, core.FieldError{Field: in.Path, Value: form.Get(in.Path), Message: err.Error()})
			continue
		}
		d.Set(in.Path, value)
	}
	if zone := strings.TrimSpace(form.Get("zone")); slices.ContainsFunc(inputs, func(in Input) bool { return in.Kind == AsTime }) {
		if _, err := cron.LoadZone(zone); err != nil {
			var p core.Problems
			p.AddCron("zone", zone, err)
			faults = append(faults, p...)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &core.Error{Code: core.Invalid, Message: "something in the form cannot be read", Fields: faults}
}

func (in Input) value(form url.Values, zone *time.Location) (any, error) {
	text := strings.ReplaceAll(form.Get(in.Path), "\r\n", "\n")
	if in.Kind != AsArea && in.Kind != AsSecret {
		text = strings.TrimSpace(text)
	}
	switch in.Kind {
	case AsSet:
		return anyList(form[in.Path]), nil
	case AsPairs, AsSecrets:
		return readPairs(text, form[in.Path+nameOf], form[in.Path+valueOf])
	}
	if text == "" {
		return nil, nil
	}
	switch in.Kind {
	case AsNumber:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, errors.New("is not a whole number")
		}
		return n, nil
	case AsSize:
		n, err := size.Parse(in.Path, text)
		if err != nil {
			fault := parts.FaultsOf(err)[0]
			return nil, fmt.Errorf("%s: write one %s", fault.Message, fault.Hint)
		}
		return n, nil
	case AsDuration:
		d, err := ReadLength(text)
		if err != nil {
			return nil, err
		}
		return d.String(), nil
	case AsCheck:
		return text == "true", nil
	case AsLines:
		return anyList(PartsOf(text, "\n")), nil
	case AsWords:
		return anyList(PartsOf(text, ", \t\n")), nil
	case AsRules:
		var rules []any
		for _, line := range PartsOf(text, "\n") {
			rules = append(rules, readRuleLine(line))
		}
		return rules, nil
	case AsLimits:
		limits, err := flow.ParseLimits(in.Path, PartsOf(text, "\n"))
		if err != nil {
			fault := parts.FaultsOf(err)[0]
			return nil, fmt.Errorf("%s: %s", fault.Message, fault.Hint)
		}
		return json.RawMessage(parts.JSONText(limits)), nil
	case AsJSON:
		if fault := JSONFault(text); fault != "" {
			return nil, errors.New("is not JSON: " + fault)
		}
		return json.RawMessage(text), nil
	case AsTime:
		at, err := time.ParseInLocation(timeLayout, text, zone)
		if err != nil {
			return nil, errors.New("is not a time such as 2026-01-31T22:00")
		}
		return cron.FirstOf(at).UTC().Format(time.RFC3339), nil
	}
	return text, nil
}

// PartsOf splits a text at some characters.
func PartsOf(text, between string) (parts []string) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(between, r) }) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func anyList(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// formGroup is a part of a form. A drawer is closed, unless one of its fields has a value or a fault.
type formGroup struct {
	Title  string
	Text   string
	Drawer bool
	Grid   bool   // short fields stand beside each other
	For    string // options of the choice "when" that it belongs to
	Open   bool
	Fields []formField
}

// OwnFaults are the faults of its fields.
func (g formGroup) OwnFaults() (faults []core.FieldError) {
	for _, f := range g.Fields {
		faults = append(faults, f.Faults...)
	}
	return faults
}

// formField is a field as the part "input" shows it.
type formField struct {
	parts.Field
	Set    []choice // of a set
	Rows   []pair   // of pairs
	Secret bool     // whose values are secrets
	Source string   // of an image
}

// pair is a row of name and value.
type pair struct {
	N           int
	Name, Value string
	Wrong       bool
}

// emptyPairs is how many rows a form has beyond those that are filled.
const emptyPairs = 3

type choice struct {
	Name, Words string
	Title       string // of the object that it names
	Named       bool   // it names an object
	On          bool
}

// pairsOf are the rows of pairs, and some empty ones.
func pairsOf(path string, values url.Values, faults []core.FieldError) (rows []pair) {
	add := func(name, value string) {
		wrong := slices.ContainsFunc(faults, func(f core.FieldError) bool { return name != "" && (f.Field == path+"."+name || f.Value == name) })
		rows = append(rows, pair{len(rows) + 1, name, value, wrong})
	}
	for i, name := range values[path+nameOf] {
		value := ""
		if all := values[path+valueOf]; i < len(all) {
			value = all[i]
		}
		if name != "" || value != "" {
			add(name, value)
		}
	}
	for _, line := range PartsOf(values.Get(path), "\n") {
		name, value, _ := strings.Cut(line, ":")
		add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	for range emptyPairs {
		add("", "")
	}
	return rows
}

func newFormField(in Input, values url.Values, err error) formField {
	kind := map[inputKind]string{
		AsArea: "area", AsLines: "area", AsPairs: "pairs", AsSecrets: "pairs", AsRules: "area", AsLimits: "area", AsJSON: "area", AsCheck: "check", AsChoice: "select", AsSecret: "password", AsTime: "datetime-local", AsSet: "set", AsImage: "image",
	}[in.Kind]
	if kind == "" {
		kind = "text"
	}
	f := parts.NewField(in.Path, in.Label, kind, values.Get(in.Path), in.Hint, err)
	f.Required, f.Options, f.Names, f.Code = in.Need, in.Options, in.Names, in.Code
	if f.Names == nil {
		f.Names = optionNames(in.Path)
	}
	f = f.Offer(in.Offers...)
	f.Titles = in.Titles
	f.Each = in.Kind == AsWords && len(in.Offers) > 0
	out := formField{Field: f, Source: in.Source, Secret: in.Kind == AsSecrets}
	if kind == "pairs" {
		out.Rows = pairsOf(in.Path, values, f.Faults)
	}
	if in.Kind == AsSet {
		for _, o := range in.Options {
			out.Set = append(out.Set, choice{Name: o, Words: f.OptionName(o), Title: in.Titles[o], Named: in.Titles != nil, On: slices.Contains(values[in.Path], o)})
		}
	}
	return out
}

// InputGroup is a part of a form before it is filled.
type InputGroup struct {
	Title, Text string
	Drawer      bool
	Grid        bool   // short fields stand beside each other
	For         string // options of the choice "when" that it belongs to, with spaces between; others hide it
	Inputs      []Input
}

// InputsOf are those of all groups.
func InputsOf(groups []InputGroup) (all []Input) {
	for _, g := range groups {
		all = append(all, g.Inputs...)
	}
	return all
}

// Fill fills the groups of a form with values and their faults.
func Fill(groups []InputGroup, values url.Values, err error) (out []formGroup) {
	for _, g := range groups {
		if len(g.Inputs) == 0 {
			continue
		}
		f := formGroup{Title: g.Title, Text: g.Text, Drawer: g.Drawer, Grid: g.Grid, For: g.For}
		for _, in := range g.Inputs {
			field := newFormField(in, values, err)
			f.Open = f.Open || len(field.Faults) > 0
			f.Fields = append(f.Fields, field)
		}
		out = append(out, f)
	}
	return out
}

// Form is the part "form": an object that is created or edited.
type Form struct {
	Edit
	Title   string
	New     bool
	Action  string
	Back    string
	Groups  []formGroup
	Err     error
	Save    string // label of the button
	AsText  AsText
	Files   bool   // it has an image
	Try     string // label of the button beside it; empty: there is none
	Delete  *parts.Confirm
	Command parts.Command
}

// Shown is the value for readers without the right to edit it.
func (f formField) Shown() string {
	var on []string
	switch f.Type {
	case "select":
		return f.OptionName(f.Value)
	case "pairs":
		for _, row := range f.Rows {
			if row.Name != "" {
				on = append(on, row.Name+": "+row.Value)
			}
		}
		return strings.Join(on, "\n")
	case "image":
		return parts.YesNo(f.Value != "", "yes", "")
	case "set":
	default:
		return f.Value
	}
	for _, c := range f.Set {
		switch {
		case !c.On:
		case c.Named:
			on = append(on, title.Named(c.Title, c.Name))
		default:
			on = append(on, parts.Words(c.Words))
		}
	}
	return strings.Join(on, ", ")
}
