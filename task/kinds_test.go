package task

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core/setting"
)

func TestTheTableOfKindsIsWhole(t *testing.T) {
	t.Parallel()
	var names []string
	for _, k := range KindTable {
		if k.Kind != KindHeartbeat {
			names = append(names, string(k.Kind))
		}
		var task Task
		settings := k.Edit(&task)
		if none := k.Kind == KindFunc || k.Kind == KindHeartbeat; (settings == nil) != none || k.Given(task) == none {
			t.Errorf("kind %s: its settings are %v", k.Kind, settings)
		}
		if settings != nil && k.target == nil {
			t.Errorf("kind %s has no target", k.Kind)
		}
		if k.Flag != "" && (k.Title == "" || k.Text == "" || !slices.ContainsFunc(k.Fields, func(f setting.Field) bool { return f.Flag == k.Flag })) {
			t.Errorf("kind %s is one of monitors without title, text or flag", k.Kind)
		}
		for _, f := range k.Fields {
			if settings != nil && !setting.Value(settings, f.Path).IsValid() {
				t.Errorf("kind %s has no setting %s", k.Kind, f.Path)
			}
		}
	}
	field, _ := reflect.TypeFor[Task]().FieldByName("Kind")
	if tag := field.Tag.Get("enum"); tag != strings.Join(names, ",") {
		t.Errorf("the API says that the kinds are %s, and they are %s", tag, strings.Join(names, ","))
	}
}
