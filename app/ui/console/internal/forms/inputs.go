// Package forms is how definitions are made and edited: tables of inputs, which are shown, read and checked by the paths of
// their fields, and what happens when two people edit the same.
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
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/schedule"
)

//go:embed *.html
var files embed.FS

// Parts are the templates of forms.
var Parts = frame.Set{Files: files}

// Input is a field of a form about a thing of the API. Its path is the field's
// name in the API's JSON, such as check.http.url or sections[0].title, so that
// what the API finds wrong stands beside it. A field that no input names stays
// as it was: a form that shows half of a thing loses nothing of the other half.
type Input struct {
	Path, Label string
	Kind        inputKind
	Hint        string
	Options     []string // of a choice or a set; an empty one means the default
	Need        bool
}

type inputKind string

// The kinds. Secrets are shown as core.Redacted, and kept while they read so.
const (
	asText     inputKind = "text"
	AsArea     inputKind = "area"
	AsNumber   inputKind = "number" // a whole one
	AsDuration inputKind = "duration"
	AsCheck    inputKind = "check"
	AsChoice   inputKind = "choice"
	AsSet      inputKind = "set"   // some of the options
	AsLines    inputKind = "lines" // a list, one item a line
	AsWords    inputKind = "words" // a list, with spaces or commas between
	asPairs    inputKind = "pairs" // a map, as name: value, one a line
	AsSecret   inputKind = "secret"
	AsSecrets  inputKind = "secrets" // a map whose values are secrets
	AsRules    inputKind = "rules"   // cron or RRULE, one a line
	AsJSON     inputKind = "json"    // any value
	AsTime     inputKind = "time"    // in the zone of the field zone
)

// Document is a thing as its JSON has it.
type Document map[string]any

// DocumentOf is a thing as a document.
func DocumentOf(v any) Document {
	text, err := json.Marshal(v)
	d := Document{}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		panic(err) // things of the API are JSON
	}
	for _, readOnly := range []string{"id", "generation", "created_at", "updated_at"} {
		delete(d, readOnly)
	}
	return d
}

// To makes a thing of it.
func (d Document) To(v any) error {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return core.Errorf(core.Invalid, "the form could not be read: %v", err)
	}
	return nil
}

// steps are the parts of a path.
func steps(path string) []string {
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}

// At is the value of a field.
func (d Document) At(path string) any {
	var now any = map[string]any(d)
	for _, step := range steps(path) {
		switch in := now.(type) {
		case map[string]any:
			now = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return nil
			}
			now = in[i]
		default:
			return nil
		}
	}
	return now
}

// Set puts a value at a path of names; nil takes it away, and what is empty
// then.
func (d Document) Set(path string, value any) {
	setIn(d, steps(path), value)
}

func setIn(in map[string]any, path []string, value any) {
	if len(path) == 1 {
		if value == nil {
			delete(in, path[0])
		} else {
			in[path[0]] = value
		}
		return
	}
	next, is := in[path[0]].(map[string]any)
	if !is {
		if value == nil {
			return
		}
		next = map[string]any{}
		in[path[0]] = next
	}
	setIn(next, path[1:], value)
	if len(next) == 0 && len(path) == 2 && path[0] != "heartbeat" {
		delete(in, path[0])
	}
}

// Values are what a form shows of a thing.
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
		v.Set(in.Path, in.show(d.At(in.Path), zone))
	}
	return v
}

func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
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
	case asPairs, AsSecrets:
		pairs, _ := v.(map[string]any)
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			lines = append(lines, name+": "+fmt.Sprint(pairs[name]))
		}
		return strings.Join(lines, "\n")
	case AsRules:
		rules, _ := v.([]any)
		var lines []string
		for _, r := range rules {
			lines = append(lines, ruleLine(r))
		}
		return strings.Join(lines, "\n")
	case AsTime:
		at, err := time.Parse(time.RFC3339, fmt.Sprint(v))
		if err != nil {
			return ""
		}
		return at.In(zone).Format(timeLayout)
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

