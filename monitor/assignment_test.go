package monitor_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
)

func TestAnAssignmentNamesAPerson(t *testing.T) {
	for name, test := range map[string]struct {
		to, want string
		code     core.Code
	}{
		"a name":              {to: "Ann", want: "Ann"},
		"spaces around it":    {to: "  Ann Lee ", want: "Ann Lee"},
		"any script":          {to: "アン 🦊", want: "アン 🦊"},
		"the longest":         {to: strings.Repeat("ü", monitor.MaxAssignee), want: strings.Repeat("ü", monitor.MaxAssignee)},
		"longer":              {to: strings.Repeat("ü", monitor.MaxAssignee+1), code: core.Invalid},
		"a megabyte":          {to: strings.Repeat("x", 1<<20), code: core.Invalid},
		"two lines":           {to: "Ann\nLee", code: core.Invalid},
		"two lines, U+2028":   {to: "Ann\u2028Lee", code: core.Invalid},
		"another direction":   {to: "Ann\u202eLee", code: core.Invalid},
		"an escape":           {to: "Ann\x1b[2J", code: core.Invalid},
		"three bytes each":    {to: strings.Repeat("夜", monitor.MaxAssignee), want: strings.Repeat("夜", monitor.MaxAssignee)},
		"no one":              {to: ""},
		"what is no UTF-8":    {to: "A\xffnn", want: "A\uFFFDnn"},
		"markup is only text": {to: "<b>", want: "<b>"},
	} {
		t.Run(name, func(t *testing.T) {
			i := monitor.Incident{ID: 1}
			i.AssignedBy([]monitor.Assignment{{To: "Bob"}})
			all, changed, err := i.Assign(monitor.Assignment{To: test.to})
			if core.CodeOf(err) != test.code {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			i.AssignedBy(all)
			if !changed || i.Assignee() != test.want || len(all) != 2 {
				t.Errorf("%q, %+v", i.Assignee(), all)
			}
			if again, changed, err := i.Assign(monitor.Assignment{To: test.to}); changed || err != nil || len(again) != 2 {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

func TestAssignmentsAreBounded(t *testing.T) {
	i := monitor.Incident{ID: 1}
	for n := range monitor.MaxAssignments {
		all, _, err := i.Assign(monitor.Assignment{To: []string{"Ann", "Bob"}[n%2]})
		if err != nil {
			t.Fatal(n, err)
		}
		i.AssignedBy(all)
	}
	if _, _, err := i.Assign(monitor.Assignment{To: "Eve"}); core.CodeOf(err) != core.Conflict {
		t.Error(err)
	}
}
