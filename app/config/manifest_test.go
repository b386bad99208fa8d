package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

func parse(t *testing.T, texts ...string) (Definitions, error) {
	t.Helper()
	var srcs []Source
	for i, text := range texts {
		srcs = append(srcs, Source{Name: []string{"a.yaml", "b.yaml"}[i], Text: []byte(text)})
	}
	return ParseManifest(srcs, core.DefaultNamespace)
}

// faultsOf parses text, which must be refused, and answers its faults.
func faultsOf(t *testing.T, texts ...string) []Fault {
	t.Helper()
	_, err := parse(t, texts...)
	var fe *FileError
	if !errors.As(err, &fe) {
		t.Fatalf("got %v, want a FileError", err)
	}
	if core.CodeOf(err) != core.Invalid {
		t.Errorf("code %s, want invalid", core.CodeOf(err))
	}
	return fe.Faults
}

func TestManifestReadsCommonSpellings(t *testing.T) {
	t.Parallel()
	defs, err := parse(t, `
# queues first
queues:
  - {name: slow, concurrency: 2}
tasks:
  - name: 0755
    command:
      argv: [echo, yes, 1.0, 0x10, ~]
      env: {DEBUG: yes, PORT: 8080, EMPTY: ""}
      success_codes: 3
    timeout: 1h30m
    input: {a: [1, 2.50, true, null, "3"], b: 2026-01-01}
  - name: ping
    http:
      url: https://example.com
      expect_status: [200, 301-399]
    timeout: 7d
---
schedules:
  - name: s
    task: ping
    rules:
      - cron: "0 3 * * *"
      - at: 2026-12-24T18:00:00+02:00
      - every: 5s
        anchor: finish
`, `{"tasks": [
	{"name": "j", "command": {"shell": "echo a\tb\n\u00e9\ud83d\ude00"}}
]}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(defs.Tasks); n != 3 {
		t.Fatalf("%d tasks, want 3", n)
	}
	first := defs.Tasks[0]
	if first.Name != "0755" || first.Timeout != core.Duration(90*time.Minute) {
		t.Errorf("got %q with timeout %s", first.Name, first.Timeout)
	}
	if want := []string{"echo", "yes", "1.0", "0x10", ""}; !reflect.DeepEqual(first.Command.Argv, want) {
		t.Errorf("argv %q, want %q", first.Command.Argv, want)
	}
	if want := (map[string]string{"DEBUG": "yes", "PORT": "8080", "EMPTY": ""}); !reflect.DeepEqual(first.Command.Env, want) {
		t.Errorf("env %q, want %q", first.Command.Env, want)
	}
	if want := []int{3}; !reflect.DeepEqual(first.Command.SuccessCodes, want) {
		t.Errorf("success codes %v, want %v", first.Command.SuccessCodes, want)
	}
	if got, want := string(first.Input), `{"a":[1,2.50,true,null,"3"],"b":"2026-01-01"}`; got != want {
		t.Errorf("input %s, want %s", got, want)
	}
	if got := defs.Tasks[1].HTTP.ExpectStatus; !reflect.DeepEqual(got, []string{"200", "301-399"}) {
		t.Errorf("expect_status %q", got)
	}
	if got, want := defs.Tasks[2].Command.Shell, "echo a\tb\né😀"; got != want {
		t.Errorf("shell %q, want %q", got, want)
	}
	rules := defs.Schedules[0].Rules
	if len(rules) != 3 || len(rules[1].At) != 1 || rules[2].Anchor != schedule.AnchorFinish {
		t.Errorf("rules %+v", rules)
	}
}

func TestManifestFaultsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, at, says string }{
		"unknown key":        {"tasks:\n  - name: a\n    timout: 5m\n", "a.yaml:3:5", "did you mean timeout?"},
		"unknown at the top": {"task:\n  - name: a\n", "a.yaml:1:1", "did you mean tasks?"},
		"unknown deep":       {"tasks:\n  - name: a\n    command:\n      shel: x\n", "a.yaml:4:7", "tasks[0].command.shel"},
		"no unit":            {"tasks:\n  - name: a\n    timeout: 5\n", "a.yaml:3:14", "unit"},
		"not a number":       {"tasks:\n  - name: a\n    priority: high\n", "a.yaml:3:15", "whole number"},
		"too large":          {"tasks:\n  - name: a\n    priority: 99999999999999999999\n", "a.yaml:3:15", "too large"},
		"not a list":         {"tasks:\n  name: a\n", "a.yaml:2:3", "must be a list"},
		"not a mapping":      {"tasks:\n  - just a name\n", "a.yaml:2:5", "must be a mapping"},
		"top is a list":      {"- tasks\n", "a.yaml:1:1", "must be a mapping"},
		"text wanted":        {"tasks:\n  - name: [a]\n", "a.yaml:2:11", "must be text"},
		"not a time":         {"schedules:\n  - name: s\n    task: a\n    start: tomorrow\n", "a.yaml:4:12", "2026-01-31T09:00:00Z"},
		"twice":              {"tasks:\n  - name: a\n    name: b\n", "a.yaml:3:5", "name"},
		"bad yaml":           {"tasks:\n  - name: \"a\n", "a.yaml:2:", ""},
		"anchor":             {"tasks:\n  - &a\n    name: a\n", "a.yaml:2:5", "anchor"},
		"alias":              {"tasks:\n  - name: *a\n", "a.yaml:2:11", "alias"},
		"merge key":          {"tasks:\n  - <<: {name: a}\n", "a.yaml:2:5", "merge"},
		"tag":                {"tasks:\n  - name: !!binary aGk=\n", "a.yaml:2:11", "tag"},
		"rule of the root":   {"tasks:\n  - name: a\n    command:\n      shell: x\n      dir: relative\n", "a.yaml:5:12", "is not absolute"},
		"missing name":       {"tasks:\n  - command: {shell: x}\n", "a.yaml:2:5", "tasks[0].name: is missing"},
		"bad cron":           {"schedules:\n  - name: s\n    task: a\n    rules:\n      - cron: 61 * * * *\n", "a.yaml:5:15", "rules[0].cron"},
		"twice in all":       {"tasks:\n  - name: a\n---\ntasks:\n  - name: a\n", "a.yaml:5:5", "is defined twice"},
		"too deep":           {"tasks: " + strings.Repeat("[", 100_000), "a.yaml:1:", "nested"},
		"deep in one line":   {"tasks: \n" + strings.Repeat("- ", 100_000), "a.yaml:2:", "nested"},
		"input not JSON":     {"tasks:\n  - name: a\n    input: .inf\n", "a.yaml:3:12", "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := faultsOf(t, tc.text)[0]
			if got := f.Place.String(); !strings.HasPrefix(got, tc.at) {
				t.Errorf("place %s, want %s", got, tc.at)
			}
			if text := f.FieldError.String(); !strings.Contains(text, tc.says) {
				t.Errorf("says %q, want %q", text, tc.says)
			}
			if f.Excerpt == "" {
				t.Error("no excerpt")
			}
		})
	}
}

func TestAMistakeOnLine40IsPointedAt(t *testing.T) {
	t.Parallel()
	text := "tasks:\n" + strings.Repeat("  - name: t\n    kind: func\n    timeout: 5m\n", 12) + "  # 38\n  - name: last\n    timeout: 90\n"
	for i := range 12 {
		text = strings.Replace(text, "name: t\n", "name: task-"+string(rune('a'+i))+"\n", 1)
	}
	f := faultsOf(t, text)[0]
	if f.Place.Line != 40 || f.Place.Column != 14 || f.Field != "tasks[12].timeout" {
		t.Errorf("got %s %s", f.Place, f.Field)
	}
	want := "    38 |   # 38\n    39 |   - name: last\n>   40 |     timeout: 90\n       |              ^"
	if got := f.Excerpt; strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("excerpt\n%s\nwant\n%s", got, want)
	}
}

func TestEveryFaultIsToldAtOnce(t *testing.T) {
	t.Parallel()
	fs := faultsOf(t, "tasks:\n  - nam: a\n  - timout: b\n", "schedule: []\n")
	if len(fs) != 3 || fs[2].Place.File != "b.yaml" {
		t.Errorf("faults %+v", fs)
	}
	_, err := parse(t, "tasks:\n"+strings.Repeat("  - nam: a\n", 100))
	var fe *FileError
	if !errors.As(err, &fe) || len(fe.Faults) != maxFaults || fe.More != 80 {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyFieldsArePassedOver(t *testing.T) {
	t.Parallel()
	defs, err := parse(t, "tasks:\n  - name: a\n    id: 7\n    generation: 3\n    created_at: whenever\n")
	if err != nil {
		t.Fatal(err)
	}
	if defs.Tasks[0].ID != 0 || defs.Tasks[0].Generation != 0 {
		t.Errorf("got %+v", defs.Tasks[0])
	}
}

func TestServerFaultsAreLocated(t *testing.T) {
	t.Parallel()
	defs, err := parse(t, "tasks:\n  - name: a\n", "schedules:\n  - name: s\n    task: a\n")
	if err != nil {
		t.Fatal(err)
	}
	err = defs.Locate(core.InvalidField("schedules[0].task", "a", "is not a task", ""))
	if got := err.Error(); !strings.Contains(got, "b.yaml:3:11: schedules[0].task") {
		t.Errorf("got %s", got)
	}
	other := core.InvalidField("namespace", "x", "is wrong", "")
	if got := defs.Locate(other); !errors.Is(got, other) {
		t.Errorf("an error about no file became %v", got)
	}
}

func TestFoldersAreReadInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": "tasks: [{name: b}]", "a.yml": "tasks: [{name: a}]", "c.json": `{"tasks": [{"name": "c"}]}`, "notes.txt": "not read",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srcs, err := ReadSources([]string{dir, "-"}, strings.NewReader("tasks: [{name: d}]"))
	if err != nil {
		t.Fatal(err)
	}
	defs, err := ParseManifest(srcs, core.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range defs.Tasks {
		names = append(names, task.Name)
	}
	if got := strings.Join(names, ""); got != "abcd" {
		t.Errorf("read %s", got)
	}
	for _, path := range []string{filepath.Join(dir, "nowhere"), t.TempDir()} {
		if _, err := ReadSources([]string{path}, nil); core.CodeOf(err) != core.Invalid {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestALargeFileIsRefused(t *testing.T) {
	t.Parallel()
	_, err := ParseManifest([]Source{{Name: "big", Text: make([]byte, MaxFile+1)}}, "default")
	if err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("got %v", err)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"timeout", "task", "tasks", "name", "namespace", "retry"}
	for word, want := range map[string]string{
		"timout": "timeout", "Timeout": "timeout", "namee": "name", "tsak": "task", "retries": "", "xyzzy": "", "": "",
	} {
		if got := Suggest(word, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}

// FuzzParseManifest: whatever comes is read or refused, and what is read can
// be written as JSON and read again as the same.
func FuzzParseManifest(f *testing.F) {
	f.Add("tasks:\n  - name: a\n    command: {shell: 'echo hi'}\nschedules:\n  - name: s\n    task: a\n    rules: [{every: 5s}]\n")
	f.Add(`{"tasks":[{"name":"a","input":{"x":[1,2.5,null,"é"]}}]}`)
	f.Add("a: &x\n- *x")
	f.Add("tasks: |\n  text\n? x\n: y")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		defs, err := ParseManifest([]Source{{Name: "f", Text: []byte(text)}}, "default")
		if err != nil {
			_ = err.Error()
			return
		}
		out, err := json.Marshal(defs.Manifest)
		if err != nil {
			t.Fatalf("read, but cannot be written: %v", err)
		}
		again, err := ParseManifest([]Source{{Name: "f", Text: out}}, "default")
		if err != nil {
			t.Fatalf("written as %s, then refused: %v", out, err)
		}
		out2, _ := json.Marshal(again.Manifest)
		if string(out) != string(out2) {
			t.Fatalf("changed on the way:\n%s\n%s", out, out2)
		}
	})
}

// The numbers are those of YAML 1.2 (section 10.3.2), of which JSON's are a part.
func TestNumbersOfAnInputStayNumbers(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"1e30": "1e30", "1E5": "1E5", "1e-7": "1e-7", "1E+2": "1E+2", "-2e3": "-2e3", "1.5e3": "1.5e3", "1e999": "1e999", "1.50": "1.50",
		"100000000000000000000000": "100000000000000000000000", "-100000000000000000000000": "-100000000000000000000000",
		"18446744073709551616": "18446744073709551616", "+1e3": "1000", ".5e1": "5", "1.e2": "100", "01e1": "10",
		`"1e3"`: `"1e3"`, `'1e3'`: `"1e3"`, "1e3x": `"1e3x"`, "1e": `"1e"`, "e3": `"e3"`, "1_000e3": `"1_000e3"`, "|\n      1e3": `"1e3\n"`,
		`{"a":1e30,"b":[1E5]}`: `{"a":1e30,"b":[1E5]}`,
	} {
		defs, err := ParseManifest([]Source{{Name: "f", Text: []byte("tasks:\n  - name: a\n    command: {shell: x}\n    input: " + written + "\n")}}, "default")
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if got := string(defs.Manifest.Tasks[0].Input); got != want {
			t.Errorf("%s is read as %s, want %s", written, got, want)
		}
		var out bytes.Buffer
		if err := WriteYAML(&out, defs.Manifest); err != nil {
			t.Fatal(err)
		}
		again, err := ParseManifest([]Source{{Name: "f", Text: out.Bytes()}}, "default")
		if err != nil || string(again.Manifest.Tasks[0].Input) != want {
			t.Errorf("%s is written as\n%s and read again otherwise (%v)", written, out.String(), err)
		}
	}
}

func TestALongListIsNotDeep(t *testing.T) {
	text := "schedules:\n" + strings.Repeat("- name: s\n  task: t\n  input:\n    a: {b: {c: d}}\n", 300)
	_, err := ParseManifest([]Source{{Name: "long.yaml", Text: []byte(text)}}, "default")
	if err == nil || strings.Contains(err.Error(), "nested") || !strings.Contains(err.Error(), "defined twice") {
		t.Fatalf("a list of 300 entries: %v", err)
	}
	deep := "tasks:\n"
	for i := range 100 {
		deep += strings.Repeat(" ", i+1) + "a:\n"
	}
	if _, err := ParseManifest([]Source{{Name: "deep.yaml", Text: []byte(deep)}}, "default"); err == nil || !strings.Contains(err.Error(), "nested more than") {
		t.Fatalf("a hundred levels: %v", err)
	}
}

func TestHintsListOnlyWritableFields(t *testing.T) {
	t.Parallel()
	_, err := ParseManifest([]Source{{Name: "a.yaml", Text: []byte("tasks:\n  - name: a\n    zzzzzzzz: 5m\n    created: 1\n")}}, core.DefaultNamespace)
	if err == nil || !strings.Contains(err.Error(), "known here: ") || !strings.Contains(err.Error(), ", timeout") {
		t.Fatal(err)
	}
	for _, own := range []string{"created_at", "generation", "updated_at"} {
		if strings.Contains(err.Error(), own) {
			t.Errorf("the hint names %s, which only Belfry writes: %v", own, err)
		}
	}
	if _, err := ParseManifest([]Source{{Name: "a.yaml", Text: []byte("tasks:\n  - name: a\n    kind: func\n    generation: 4\n")}}, core.DefaultNamespace); err != nil {
		t.Errorf("what an export writes is refused: %v", err)
	}
}

// Not parallel: it looks at what the whole program allocates.
func TestFaultsThatAreNotShownCostLittle(t *testing.T) {
	var text strings.Builder
	text.WriteString("tasks:\n")
	for i := range 4000 {
		fmt.Fprintf(&text, "  - name: t%d\n    zzzzzzzz: 1\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ParseManifest([]Source{{Name: "a.yaml", Text: []byte(text.String())}}, core.DefaultNamespace); err == nil {
		t.Fatal("it passed")
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 400 {
		t.Errorf("4,000 faults in a file of %d bytes took %d MB", text.Len(), mb)
	}
}
