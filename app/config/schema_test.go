package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

var update = flag.Bool("update", false, "write docs/reference/belfry.schema.json anew")

const schemaFile = "../../docs/reference/belfry.schema.json"

// durations matches what core.ParseDuration reads, in the syntax that JSON Schema shares with Go.
const durations = `^(0|([0-9]+w)?([0-9]+d)?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(h|m|s|ms|us|µs|ns))*)$`

// choices are the keys with a fixed set of values. TestSchemaChoicesAreThoseOfValidate holds them to Validate.
func choices() map[string][]string {
	var isolations []string
	for _, isolation := range task.Isolations {
		isolations = append(isolations, string(isolation))
	}
	return map[string][]string{
		"roles":         {RoleAPI, RoleEngine, RoleWorker},
		"wakeups":       {"notify", "poll"},
		"log_level":     {"debug", "info", "warn", "error"},
		"log_format":    {"text", "json"},
		"min_isolation": isolations,
	}
}

// schema describes the configuration file for editors, as JSON Schema.
func schema() map[string]any {
	properties := map[string]any{}
	for _, k := range Keys() {
		properties[k.Name] = property(k)
	}
	return map[string]any{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"title":                "Configuration of Belfry",
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
	}
}

func property(k Key) map[string]any {
	c := Default()
	v := k.value(&c)
	p := map[string]any{"description": k.Doc + ". For: " + strings.Join(k.Groups, ", ") + "."}
	if k.Default != "" {
		p["default"] = v.Interface()
	}
	one := map[string]any{"type": "string"}
	if values := choices()[k.Name]; values != nil {
		one["enum"] = values
	}
	switch v.Interface().(type) {
	case core.Duration:
		p["type"], p["pattern"], p["minLength"] = "string", durations, 1
	case []string:
		// The file may have a single entry without a list.
		p["anyOf"] = []any{one, map[string]any{"type": "array", "items": one}}
	case map[string]int:
		p["type"], p["additionalProperties"] = "object", map[string]any{"type": "integer"}
	case map[string]string:
		p["type"], p["additionalProperties"] = "object", map[string]any{"type": []string{"string", "number", "boolean"}}
	default:
		kinds := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number", reflect.String: "string"}
		p["type"] = kinds[v.Kind()]
		if one["enum"] != nil {
			p["enum"] = one["enum"]
		}
	}
	return p
}

// The schema is made from the configuration itself. go test ./config -update writes it.
func TestSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not up to date (%v); run: go test ./config -run TestSchema -update", schemaFile, err)
	}
}

func TestSchemaHasATypeForEveryKey(t *testing.T) {
	t.Parallel()
	for _, k := range Keys() {
		if p := property(k); p["anyOf"] == nil && (p["type"] == nil || p["type"] == "") {
			t.Errorf("%s has no type", k.Name)
		}
	}
	for name := range choices() {
		if !slices.ContainsFunc(Keys(), func(k Key) bool { return k.Name == name }) {
			t.Errorf("%s is not a key", name)
		}
	}
}

func TestSchemaChoicesAreThoseOfValidate(t *testing.T) {
	t.Parallel()
	for _, k := range Keys() {
		values := choices()[k.Name]
		if values == nil {
			continue
		}
		for _, value := range append(slices.Clone(values), "other") {
			c := Default()
			if err := k.set(&c, value); err != nil {
				t.Fatal(err)
			}
			if err := c.Validate(); (err == nil) != (value != "other") {
				t.Errorf("%s: %s: got %v", k.Name, value, err)
			}
		}
	}
}

func TestSchemaDurationsAreThoseOfConfig(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(durations)
	texts := []string{"0", "30s", "1h30m", "7d", "2w3d4h", "1.5h", ".5s", "250ms", "5", "5 minutes", "1x", "s", "d", "1h 5m", "3d2w"}
	for _, k := range Keys() {
		if _, ok := k.value(new(Config)).Interface().(core.Duration); ok {
			texts = append(texts, k.Default)
		}
	}
	for _, text := range texts {
		_, err := core.ParseDuration(text)
		if matches := pattern.MatchString(text); matches != (err == nil) {
			t.Errorf("%q: the schema says %v, the program %v", text, matches, err)
		}
	}
}
