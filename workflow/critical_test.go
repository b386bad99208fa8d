package workflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/task"
)

func TestCriticalPath(t *testing.T) {
	at := func(s int) time.Time {
		if s < 0 {
			return time.Time{}
		}
		return time.Unix(int64(1000+s), 0)
	}
	w := task.Workflow{Steps: []task.Step{
		{Name: "a"}, {Name: "b"}, {Name: "c", Needs: []string{"a", "b"}}, {Name: "d", Needs: []string{"a"}}, {Name: "free", Cleanup: true},
	}}
	for _, tt := range []struct {
		name  string
		spans [5][2]int // begin and end; -1: not yet
		want  string
	}{
		{"nothing has begun", [5][2]int{{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}}, "[]"},
		{"the later of two needs", [5][2]int{{0, 5}, {0, 9}, {9, 20}, {5, 10}, {20, 30}}, "[1 2]"},
		{"the other way round", [5][2]int{{0, 9}, {0, 5}, {9, 20}, {9, 10}, {-1, -1}}, "[0 2]"},
		{"the step that ends last", [5][2]int{{0, 5}, {0, 9}, {9, 20}, {5, 40}, {-1, -1}}, "[0 3]"},
		{"what still runs", [5][2]int{{0, 5}, {0, 9}, {9, -1}, {5, 40}, {-1, -1}}, "[1 2]"},
		{"what has run longest", [5][2]int{{0, 5}, {0, 9}, {9, -1}, {5, -1}, {-1, -1}}, "[0 3]"},
		{"a need that was skipped", [5][2]int{{-1, 1}, {0, 9}, {9, 20}, {-1, -1}, {-1, -1}}, "[1 2]"},
	} {
		r := Run{Steps: make([]Step, 5)}
		for i, s := range tt.spans {
			r.Steps[i] = Step{Name: w.Steps[i].Name, Since: at(s[0]), EndedAt: at(s[1])}
		}
		if got := fmt.Sprint(r.CriticalPath(w)); got != tt.want {
			t.Errorf("%s: %s, not %s", tt.name, got, tt.want)
		}
	}
}
