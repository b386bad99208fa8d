package definitions

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func TestADryRunIsBoundByScope(t *testing.T) {
	t.Parallel()
	for scope, most := range map[access.Scope]int{access.ScopeRead: readPlan, access.ScopeOperate: operatePlan} {
		token := access.Token{Namespace: core.AnyNamespace, Scopes: []access.Scope{scope}}
		m := view.Manifest{Tasks: make([]task.Task, most)}
		o := view.ApplyOptions{DryRun: true}
		if err := mayApply(token, m, o); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
		m.Tasks = append(m.Tasks, task.Task{})
		if err := mayApply(token, m, o); core.CodeOf(err) != core.TooLarge {
			t.Errorf("%s with one more: %v", scope, err)
		}
	}
	admin := access.Token{Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeAdmin}}
	if err := mayApply(admin, view.Manifest{Tasks: make([]task.Task, view.MaxManifest)}, view.ApplyOptions{DryRun: true}); err != nil {
		t.Error(err)
	}
}

// TestNoListOfAManifestIsForgotten compares what is looked at with what there is.
func TestNoListOfAManifestIsForgotten(t *testing.T) {
	t.Parallel()
	m := apitest.Filled[view.Manifest]()
	owners := ownersOf(m)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[view.Manifest]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if got := owners[name]; name != "queues" && !slices.Equal(got, []string{"a1"}) {
			t.Errorf("the owners of %s are %v", name, got)
		}
	}
}
