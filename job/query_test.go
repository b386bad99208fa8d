package job

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

var searchNow = time.Date(2026, 3, 2, 12, 30, 0, 0, time.FixedZone("here", 3600))

func TestJobSearchesAreRead(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for text, want := range map[string]Filter{
		"":                                 {},
		"  ":                               {},
		"1042":                             {ID: 1042},
		"id:7 task:backup":                 {ID: 7, Task: "backup"},
		"state:failed,canceled":            {States: []State{Failed, Canceled}},
		"state:failed|dead state:ready":    {States: []State{Failed, Ready}},
		"state:live":                       {States: []State{Waiting, Scheduled, Ready, Running}},
		`error:"timed out"`:                {Error: "timed out"},
		`error:"a \"b\" \\ c"`:             {Error: `a "b" \ c`},
		`tag:a,b QUEUE:x`:                  {Tag: "a,b", Queue: "x"},
		"attempt>1":                        {MinAttempt: 2},
		"attempt>=2 attempt<5":             {MinAttempt: 2, MaxAttempt: 4},
		"attempt:3":                        {MinAttempt: 3, MaxAttempt: 3},
		"kind:http trigger:manual":         {Kind: task.KindHTTP, Trigger: TriggerManual},
		"since:2h":                         {Since: at("2026-03-02T09:30:00Z")},
		"since:7d until:yesterday":         {Since: at("2026-02-23T11:30:00Z"), Until: at("2026-02-28T23:00:00Z")},
		"since:2026-03-01":                 {Since: at("2026-02-28T23:00:00Z")},
		`until:"2026-03-01 08:00"`:         {Until: at("2026-03-01T07:00:00Z")},
		"until:2026-03-01T08:00:00Z":       {Until: at("2026-03-01T08:00:00Z")},
		"schedule:nightly session:0198-ab": {Schedule: "nightly", Session: "0198-ab"},
		"error:a:b":                        {Error: "a:b"},
	} {
		got, err := ParseJobFilter(text, searchNow)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestWrongJobSearchesReportThePlaceAndTheChoices(t *testing.T) {
	t.Parallel()
	for text, words := range map[string][]string{
		"backup":                  {`"backup"`, "task:backup", "attempt, error"},
		"colour:red":              {`"colour:red"`, "id, state, task"},
		"state:lost":              {`"lost"`, "one of waiting, scheduled, ready", "dead"},
		"state:":                  {"no value", "state:failed"},
		"state:,":                 {"names no state"},
		"since:soon":              {`"since:soon"`, "2h or 7d"},
		"since:-3h":               {"since 1970"},
		"task:a task:b":           {"given twice"},
		"task>a":                  {"cannot be compared"},
		`error:"x`:                {"quote"},
		"attempt:x":               {"number of attempts"},
		"attempt<1":               {"state:live"},
		"kind:ftp":                {"kind", "ftp", "http"},
		"trigger:moon":            {"trigger", "one of enqueue, schedule"},
		"id:x":                    {"job id"},
		strings.Repeat("a", 2001): {"more than 2000 bytes"},
	} {
		_, err := ParseJobFilter(text, searchNow)
		if core.CodeOf(err) != core.Invalid {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %q does not say %q", text, err, w)
			}
		}
	}
	_, err := ParseJobFilter("colour:red since:soon", searchNow)
	if err == nil || strings.Count(err.Error(), "q ") != 2 {
		t.Errorf("not all faults at once: %v", err)
	}
}

// TestSearchIsDocumented compares the reference with the terms and their values.
func TestSearchIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/reference/search.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\n## ")
	quoted := regexp.MustCompile("`([^`]+)`")
	told := map[string][]string{} // other quoted words in the row of a term
	for _, row := range regexp.MustCompile(`(?m)^\|(.+?)\|(.+)\|(.+?)\|$`).FindAllStringSubmatch(table, -1) {
		for _, term := range quoted.FindAllStringSubmatch(row[1], -1) {
			told[term[1]] = []string{}
			for _, word := range quoted.FindAllStringSubmatch(row[2], -1) {
				told[term[1]] = append(told[term[1]], word[1])
			}
			for _, like := range quoted.FindAllStringSubmatch(row[3], -1) {
				if _, err := ParseJobFilter(like[1], searchNow); err != nil && !strings.Contains(like[1], "…") {
					t.Errorf("the example of %s: %v", term[1], err)
				}
			}
		}
	}
	for _, term := range jobTerms {
		if told[term.name] == nil {
			t.Errorf("the term %s is not documented", term.name)
		}
	}
	if len(told) != len(jobTerms) {
		t.Errorf("%d terms are documented, and there are %d", len(told), len(jobTerms))
	}
	states := strings.Split(core.List(States), ", ")
	for group := range jobStateGroups {
		states = append(states, group)
	}
	for term, want := range map[string][]string{"state": states, "trigger": strings.Split(core.List(Triggers), ", ")} {
		got := told[term]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is documented with %q, and takes %q", term, got, want)
		}
	}
}

func FuzzJobSearch(f *testing.F) {
	for _, s := range []string{`task:backup state:failed,live since:2h error:"a \" b" attempt>1`, "12", "until:today attempt:3", `a:"`, `tag:\`, "error:\u2028x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := ParseJobFilter(text, searchNow)
		if err != nil {
			return
		}
		written := first.String()
		again, err := ParseJobFilter(written, searchNow)
		if len(written) > MaxJobQuery { // escapes and dates are longer than their values
			return
		}
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("%q became %q, and %+v became %+v: %v", text, written, first, again, err)
		}
	})
}
