package httpapi

import (
	"testing"

	"github.com/belfry-run/belfry"
)

func TestADryRunIsBoundByScope(t *testing.T) {
	t.Parallel()
	for scope, most := range map[belfry.Scope]int{belfry.ScopeRead: readPlan, belfry.ScopeOperate: operatePlan} {
		token := belfry.Token{Namespace: belfry.AnyNamespace, Scopes: []belfry.Scope{scope}}
		m := belfry.Manifest{Tasks: make([]belfry.Task, most)}
		o := belfry.ApplyOptions{DryRun: true}
		if err := mayApply(token, m, o); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
		m.Tasks = append(m.Tasks, belfry.Task{})
		if err := mayApply(token, m, o); belfry.CodeOf(err) != belfry.TooLarge {
			t.Errorf("%s with one more: %v", scope, err)
		}
	}
	admin := belfry.Token{Namespace: belfry.AnyNamespace, Scopes: []belfry.Scope{belfry.ScopeAdmin}}
	if err := mayApply(admin, belfry.Manifest{Tasks: make([]belfry.Task, belfry.MaxManifest)}, belfry.ApplyOptions{DryRun: true}); err != nil {
		t.Error(err)
	}
}
