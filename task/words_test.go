package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
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

var (
	long     = strings.Repeat("x", 5000)
	longName = strings.Repeat("x", 129)
)

func manyOf(n int, text string) (out []string) {
	return slices.Repeat([]string{text}, n)
}

func TestTasksAreChecked(t *testing.T) {
	good := func() Task {
		return Task{Name: "report", Tags: []string{"nightly"}, Input: []byte(`{"a":1}`)}.WithDefaults()
	}
	refuses(t, good, Task.Validate, []refusal[Task]{
		{"no name", func(t *Task) { t.Name = "" }, "name", "is missing (use 1 to 128 letters"},
		{"name with a slash", func(t *Task) { t.Name = "a/b" }, "name", `"a/b": is not a name (use`},
		{"name with a space", func(t *Task) { t.Name = "a b" }, "name", "is not a name"},
		{"name that starts with a dot", func(t *Task) { t.Name = ".a" }, "name", "is not a name"},
		{"name with a line end", func(t *Task) { t.Name = "a\n" }, "name", "is not a name"},
		{"name of 129", func(t *Task) { t.Name = longName }, "name", "is not a name"},
		{"name of 128", func(t *Task) { t.Name = longName[1:] }, "", ""},
		{"no namespace", func(t *Task) { t.Namespace = "" }, "namespace", "is missing"},
		{"any namespace", func(t *Task) { t.Namespace = "*" }, "namespace", "is not a name"},
		{"bad queue", func(t *Task) { t.Queue = "ä" }, "queue", "is not a name"},
		{"bad tag", func(t *Task) { t.Tags = []string{"a b"} }, "tags", "is not a tag (use"},
		{"33 tags", func(t *Task) { t.Tags = manyOf(33, "a") }, "tags", "more than 32"},
		{"32 tags", func(t *Task) { t.Tags = manyOf(32, "a") }, "", ""},
		{"priority too high", func(t *Task) { t.Priority = 1001 }, "priority", "outside -1000 to 1000"},
		{"priority too low", func(t *Task) { t.Priority = -1001 }, "priority", "outside -1000 to 1000"},
		{"long description", func(t *Task) { t.Description = long }, "description", "more than 4096 bytes"},
		{"timeout too short", func(t *Task) { t.Timeout = 1 }, "timeout", "outside 10ms to 7d"},
		{"timeout too long", func(t *Task) { t.Timeout = MaxTimeout + 1 }, "timeout", "outside 10ms to 7d"},
		{"negative timeout", func(t *Task) { t.Timeout = -1 }, "timeout", "outside"},
		{"input that is not JSON", func(t *Task) { t.Input = []byte("{") }, "input", "is not JSON"},
		{"two inputs", func(t *Task) { t.Input = []byte("{} {}") }, "input", "is not JSON"},
		{"huge input", func(t *Task) { t.Input = []byte(`"` + strings.Repeat("x", core.MaxInput) + `"`) }, "input", "over the limit of 262144 bytes"},
		{"unknown kind", func(t *Task) { t.Kind = "magic" }, "kind", "is not a kind that this Belfry knows (one of command, cycle, dns, domain, func, grpc, http, page, ping, program, tcp, tls, udp, websocket, workflow)"},
		{"a kind without its settings", func(t *Task) { t.Kind = KindCommand }, "command", "is missing for a task of kind command"},
		{"a kind with settings of another", func(t *Task) { t.HTTP = &HTTP{URL: "http://a"} }, "http", "does not belong to a task of kind func (a task has one kind)"},
		{"no attempt", func(t *Task) { t.Retry.MaxAttempts = -1 }, "retry.max_attempts", "outside 1 to 100"},
		{"101 attempts", func(t *Task) { t.Retry.MaxAttempts = 101 }, "retry.max_attempts", "outside 1 to 100"},
		{"unknown backoff", func(t *Task) { t.Retry.Backoff = "wild" }, "retry.backoff", "is not a backoff (one of exponential, linear, fixed)"},
		{"negative delay", func(t *Task) { t.Retry.Delay = -1 }, "retry.delay", "outside 0s to 7d"},
		{"a delay of a month", func(t *Task) { t.Retry.Delay = MaxRetryDelay + 1 }, "retry.delay", "outside 0s to 7d"},
		{"negative cap", func(t *Task) { t.Retry.MaxDelay = -1 }, "retry.max_delay", "outside 0s to 7d"},
		{"jitter over one", func(t *Task) { t.Retry.Jitter = 1.01 }, "retry.jitter", "outside 0 to 1 (or -1 for none)"},
		{"jitter under none", func(t *Task) { t.Retry.Jitter = -0.5 }, "retry.jitter", "outside 0 to 1"},
		{"jitter that is no number", func(t *Task) { t.Retry.Jitter = math.NaN() }, "retry.jitter", "outside 0 to 1"},
		{"no jitter", func(t *Task) { t.Retry.Jitter = -1 }, "", ""},
		{"unknown answer to a lost worker", func(t *Task) { t.Retry.OnLost = "cry" }, "retry.on_lost", "(one of retry, fail)"},
	})
}

