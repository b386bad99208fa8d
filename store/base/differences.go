package base

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Ours reports whether a task is Belfry's own, such as the canary: no manifest contains it, and no prune deletes it.
func Ours(name string) bool { return strings.HasPrefix(name, "belfry.") }

// Under prefixes the fields of an error with their path in the manifest.
func Under(path string, err error) error {
	var e *core.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Fields = slices.Clone(e.Fields)
	for i := range out.Fields {
		out.Fields[i].Field = path + "." + out.Fields[i].Field
	}
	return &out
}

// Changed returns the line of a plan for one definition.
func Changed(noun, namespace, name string, isNew bool, before, after any) view.Change {
	ch := view.Change{Action: view.ActionCreate, Noun: noun, Namespace: namespace, Name: name}
	if isNew {
		return ch
	}
	ch.Action, ch.Fields = view.ActionUpdate, Differences(before, after)
	if len(ch.Fields) == 0 {
		ch.Action = view.ActionKeep
	}
	return ch
}

// unwritten are fields that no manifest sets.
var unwritten = map[string]bool{"id": true, "generation": true, "created_at": true, "updated_at": true}

// Differences lists the fields that differ between two values of one type, as text.
func Differences(before, after any) []string {
	var b, a map[string]json.RawMessage
	if json.Unmarshal([]byte(Text(before)), &b) != nil || json.Unmarshal([]byte(Text(after)), &a) != nil {
		return nil
	}
	var out []string
	for field := range merged(b, a) {
		if !unwritten[field] && string(b[field]) != string(a[field]) {
			out = append(out, fmt.Sprintf("%s: %s -> %s", field, shown(b[field]), shown(a[field])))
		}
	}
	slices.Sort(out)
	return out
}

func merged(a, b map[string]json.RawMessage) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

func shown(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(none)"
	}
	if s, cut := core.CleanText(string(raw), 200); cut {
		return s + "…"
	}
	return string(raw)
}
