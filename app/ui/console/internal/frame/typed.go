package frame

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// typed is a field of a form whose page cannot be shown again.
type typed struct{ Name, Value string }

// ofForms are fields that forms fill in themselves.
var ofForms = []string{"do", "kind", "namespace", "next", "rest", "rows", "seen", "trial_key", "version"}

// aSecret is the name of a field that may hold one.
var aSecret = regexp.MustCompile(`(?i)secret|password|token|key|headers|env|auth|url|value`)

// typedIn returns the typed values of a form: the only copy where no script keeps a draft. Secrets are left out.
func typedIn(form url.Values) (all []typed) {
	for _, name := range slices.Sorted(maps.Keys(form)) {
		text := strings.TrimSpace(strings.Join(form[name], "\n"))
		if text == "" || text == "true" || slices.Contains(ofForms, name) || aSecret.MatchString(name) {
			continue
		}
		all = append(all, typed{name, text})
	}
	return all
}