func TestCommandsAreChecked(t *testing.T) {
	good := func() Task {
		return Task{Name: "c", Command: &Command{Argv: []string{"date", "-u"}, Dir: "/tmp", Env: map[string]string{"A": "1"}}}.WithDefaults()
	}
	refuses(t, good, Task.Validate, []refusal[Task]{
		{"nothing to run", func(t *Task) { t.Command.Argv = nil }, "command.argv", "is missing (give argv: [program, argument] or shell: a script)"},
		{"a script", func(t *Task) { t.Command.Argv, t.Command.Shell = nil, "date" }, "", ""},
		{"both", func(t *Task) { t.Command.Shell = "date" }, "command.shell", "cannot stand beside argv (keep one of them)"},
		{"an empty program", func(t *Task) { t.Command.Argv[0] = "" }, "command.argv[0]", "is empty (name the program)"},
		{"a NUL byte", func(t *Task) { t.Command.Argv[1] = "a\x00b" }, "command.argv", "contains a NUL byte"},
		{"a NUL byte in a script", func(t *Task) { t.Command.Argv, t.Command.Shell = nil, "a\x00b" }, "command.shell", "contains a NUL byte"},
		{"a NUL byte in a folder", func(t *Task) { t.Command.Dir = "/a\x00b" }, "command.dir", "contains a NUL byte"},
		{"a NUL byte in a variable", func(t *Task) { t.Command.Env["A"] = "a\x00b" }, "command.env.A", "contains a NUL byte"},
		{"a relative folder", func(t *Task) { t.Command.Dir = "tmp" }, "command.dir", "is not absolute (the worker's own"},
		{"a nameless variable", func(t *Task) { t.Command.Env = map[string]string{"": "1"} }, "command.env", "is not the name of an environment variable"},
		{"a variable with =", func(t *Task) { t.Command.Env = map[string]string{"A=B": "1"} }, "command.env", `"A=B": is not the name`},
		{"a reserved variable", func(t *Task) { t.Command.Env = map[string]string{"BELFRY_JOB": "1"} }, "command.env.BELFRY_JOB", "is reserved (names that start with BELFRY_"},
		{"too patient", func(t *Task) { t.Command.KillGrace = MaxKillGrace + 1 }, "command.kill_grace", "outside 0s to 5m"},
		{"negative patience", func(t *Task) { t.Command.KillGrace = -1 }, "command.kill_grace", "outside 0s to 5m"},
		{"too much output", func(t *Task) { t.Command.OutputLimit = MaxOutputLimit + 1 }, "command.output_limit", "outside 0 to 67108864 bytes"},
		{"negative output", func(t *Task) { t.Command.OutputLimit = -1 }, "command.output_limit", "outside 0 to"},
		{"a script over the limit", func(t *Task) { t.Command.Argv, t.Command.Shell = nil, strings.Repeat("x", MaxSettings) }, "command", "is over the limit of 262144 bytes, as JSON"},
		{"variables over the limit", func(t *Task) {
			for i := range 20_000 {
				t.Command.Env[fmt.Sprint("NAME_", i)] = "1"
			}
		}, "command", "is over the limit of 262144 bytes, as JSON"},
		{"an exit code of 256", func(t *Task) { t.Command.SuccessCodes = []int{0, 256} }, "command.success_codes", "outside 0 to 255"},
		{"a negative exit code", func(t *Task) { t.Command.SuccessCodes = []int{-1} }, "command.success_codes", "outside 0 to 255"},
	})
}

