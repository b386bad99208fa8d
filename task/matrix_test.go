package task

import (
	"fmt"
	"strings"
	"testing"
)

func TestAMatrixIsChecked(t *testing.T) {
	many := map[string]string{}
	for i := range MaxMatrix + 1 {
		many[fmt.Sprint("n", i)] = "[1]"
	}
	for _, tt := range []struct {
		step Step
		says string // part of the error; empty: there is none
	}{
		{Step{Task: "t", Matrix: map[string]string{"os": "input.systems"}, AtOnce: 2}, ""},
		{Step{Task: "t", Matrix: map[string]string{"os": "[1]"}, ForEach: "[1]"}, "matrix: cannot stand beside for_each"},
		{Step{Task: "t", Matrix: map[string]string{"os": " "}}, "matrix.os"},
		{Step{Task: "t", Matrix: many}, "has more than 8 entries"},
		{Step{Task: "t", AtOnce: 2}, "is for steps with for_each or matrix"},
		{Step{Signal: "s", Matrix: map[string]string{"os": "[1]"}}, "matrix: is for steps that run a task"},
	} {
		tt.step.Name = "all"
		err := Workflow{Steps: []Step{tt.step}}.WithDefaults().validate()
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(fmt.Sprint(err), tt.says)) {
			t.Errorf("%+v: %v, not %q", tt.step, err, tt.says)
		}
	}
}
