package access

import (
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Grant is the right of a person who signs in through a provider of identities:
// a scope in a namespace, or in all of them.
type Grant struct {
	Namespace string // * for everywhere
	Scope     Scope  // read, operate or admin
}

func (g Grant) String() string { return g.Namespace + ":" + string(g.Scope) }

// ranks are the scopes that a person can be given, the weakest first. Each
// includes those before it, so one of them says everything.
var ranks = []Scope{ScopeRead, ScopeOperate, ScopeAdmin}

func (g Grant) rank() int { return slices.Index(ranks, g.Scope) }

// ParseGrants reads grants as people write them: NAMESPACE:SCOPE, several with
// spaces between. Faults name the field.
func ParseGrants(field, text string) ([]Grant, error) {
	var p core.Problems
	var grants []Grant
	for _, item := range strings.Fields(text) {
		namespace, scope, _ := strings.Cut(item, ":")
		g := Grant{Namespace: namespace, Scope: Scope(scope)}
		if g.rank() < 0 || g.Namespace != core.AnyNamespace && !core.NameRule.MatchString(g.Namespace) {
			p.Add(field, item, "is not a namespace and a scope", "such as default:operate or *:admin; scopes are read, operate and admin")
			continue
		}
		grants = append(grants, g)
	}
	return grants, p.Err("grants")
}

// Admission decides which people may sign in, by the groups that a provider names.
type Admission struct {
	Groups  map[string][]Grant
	Default []Grant // of everybody whom the provider lets in; none: groups alone count
}

// Grants is the rights of a person in these groups: the strongest grant of each
// namespace, in the order of their names. A namespace is left out where the
// grant for everywhere does as much. None means that they do not get in. A token
// has one namespace, so of several grants the person has to choose one.
func (a Admission) Grants(groups []string) []Grant {
	best := map[string]Grant{}
	give := func(grants []Grant) {
		for _, g := range grants {
			if had, ok := best[g.Namespace]; !ok || g.rank() > had.rank() {
				best[g.Namespace] = g
			}
		}
	}
	give(a.Default)
	for _, group := range groups {
		give(a.Groups[group])
	}
	var grants []Grant
	everywhere, has := best[core.AnyNamespace]
	for _, name := range slices.Sorted(maps.Keys(best)) {
		if g := best[name]; name == core.AnyNamespace || !has || g.rank() > everywhere.rank() {
			grants = append(grants, g)
		}
	}
	return grants
}
