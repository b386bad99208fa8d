package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// said is an error with all that a person is shown of it.
func said(t *testing.T, err error) string {
	t.Helper()
	var fe *FileError
	if !errors.As(err, &fe) {
		t.Fatalf("%v has no places", err)
	}
	text := err.Error()
	for _, f := range fe.Faults {
		text += "\n" + f.Excerpt
	}
	return text
}

// A value at a wrong place may be a secret, and errors end up in logs of builds.
func TestNoSecretIsSaidWithAFault(t *testing.T) {
	t.Parallel()
	manifests := map[string]string{
		"under an unknown key":       "tasks:\n- {name: a, http: {url: https://example.com/, auth: {bearrer: kept-from-logs}}}\n",
		"within an unknown key":      "tasks:\n- name: a\n  htp:\n    auth:\n      password: kept-from-logs\n",
		"a text where a table is":    "channels:\n- name: c\n  webhook: kept-from-logs\n",
		"a list where a text is":     "tasks:\n- name: a\n  http:\n    url: https://example.com/\n    auth:\n      bearer: [kept-from-logs]\n",
		"a table where a text is":    "tasks:\n- name: a\n  http:\n    auth:\n      bearer:\n        file: kept-from-logs\n",
		"beside what is no YAML":     "tasks:\n- name: a\n  bearer: kept-from-logs\n  http: [\n",
		"at the end of what is none": "tasks: [\n  password: \"kept-from-logs\n",
	}
	for name, text := range manifests {
		_, err := ParseManifest([]Source{{Name: "m.yaml", Text: []byte(text)}}, core.DefaultNamespace)
		if text := said(t, err); strings.Contains(text, "kept-from-logs") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	configs := map[string]string{
		"beside a fault":          "token: kept-from-logs\nlistenn: x\n",
		"in a database":           "database: postgres://u:kept-from-logs@db/x\nlistenn: x\n",
		"under an unknown key":    "tokken: kept-from-logs\n",
		"beside a bad value":      "token: kept-from-logs\nsession_ttl: 1ms\n",
		"of another kind of file": "- token: kept-from-logs\n",
	}
	for name, text := range configs {
		l := Loaded{Config: Default(), sources: map[string]string{}}
		if text := said(t, l.document(Source{Name: "belfry.config.yaml", Text: []byte(text)})); strings.Contains(text, "kept-from-logs") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