func TestLargeSettingsAreTakenUpToTheLimit(t *testing.T) {
	of := func(n int) Task {
		return Task{Name: "s", Input: []byte(`"` + strings.Repeat("x", core.MaxInput-2) + `"`), Description: strings.Repeat("d", core.MaxDescription),
			Command: &Command{Shell: strings.Repeat("x", n)}}.WithDefaults()
	}
	rest := MaxSettings - 2048 // the settings that stand beside the script
	if err := of(rest).Validate(); err != nil {
		t.Error(err)
	}
	if err := of(MaxSettings).Validate(); core.CodeOf(err) != core.Invalid {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	good := func() Task {
		return Task{Name: "h", HTTP: &HTTP{URL: "https://example.com/a", Headers: map[string]string{"X-A": "1"}, ExpectBody: "ok"}}.WithDefaults()
	}
	refuses(t, good, Task.Validate, []refusal[Task]{
		{"no URL", func(t *Task) { t.HTTP.URL = "" }, "http.url", "is missing"},
		{"a URL without a host", func(t *Task) { t.HTTP.URL = "/a" }, "http.url", "is not an absolute URL (write https://host/path)"},
		{"not a URL", func(t *Task) { t.HTTP.URL = "http://a b" }, "http.url", "is not an absolute URL"},
		{"another scheme", func(t *Task) { t.HTTP.URL = "ftp://a/b" }, "http.url", "is neither http nor https"},
		{"a password", func(t *Task) { t.HTTP.URL = "http://ann:secret@a/b" }, "http.url", `"http://ann:xxxxx@a/b": carries a user or password (put them into auth`},
		{"not a method", func(t *Task) { t.HTTP.Method = "GET IT" }, "http.method", "is not a method (such as GET or POST)"},
		{"not a header", func(t *Task) { t.HTTP.Headers = map[string]string{"A B": "1"} }, "http.headers", `"A B": is not a header`},
		{"a header of two lines", func(t *Task) { t.HTTP.Headers = map[string]string{"A": "1\r\nB: 2"} }, "http.headers", `"A": is not a header`},
		{"not a status", func(t *Task) { t.HTTP.ExpectStatus = []string{"2xx"} }, "http.expect_status", `"2xx" is not a status code or range (such as 200-299 or 404)`},
		{"not a regular expression", func(t *Task) { t.HTTP.ExpectBody = "(" }, "http.expect_body", "(RE2 syntax)"},
		{"no body at all", func(t *Task) { t.HTTP.MaxBody = -1 }, "http.max_body", "outside 1 to"},
		{"too much body", func(t *Task) { t.HTTP.MaxBody = MaxOutputLimit + 1 }, "http.max_body", "outside 1 to"},
		{"51 redirects", func(t *Task) { t.HTTP.MaxRedirects = 51 }, "http.max_redirects", "outside -1 to 50"},
		{"-2 redirects", func(t *Task) { t.HTTP.MaxRedirects = -2 }, "http.max_redirects", "outside -1 to 50"},
		{"no redirects", func(t *Task) { t.HTTP.MaxRedirects = -1 }, "", ""},
		{"keeps too much", func(t *Task) { t.HTTP.KeepBodyBytes = core.MaxInput + 1 }, "http.keep_body_bytes", "outside -1 to"},
		{"keeps less than nothing", func(t *Task) { t.HTTP.KeepBodyBytes = -2 }, "http.keep_body_bytes", "outside -1 to"},
	})
}

func TestEveryFaultIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	err := Task{Name: "a b", Queue: "q", Kind: KindCommand, Timeout: -1, Command: &Command{KillGrace: -1}}.Validate()
	var e *core.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var fields []string
	for _, f := range e.Fields {
		fields = append(fields, f.Field)
	}
	want := []string{"name", "namespace", "timeout", "retry.max_attempts", "retry.backoff", "retry.on_lost", "command.argv", "command.kill_grace"}
	if !slices.Equal(fields, want) {
		t.Errorf("got  %v\nwant %v", fields, want)
	}
}

func TestKindsAreImplied(t *testing.T) {
	t.Parallel()
	for want, task := range map[Kind]Task{KindFunc: {}, KindCommand: {Command: &Command{}}, KindHTTP: {HTTP: &HTTP{}}} {
		if got := task.WithDefaults().Kind; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
