package console

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// No page stands where the page of something with a name would: what is called
// new, or bulk, can be opened.
func TestNoRouteHidesAName(t *testing.T) {
	t.Parallel()
	var all []string
	for _, a := range areas() {
		all = slices.AppendSeq(all, maps.Keys(a.Routes))
	}
	for _, named := range all {
		for _, other := range all {
			if segment := hides(named, other); segment != "" && core.ValidName("name", segment) == nil {
				t.Errorf("%s hides what is called %s from %s: let it begin with a dash", other, segment, named)
			}
		}
	}
}

// hides answers the segment of other that stands where named has a name, if
// other may be asked for instead, whatever the method: a form that is sent and
// the page that shows it have one address.
func hides(named, other string) (segment string) {
	path := func(pattern string) []string { return strings.Split(pattern[strings.Index(pattern, " ")+1:], "/") }
	a, b := path(named), path(other)
	if len(a) != len(b) {
		return ""
	}
	for i := range a {
		switch wild := strings.HasPrefix(b[i], "{"); {
		case a[i] == "{name}" && !wild:
			segment = b[i]
		case a[i] != b[i] && !wild && !strings.HasPrefix(a[i], "{"):
			return ""
		}
	}
	return segment
}
