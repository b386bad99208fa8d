package view

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// refusal is one bad input: its change to a good input, and the field and the text
// that the error must contain.
type refusal[T any] struct {
	name   string
	change func(*T)
	field  string
	says   string
}

// refuses checks that the good input is valid, and that each row is refused with an
// error about its field.
func refuses[T any](t *testing.T, good func() T, validate func(T) error, rows []refusal[T]) {
	t.Helper()
	t.Parallel()
	if err := validate(good()); err != nil {
		t.Fatalf("the good one is refused: %v", err)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bad := good()
			row.change(&bad)
			err := validate(bad)
			if row.field == "" {
				if err != nil {
					t.Errorf("it is good and was refused: %v", err)
				}
				return
			}
			var e *core.Error
			if !errors.As(err, &e) || e.Code != core.Invalid {
				t.Fatalf("got %v, want an invalid input", err)
			}
			if len(e.Fields) != 1 || e.Fields[0].Field != row.field || !strings.Contains(e.Fields[0].String(), row.says) {
				t.Errorf("got  %v\nwant %s: … %s", e.Fields, row.field, row.says)
			}
		})
	}
}

var long = strings.Repeat("x", 5000)

func TestSelectionsAreChecked(t *testing.T) {
	refuses(t, func() Selection { return Selection{IDs: []int64{1}} }, Selection.Validate, []refusal[Selection]{
		{"nothing", func(s *Selection) { s.IDs = nil }, "ids", "(and not both)"},
		{"both", func(s *Selection) { s.Filter = &job.Filter{} }, "ids", "either ids or a filter must be given"},
		{"a filter", func(s *Selection) { s.IDs, s.Filter = nil, &job.Filter{States: []job.State{job.Failed}} }, "", ""},
		{"too many", func(s *Selection) { s.IDs = make([]int64, core.MaxBatch+1) }, "ids", "more than 10000"},
		{"long note", func(s *Selection) { s.Note = long }, "note", "more than 4096 bytes"},
		{"bad filter", func(s *Selection) { s.IDs, s.Filter = nil, &job.Filter{States: []job.State{"lost"}} }, "filter.states", "is not a job state"},
	})
}

func TestManifestsNameThePlaceOfAFault(t *testing.T) {
	t.Parallel()
	m := Manifest{
		Queues:    []job.Queue{{Name: "mail"}, {Name: "mail"}},
		Tasks:     []task.Task{{Name: "a"}, {Name: "b", HTTP: &task.HTTP{URL: "ftp://x/"}}, {Name: "a"}, {Name: "a", Namespace: "other"}},
		Schedules: []schedule.Schedule{{Name: "s", Task: "a", Rules: []schedule.Rule{{Cron: "0 9 * * *"}, {Cron: "61 9 * * *"}}}, {Name: "s", Task: "a"}},
	}.WithDefaults("team")
	if m.Tasks[0].Namespace != "team" || m.Schedules[0].Namespace != "team" || m.Tasks[3].Namespace != "other" {
		t.Error("the namespace goes to those that name none")
	}
	var e *core.Error
	if !errors.As(m.Validate(), &e) {
		t.Fatal("a bad manifest passed")
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Field+" "+f.Value)
	}
	want := []string{"queues[1] queue mail", "tasks[1].http.url ftp://x/", "tasks[2] task team/a", "schedules[0].rules[1].cron 61 9 * * *", "schedules[1] schedule team/s"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err := (Manifest{Tasks: make([]task.Task, MaxManifest+1)}).Validate(); err == nil || !strings.Contains(err.Error(), "more than 100000 definitions") {
		t.Errorf("a huge manifest: %v", err)
	}
	if err := (Manifest{}).Validate(); err != nil {
		t.Errorf("an empty manifest: %v", err)
	}
}