// Read puts what a form says into a thing. Faults are what cannot be read at
// all; the API finds the others.
func (d Document) Read(inputs []Input, form url.Values) error {
	var faults []core.FieldError
	zone := zoneOf(form.Get("zone"))
	for _, in := range inputs {
		if in.Kind == AsTime && form.Get(in.Path) == in.show(d.At(in.Path), zone) {
			continue // it stays, with the seconds that the form does not show
		}
		value, err := in.value(form, zone)
		if err != nil {
			faults = append(faults, core.FieldError{Field: in.Path, Value: form.Get(in.Path), Message: err.Error()})
			continue
		}
		d.Set(in.Path, value)
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
	if in.Kind == AsSet {
		return anyList(form[in.Path]), nil
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
	case AsDuration:
		if _, err := core.ParseDuration(text); err != nil {
			return nil, errors.New("is not a length of time, such as 90s, 1h30m or 7d")
		}
	case AsCheck:
		return text == "true", nil
	case AsLines:
		return anyList(PartsOf(text, "\n")), nil
	case AsWords:
		return anyList(PartsOf(text, ", \t\n")), nil
	case asPairs, AsSecrets:
		return readPairs(text)
	case AsRules:
		var rules []any
		for _, line := range PartsOf(text, "\n") {
			rules = append(rules, readRuleLine(line))
		}
		return rules, nil
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

// PartsOf are the words of a text between some characters.
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

func readPairs(text string) (any, error) {
	pairs := map[string]any{}
	for _, line := range PartsOf(text, "\n") {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, errors.New("has a line without a colon: write Name: value")
		}
		pairs[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return pairs, nil
}

// formGroup is a part of a form. One that is a drawer is shut, unless something
// in it is set or wrong.
type formGroup struct {
	Title  string
	Text   string
	Drawer bool
	Open   bool
	Fields []formField
}

// OwnFaults are those of its fields.
func (g formGroup) OwnFaults() (faults []core.FieldError) {
	for _, f := range g.Fields {
		faults = append(faults, f.Faults...)
	}
	return faults
}

// formField is a field as the part "input" shows it.
type formField struct {
	parts.Field
	Set []choice // of a set
}

type choice struct {
	Name string
	On   bool
}

func newFormField(in Input, values url.Values, err error) formField {
	kind := map[inputKind]string{
		AsArea: "area", AsLines: "area", asPairs: "area", AsSecrets: "area", AsRules: "area", AsJSON: "area", AsCheck: "check", AsChoice: "select", AsSecret: "password", AsTime: "datetime-local", AsSet: "set",
	}[in.Kind]
	if kind == "" {
		kind = "text"
	}
	f := parts.NewField(in.Path, in.Label, kind, values.Get(in.Path), in.Hint, err)
	for _, fault := range parts.FaultsOf(err) { // of an item of a list
		if strings.HasPrefix(fault.Field, in.Path+"[") || in.Kind == AsSecrets && strings.HasPrefix(fault.Field, in.Path+".") {
			f.Faults = append(f.Faults, fault)
		}
	}
	f.Required, f.Options = in.Need, in.Options
	out := formField{Field: f}
	if in.Kind == AsSet {
		for _, o := range in.Options {
			out.Set = append(out.Set, choice{o, slices.Contains(values[in.Path], o)})
		}
	}
	return out
}

// InputGroup is a part of a form before it is filled.
type InputGroup struct {
	Title, Text string
	Drawer      bool
	Inputs      []Input
}

// InputsOf are those of all groups.
func InputsOf(groups []InputGroup) (all []Input) {
	for _, g := range groups {
		all = append(all, g.Inputs...)
	}
	return all
}

// Fill shows values in the groups of a form, with what is wrong with them.
func Fill(groups []InputGroup, values url.Values, err error) (out []formGroup) {
	for _, g := range groups {
		if len(g.Inputs) == 0 {
			continue
		}
		f := formGroup{Title: g.Title, Text: g.Text, Drawer: g.Drawer}
		for _, in := range g.Inputs {
			field := newFormField(in, values, err)
			f.Open = f.Open || len(field.Faults) > 0
			f.Fields = append(f.Fields, field)
		}
		out = append(out, f)
	}
	return out
}

// Form is the part "form": a thing that is made or edited.
type Form struct {
	Edit
	Title   string
	New     bool
	Action  string
	Back    string
	Groups  []formGroup
	Err     error
	Save    string // what the button says
	Try     string // what the button beside it says; empty: there is none
	Delete  *parts.Confirm
	Command parts.Command
}

// Shown is a value for who may not edit it.
func (f formField) Shown() string {
	if f.Type != "set" {
		return f.Value
	}
	var on []string
	for _, c := range f.Set {
		if c.On {
			on = append(on, parts.Words(c.Name))
		}
	}
	return strings.Join(on, ", ")
}