func TestDefaultsAreFilledOnceAndForAll(t *testing.T) {
	t.Parallel()
	offset := time.FixedZone("", 7200)
	instants := []time.Time{time.Date(2026, 3, 2, 12, 0, 0, 123_456_789, offset)}
	given := slices.Clone(instants)
	for _, s := range []schedule.Schedule{
		{},
		{Rules: []schedule.Rule{{Every: span("1m")}, {Every: span("1m"), Anchor: schedule.AnchorFinish}, {Cron: "@daily"}, {At: instants}}, Start: instants[0], End: instants[0]},
		{Blackout: []string{"c"}},
	} {
		once := s.WithDefaults()
		if twice := once.WithDefaults(); !reflect.DeepEqual(once, twice) {
			t.Errorf("schedule\n%+v\n%+v", once, twice)
		}
		if !s.SameTimes(s) {
			t.Error("a schedule has not the times of itself")
		}
	}
	if !reflect.DeepEqual(instants, given) {
		t.Error("the caller's instants were changed")
	}
	for _, task := range []task.Task{{}, {Command: &task.Command{Argv: []string{"a"}}}, {HTTP: &task.HTTP{URL: "http://a", Method: "post"}}, {Retry: task.Retry{Delay: span("2h")}}} {
		once := task.WithDefaults()
		if twice := once.WithDefaults(); !reflect.DeepEqual(once, twice) {
			t.Errorf("task\n%+v\n%+v", once, twice)
		}
		if task.Command != nil && task.Command.KillGrace != 0 || task.HTTP != nil && task.HTTP.Method != "post" {
			t.Error("the caller's settings were changed")
		}
	}
	m := Manifest{Queues: []job.Queue{{Name: "q"}}, Tasks: []task.Task{{Name: "t"}}, Schedules: []schedule.Schedule{{Name: "s"}}}.WithDefaults("a")
	if twice := m.WithDefaults("b"); !reflect.DeepEqual(m, twice) {
		t.Errorf("manifest\n%+v\n%+v", m, twice)
	}
}

// The error of a text that is too long shows its beginning, or no value, and never its length as the value.
func TestTooLongTextsShowTheirBeginning(t *testing.T) {
	t.Parallel()
	begin := strings.Repeat("x", 120) + "…"
	for _, row := range []struct {
		name, field, value string
		validate           func() error
	}{
		{"task", "description", begin, task.Task{Description: long}.Validate},
		{"approval", "workflow.steps[0].approval", begin, task.Task{Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "sure", Approval: long}}}}.Validate},
		{"tcp", "tcp.send", "", task.Task{Kind: task.KindTCP, TCP: &task.TCP{Address: "db.example:1", Send: strings.Repeat("x", 1<<20)}}.Validate},
		{"monitor", "description", begin, func() error { return monitor.Monitor{Description: long}.Validate(time.Now()) }},
		{"monitor name", "name", strings.Repeat("x", 101), func() error { return monitor.Monitor{Name: strings.Repeat("x", 101)}.Validate(time.Now()) }},
		{"schedule", "description", begin, func() error { return schedule.Schedule{Description: long}.Validate(time.Now()) }},
		{"calendar", "description", begin, schedule.Calendar{Description: long}.Validate},
		{"backfill", "note", begin, func() error { return schedule.Backfill{Note: long}.Validate(time.Now()) }},
		{"queue", "description", begin, job.Queue{Description: long}.Validate},
		{"document", "description", begin, func() error {
			var p core.Problems
			core.CheckDocument(&p, "default", "d", long)
			return p.Err("invalid input")
		}},
		{"selection", "note", begin, Selection{IDs: []int64{1}, Note: long}.Validate},
	} {
		var e *core.Error
		if !errors.As(row.validate(), &e) {
			t.Errorf("%s: it is not refused", row.name)
			continue
		}
		found := false
		for _, f := range e.Fields {
			if f.Field == row.field && strings.Contains(f.Message, "has more than") {
				found = true
				if f.Value != row.value {
					t.Errorf("%s: value %q, want %q", row.name, f.Value, row.value)
				}
			}
		}
		if !found {
			t.Errorf("%s: no error of %s: %v", row.name, row.field, e.Fields)
		}
	}
}
