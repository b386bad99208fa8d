package belfry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// refusal is one bad input: how it differs from the good one, and the field
// and the words that the answer must have.
type refusal[T any] struct {
	name   string
	change func(*T)
	field  string
	says   string
}

// refuses checks that good passes, and that each row is refused with its one
// field.
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
			var e *Error
			if !errors.As(err, &e) || e.Code != Invalid {
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
		{"huge input", func(t *Task) { t.Input = []byte(`"` + strings.Repeat("x", MaxInput) + `"`) }, "input", "over the limit of 262144 bytes"},
		{"unknown kind", func(t *Task) { t.Kind = "magic" }, "kind", "is not a kind that this Belfry knows (one of command, cycle, dns, func, grpc, http, page, ping, program, tcp, tls, websocket)"},
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
		{"an exit code of 256", func(t *Task) { t.Command.SuccessCodes = []int{0, 256} }, "command.success_codes", "outside 0 to 255"},
		{"a negative exit code", func(t *Task) { t.Command.SuccessCodes = []int{-1} }, "command.success_codes", "outside 0 to 255"},
	})
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
		{"keeps too much", func(t *Task) { t.HTTP.KeepBodyBytes = MaxInput + 1 }, "http.keep_body_bytes", "outside -1 to"},
		{"keeps less than nothing", func(t *Task) { t.HTTP.KeepBodyBytes = -2 }, "http.keep_body_bytes", "outside -1 to"},
	})
}

func TestSchedulesAreChecked(t *testing.T) {
	now := at("10:00")
	good := func() Schedule {
		return Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "0 9 * * *"}}}.WithDefaults()
	}
	rule := func(r Rule) func(*Schedule) { return func(s *Schedule) { s.Rules = []Rule{r} } }
	refuses(t, good, func(s Schedule) error { return s.Validate(now) }, []refusal[Schedule]{
		{"no name", func(s *Schedule) { s.Name = "" }, "name", "is missing (use"},
		{"bad namespace", func(s *Schedule) { s.Namespace = "a/b" }, "namespace", "is not a name"},
		{"no task", func(s *Schedule) { s.Task = "" }, "task", "is missing"},
		{"bad input", func(s *Schedule) { s.Input = []byte("{") }, "input", "is not JSON"},
		{"long description", func(s *Schedule) { s.Description = long }, "description", "more than 4096 bytes"},
		{"without rules it is triggered by hand", func(s *Schedule) { s.Rules = nil }, "", ""},
		{"33 rules", func(s *Schedule) { s.Rules = slices.Repeat(s.Rules, 33) }, "rules", "more than 32 entries"},
		{"an empty rule", rule(Rule{}), "rules[0]", "exactly one of cron, rrule, every, at"},
		{"two rules in one", rule(Rule{Cron: "0 9 * * *", Every: span("1m")}), "rules[0]", "exactly one of"},
		{"the second rule", func(s *Schedule) { s.Rules = append(s.Rules, Rule{}) }, "rules[1]", "exactly one of"},
		{"not a cron expression", rule(Rule{Cron: "61 * * * *"}), "rules[0].cron", `"61 * * * *": `},
		{"a cron expression that never matches", rule(Rule{Cron: "0 0 30 2 *"}), "rules[0].cron", "0 0 30 2 *"},
		{"a rrule that is none", rule(Rule{RRule: "FREQ=SOMETIMES"}), "rules[0].rrule", "FREQ=SOMETIMES"},
		{"an interval under a second", rule(Rule{Every: span("999ms")}), "rules[0].every", "outside 1s to 366d"},
		{"a negative interval", rule(Rule{Every: span("-1m")}), "rules[0].every", "outside 1s to 366d"},
		{"an interval of two years", rule(Rule{Every: span("731d")}), "rules[0].every", "outside 1s to 366d"},
		{"a short interval from the finish", rule(Rule{Every: 1, Anchor: AnchorFinish}), "rules[0].every", "outside 1s to 366d"},
		{"a negative interval from the finish", rule(Rule{Every: -1, Anchor: AnchorFinish}), "rules[0].every", "outside 1s to 366d"},
		{"an interval finer than the engine", rule(Rule{Every: span("1500us") + span("1s")}), "rules[0].every", "millisecond"},
		{"from the finish", rule(Rule{Every: span("1m"), Anchor: AnchorFinish}), "", ""},
		{"from somewhere", rule(Rule{Every: span("1m"), Anchor: "ship"}), "rules[0].anchor", "is not an anchor (one of plan, finish)"},
		{"an anchor without every", rule(Rule{Cron: "0 9 * * *", Anchor: AnchorFinish}), "rules[0].anchor", "belongs to a rule with every"},
		{"1001 instants", rule(Rule{At: slices.Repeat([]time.Time{at("11:00")}, 1001)}), "rules[0].at", "more than 1000 entries"},
		{"an instant that is none", rule(Rule{At: []time.Time{{}}}), "rules[0].at", ""},
		{"an instant that passed", rule(Rule{At: []time.Time{at("10:00")}}), "rules", "never match after 2026-03-02T10:00:00Z (check dates, years, start and end)"},
		{"an instant to come", rule(Rule{At: []time.Time{at("10:01")}}), "", ""},
		{"no run between start and end", func(s *Schedule) { s.Start, s.End = at("10:00"), at("11:00") }, "rules", "never match after"},
		{"an unknown zone", func(s *Schedule) { s.Zone = "Mars/Olympus" }, "zone", "Mars/Olympus"},
		{"an unknown answer to a gap", func(s *Schedule) { s.DSTGap = "jump" }, "dst_gap", "is not a choice (one of run_after, skip)"},
		{"an unknown answer to a fold", func(s *Schedule) { s.DSTFold = "third" }, "dst_fold", "is not a choice (one of first, second, both)"},
		{"end before start", func(s *Schedule) { s.Start, s.End = at("05T00:00"), at("04T00:00") }, "end", "is before start"},
		{"an end that passed", func(s *Schedule) { s.End = at("10:00") }, "end", "has passed"},
		{"unknown catch-up", func(s *Schedule) { s.Catchup = "some" }, "catchup", "is not a catch-up (one of none, latest, all)"},
		{"a window too short", func(s *Schedule) { s.CatchupWindow = span("9s") }, "catchup_window", "is outside 10s to 366d"},
		{"a window too long", func(s *Schedule) { s.CatchupWindow = MaxEvery + 1 }, "catchup_window", "is outside"},
		{"catches up with none", func(s *Schedule) { s.CatchupMax = -1 }, "catchup_max", "outside 1 to 1000"},
		{"catches up with 1001", func(s *Schedule) { s.CatchupMax = 1001 }, "catchup_max", "outside 1 to 1000"},
		{"unknown overlap", func(s *Schedule) { s.Overlap = "pile" }, "overlap", "(one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow)"},
		{"buffers none", func(s *Schedule) { s.BufferMax = -1 }, "buffer_max", "outside 1 to 1000"},
		{"buffers 1001", func(s *Schedule) { s.BufferMax = 1001 }, "buffer_max", "outside 1 to 1000"},
		{"less than no run", func(s *Schedule) { s.MaxRuns = -1 }, "max_runs", "is negative"},
		{"negative jitter", func(s *Schedule) { s.Jitter = -1 }, "jitter", "outside 0s to 24h"},
		{"jitter over a day", func(s *Schedule) { s.Jitter = span("24h") + 1 }, "jitter", "outside 0s to 24h"},
		{"unknown answer to a blackout", func(s *Schedule) { s.OnBlackout = "hide" }, "on_blackout", "(one of skip, next_open)"},
		{"17 calendars", func(s *Schedule) { s.Blackout = manyOf(17, "c") }, "blackout", "more than 16 entries"},
	})
}

func TestAScheduleNamesOnlyCalendarsThatAreThere(t *testing.T) {
	t.Parallel()
	s := Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "0 9 * * *"}}, Blackout: []string{"lunch", "moon"}}.WithDefaults()
	_, err := s.Plan(lunch)
	var e *Error
	if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != "blackout[1]" || e.Fields[0].Hint == "" {
		t.Errorf("got %v", err)
	}
}

func TestCalendarsAreChecked(t *testing.T) {
	refuses(t, func() Calendar { return lunch.WithDefaults() }, Calendar.Validate, []refusal[Calendar]{
		{"no name", func(c *Calendar) { c.Name = "" }, "name", "is missing"},
		{"bad namespace", func(c *Calendar) { c.Namespace = "a b" }, "namespace", "is not a name"},
		{"long description", func(c *Calendar) { c.Description = long }, "description", "more than 4096"},
		{"unknown zone", func(c *Calendar) { c.Zone = "Mars/Olympus" }, "zone", "Mars/Olympus"},
	})
}

func TestQueuesAreChecked(t *testing.T) {
	refuses(t, func() Queue { return Queue{Name: "mail"}.WithDefaults() }, Queue.Validate, []refusal[Queue]{
		{"no name", func(q *Queue) { q.Name = "" }, "name", "is missing (use"},
		{"priority", func(q *Queue) { q.Priority = 1001 }, "priority", "outside -1000 to 1000"},
		{"no slot", func(q *Queue) { q.Concurrency = -1 }, "concurrency", "outside 1 to 10000"},
		{"too many slots", func(q *Queue) { q.Concurrency = 10_001 }, "concurrency", "outside 1 to 10000"},
		{"negative limit", func(q *Queue) { q.GlobalLimit = -1 }, "global_limit", "outside 0 to 1000000"},
		{"huge limit", func(q *Queue) { q.GlobalLimit = 1_000_001 }, "global_limit", "outside 0 to 1000000"},
		{"long description", func(q *Queue) { q.Description = long }, "description", "more than 4096 bytes"},
	})
	for _, q := range FirstQueues() {
		if err := q.Validate(); err != nil || !reflect.DeepEqual(q, q.WithDefaults()) {
			t.Errorf("first queue %s: %v", q.Name, err)
		}
	}
}

func TestNewJobsAreChecked(t *testing.T) {
	now := at("10:00")
	high := 1001
	refuses(t, func() NewJob { return NewJob{Task: "t"} }, func(n NewJob) error { return n.Validate(now) }, []refusal[NewJob]{
		{"no task", func(n *NewJob) { n.Task = "" }, "task", "is missing"},
		{"bad namespace", func(n *NewJob) { n.Namespace = "*" }, "namespace", "is not a name"},
		{"bad queue", func(n *NewJob) { n.Queue = "a b" }, "queue", "is not a name"},
		{"a kind", func(n *NewJob) { n.Kind = KindHTTP }, "kind", "(only func, for a handler without a task)"},
		{"kind func", func(n *NewJob) { n.Kind = KindFunc }, "", ""},
		{"priority", func(n *NewJob) { n.Priority = &high }, "priority", "outside -1000 to 1000"},
		{"bad input", func(n *NewJob) { n.Input = []byte("nope") }, "input", "is not JSON"},
		{"bad tag", func(n *NewJob) { n.Tags = []string{""} }, "tags", "is not a tag"},
		{"negative delay", func(n *NewJob) { n.Delay = -1 }, "delay", "outside 0s to"},
		{"huge delay", func(n *NewJob) { n.Delay = MaxDelay + 1 }, "delay", "outside 0s to"},
		{"delay and due", func(n *NewJob) { n.Delay, n.DueAt = 1, now }, "delay", "cannot stand beside due_at (keep one of them)"},
		{"due long ago", func(n *NewJob) { n.DueAt = at("09:59") }, "due_at", "has passed (leave it out to run at once)"},
		{"due a moment ago", func(n *NewJob) { n.DueAt = at("09:59:55") }, "", ""},
		{"due in the far future", func(n *NewJob) { n.DueAt = at("2099-01-01T00:00") }, "due_at", "more than ten years away"},
		{"negative attempts", func(n *NewJob) { n.MaxAttempts = -1 }, "max_attempts", "outside 1 to 100"},
		{"101 attempts", func(n *NewJob) { n.MaxAttempts = 101 }, "max_attempts", "outside 1 to 100"},
		{"short timeout", func(n *NewJob) { n.Timeout = 1 }, "timeout", "outside 10ms to 7d"},
		{"long key", func(n *NewJob) { n.Key = strings.Repeat("k", MaxKey+1) }, "key", "is not plain text of at most 256 bytes"},
		{"key with NUL", func(n *NewJob) { n.Key = "a\x00" }, "key", "is not plain text"},
		{"key that is not UTF-8", func(n *NewJob) { n.Key = "\xff" }, "key", "is not plain text"},
		{"long active key", func(n *NewJob) { n.ActiveKey = strings.Repeat("k", MaxKey+1) }, "active_key", "is not plain text"},
		{"negative window", func(n *NewJob) { n.KeyWindow = -1 }, "key_window", "outside 0s to 90d"},
		{"long window", func(n *NewJob) { n.KeyWindow = MaxKeyWindow + 1 }, "key_window", "outside 0s to 90d"},
	})
}

func TestWorkersAreChecked(t *testing.T) {
	good := func() WorkerInfo {
		return WorkerInfo{Name: "host", Kinds: []Kind{KindFunc}, Funcs: []string{"f"}, Queues: map[string]int{"default": 0}}
	}
	refuses(t, good, WorkerInfo.Validate, []refusal[WorkerInfo]{
		{"no name", func(w *WorkerInfo) { w.Name = "" }, "name", "is missing"},
		{"any namespace", func(w *WorkerInfo) { w.Namespace = "*" }, "", ""},
		{"bad namespace", func(w *WorkerInfo) { w.Namespace = "**" }, "namespace", "is not a name"},
		{"no kind", func(w *WorkerInfo) { w.Kinds = nil }, "kinds", "is missing (a worker runs at least one kind)"},
		{"unknown kind", func(w *WorkerInfo) { w.Kinds = []Kind{"magic"} }, "kinds", "is not a kind that this Belfry knows"},
		{"too many handlers", func(w *WorkerInfo) { w.Funcs = manyOf(MaxFuncs+1, "f") }, "funcs", "more than 10000"},
		{"bad handler", func(w *WorkerInfo) { w.Funcs = []string{"a b"} }, "funcs", "is not a name"},
		{"no queue", func(w *WorkerInfo) { w.Queues = nil }, "queues", "between 1 and 1000"},
		{"bad queue", func(w *WorkerInfo) { w.Queues = map[string]int{"a b": 1} }, "queues", "is not a name"},
		{"negative slots", func(w *WorkerInfo) { w.Queues["default"] = -1 }, "queues.default", "outside 0 to 10000"},
	})
}

func TestClaimsAreChecked(t *testing.T) {
	refuses(t, func() ClaimRequest { return ClaimRequest{Want: map[string]int{"default": 5}} }, ClaimRequest.Validate, []refusal[ClaimRequest]{
		{"negative", func(c *ClaimRequest) { c.Want["default"] = -1 }, "want.default", "outside 0 to 10000"},
		{"too many", func(c *ClaimRequest) { c.Want["default"] = 10_001 }, "want.default", "outside 0 to 10000"},
		{"too many queues", func(c *ClaimRequest) {
			for i := range MaxQueues {
				c.Want[fmt.Sprint(i)] = 1
			}
		}, "want", "more than 1000"},
	})
}

func TestFinishesAreChecked(t *testing.T) {
	refuses(t, func() Finish { return Finish{Outcome: OutcomeOK, Output: []byte(`1`)} }, Finish.Validate, []refusal[Finish]{
		{"unknown outcome", func(f *Finish) { f.Outcome = "fine" }, "outcome", "(one of ok, error, timeout, canceled, snoozed, handed_back)"},
		{"no outcome", func(f *Finish) { f.Outcome = "" }, "outcome", "is not an outcome"},
		{"output that is not JSON", func(f *Finish) { f.Output = []byte("x") }, "output", "is not JSON"},
		{"huge output", func(f *Finish) { f.Output = make([]byte, MaxOutput+1) }, "output", "over the limit of 1048576 bytes"},
		{"a snooze of nothing", func(f *Finish) { f.Outcome = OutcomeSnoozed }, "snooze", "is not a time to put the job off"},
	})
}

func TestLogPiecesAreChecked(t *testing.T) {
	refuses(t, func() LogPiece { return LogPiece{Stream: Stdout, Text: "hello"} }, LogPiece.Validate, []refusal[LogPiece]{
		{"negative number", func(l *LogPiece) { l.Seq = -1 }, "seq", "is negative"},
		{"unknown stream", func(l *LogPiece) { l.Stream = "radio" }, "stream", "(one of stdout, stderr, log)"},
		{"long text", func(l *LogPiece) { l.Text = strings.Repeat("x", MaxLogPiece+1) }, "text", "over the limit of 65536 bytes"},
	})
}

func TestTokensAreChecked(t *testing.T) {
	now := at("10:00")
	good := func() Token { return Token{Name: "ci", Scopes: []Scope{ScopeRead}}.WithDefaults() }
	refuses(t, good, func(k Token) error { return k.Validate(now) }, []refusal[Token]{
		{"no name", func(k *Token) { k.Name = "" }, "name", "is missing"},
		{"any namespace", func(k *Token) { k.Namespace = AnyNamespace }, "", ""},
		{"bad namespace", func(k *Token) { k.Namespace = "a b" }, "namespace", "is not a name"},
		{"no scope", func(k *Token) { k.Scopes = nil }, "scopes", "is missing (one or more of read, operate, admin, worker)"},
		{"unknown scope", func(k *Token) { k.Scopes = []Scope{"root"} }, "scopes", "is not a scope (one or more of"},
		{"expired", func(k *Token) { k.ExpiresAt = now }, "expires_at", "has passed"},
		{"expires later", func(k *Token) { k.ExpiresAt = at("10:01") }, "", ""},
	})
}

func TestSelectionsAreChecked(t *testing.T) {
	refuses(t, func() Selection { return Selection{IDs: []int64{1}} }, Selection.Validate, []refusal[Selection]{
		{"nothing", func(s *Selection) { s.IDs = nil }, "ids", "(and not both)"},
		{"both", func(s *Selection) { s.Filter = &JobFilter{} }, "ids", "either ids or a filter must be given"},
		{"a filter", func(s *Selection) { s.IDs, s.Filter = nil, &JobFilter{States: []JobState{JobFailed}} }, "", ""},
		{"too many", func(s *Selection) { s.IDs = make([]int64, MaxBatch+1) }, "ids", "more than 10000"},
		{"long note", func(s *Selection) { s.Note = long }, "note", "more than 4096 bytes"},
		{"bad filter", func(s *Selection) { s.IDs, s.Filter = nil, &JobFilter{States: []JobState{"lost"}} }, "filter.states", "is not a job state"},
	})
}

func TestEveryFaultIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	err := Task{Name: "a b", Queue: "q", Kind: KindCommand, Timeout: -1, Command: &Command{KillGrace: -1}}.Validate()
	var e *Error
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

func TestManifestsNameThePlaceOfAFault(t *testing.T) {
	t.Parallel()
	m := Manifest{
		Queues:    []Queue{{Name: "mail"}, {Name: "mail"}},
		Tasks:     []Task{{Name: "a"}, {Name: "b", HTTP: &HTTP{URL: "ftp://x/"}}, {Name: "a"}, {Name: "a", Namespace: "other"}},
		Schedules: []Schedule{{Name: "s", Task: "a", Rules: []Rule{{Cron: "0 9 * * *"}, {Cron: "61 9 * * *"}}}, {Name: "s", Task: "a"}},
	}.WithDefaults("team")
	if m.Tasks[0].Namespace != "team" || m.Schedules[0].Namespace != "team" || m.Tasks[3].Namespace != "other" {
		t.Error("the namespace goes to those that name none")
	}
	var e *Error
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
	if err := (Manifest{Tasks: make([]Task, MaxManifest+1)}).Validate(); err == nil || !strings.Contains(err.Error(), "more than 100000 definitions") {
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
	for _, s := range []Schedule{
		{},
		{Rules: []Rule{{Every: span("1m")}, {Every: span("1m"), Anchor: AnchorFinish}, {Cron: "@daily"}, {At: instants}}, Start: instants[0], End: instants[0]},
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
	for _, task := range []Task{{}, {Command: &Command{Argv: []string{"a"}}}, {HTTP: &HTTP{URL: "http://a", Method: "post"}}, {Retry: Retry{Delay: span("2h")}}} {
		once := task.WithDefaults()
		if twice := once.WithDefaults(); !reflect.DeepEqual(once, twice) {
			t.Errorf("task\n%+v\n%+v", once, twice)
		}
		if task.Command != nil && task.Command.KillGrace != 0 || task.HTTP != nil && task.HTTP.Method != "post" {
			t.Error("the caller's settings were changed")
		}
	}
	m := Manifest{Queues: []Queue{{Name: "q"}}, Tasks: []Task{{Name: "t"}}, Schedules: []Schedule{{Name: "s"}}}.WithDefaults("a")
	if twice := m.WithDefaults("b"); !reflect.DeepEqual(m, twice) {
		t.Errorf("manifest\n%+v\n%+v", m, twice)
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

func TestSameTimes(t *testing.T) {
	good := func() Schedule {
		return Schedule{Name: "s", Task: "t", Rules: []Rule{{Cron: "0 9 * * *"}, {Every: span("1m")}, {At: []time.Time{at("10:00")}}}}.WithDefaults()
	}
	for _, row := range []struct {
		name   string
		change func(*Schedule)
		same   bool
	}{
		{"nothing", func(*Schedule) {}, true},
		{"policy", func(s *Schedule) { s.Overlap, s.Catchup, s.MaxRuns, s.Jitter = OverlapAllow, CatchupAll, 7, 5 }, true},
		{"task and words", func(s *Schedule) { s.Task, s.Description, s.Input = "u", "new", []byte("1") }, true},
		{"the same instant in another zone", func(s *Schedule) { s.Rules[2].At[0] = s.Rules[2].At[0].In(time.FixedZone("", 3600)) }, true},
		{"cron", func(s *Schedule) { s.Rules[0].Cron = "0 8 * * *" }, false},
		{"rrule", func(s *Schedule) { s.Rules[0].RRule = "FREQ=DAILY" }, false},
		{"every", func(s *Schedule) { s.Rules[1].Every++ }, false},
		{"anchor", func(s *Schedule) { s.Rules[1].Anchor = AnchorFinish }, false},
		{"an instant", func(s *Schedule) { s.Rules[2].At[0] = at("10:01") }, false},
		{"one instant more", func(s *Schedule) { s.Rules[2].At = append(s.Rules[2].At, at("10:01")) }, false},
		{"one rule less", func(s *Schedule) { s.Rules = s.Rules[:2] }, false},
		{"zone", func(s *Schedule) { s.Zone = "Europe/Sofia" }, false},
		{"gap", func(s *Schedule) { s.DSTGap = "skip" }, false},
		{"fold", func(s *Schedule) { s.DSTFold = "both" }, false},
		{"start", func(s *Schedule) { s.Start = at("10:00") }, false},
		{"end", func(s *Schedule) { s.End = at("10:00") }, false},
	} {
		a, b := good(), good()
		row.change(&b)
		if a.SameTimes(b) != row.same || b.SameTimes(a) != row.same {
			t.Errorf("%s: same times is not %t", row.name, row.same)
		}
	}
}

func TestRulesAsText(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{
		{"", "manual"},
		{"cron 0 9 * * *", "0 9 * * *"},
		{"every 90s", "every 1m30s"},
		{"after 5m", "every 5m after finish"},
		{"at 10:00", "at 2026-03-02T10:00:00Z"},
		{"at 10:00 11:00", "at 2 instants"},
		{"every 7d; after 1h", "every 7d + every 1h after finish"},
	} {
		if s, _ := scheduleOf(t, row[0]); s.RuleText() != row[1] {
			t.Errorf("%q is %q, want %q", row[0], s.RuleText(), row[1])
		}
	}
	if got := (Rule{RRule: "FREQ=DAILY"}).String(); !strings.Contains(got, "FREQ=DAILY") {
		t.Errorf("%q", got)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for have, may := range map[Scope][]Scope{
		ScopeRead:    {ScopeRead},
		ScopeOperate: {ScopeRead, ScopeOperate},
		ScopeAdmin:   {ScopeRead, ScopeOperate, ScopeAdmin},
		ScopeWorker:  {ScopeWorker},
		"":           {},
	} {
		for _, want := range Scopes {
			if got := Allows([]Scope{have}, want); got != slices.Contains(may, want) {
				t.Errorf("%q may do what %s asks for: %t", have, want, got)
			}
		}
	}
	if !Allows([]Scope{ScopeWorker, ScopeRead}, ScopeRead) || Allows(nil, ScopeRead) || Allows([]Scope{ScopeAdmin}, "root") {
		t.Error("several scopes, none, or one that does not exist")
	}
}

func TestErrorsForPeople(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want string
	}{
		{Errorf(NotFound, "there is no task %q", "a"), `there is no task "a"`},
		{Errorf(NotFound, "there is no task %q", "a").WithHint("see: %s", "belfry task list"), `there is no task "a" (see: belfry task list)`},
		{&Error{Message: "task", Fields: []FieldError{{Field: "name", Message: "is missing"}}}, "task: name: is missing"},
		{&Error{Message: "task", Fields: []FieldError{{Field: "a", Value: "1", Message: "is bad", Hint: "use 2"}, {Field: "b", Message: "too"}}, Hint: "mend it"},
			`task: a "1": is bad (use 2); b: too (mend it)`},
		{&Error{Fields: []FieldError{{Field: "name", Message: "is missing"}}}, "name: is missing"},
		{InvalidField("name", "x", "is taken", ""), `invalid input: name "x": is taken`},
	} {
		if got := row.err.Error(); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}

func TestErrorsForMachines(t *testing.T) {
	t.Parallel()
	e := Errorf(Unavailable, "open %s: %w", "db", fs.ErrNotExist)
	if !errors.Is(e, fs.ErrNotExist) || e.Message != "open db: file does not exist" {
		t.Errorf("%v lost its cause", e)
	}
	for _, row := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("x"), Internal},
		{e, Unavailable},
		{fmt.Errorf("claim: %w", e), Unavailable},
		{errors.Join(errors.New("x"), e), Unavailable},
		{InvalidField("a", "", "is bad", ""), Invalid},
		{CheckName("name", "a b"), Invalid},
	} {
		if got := CodeOf(row.err); got != row.want {
			t.Errorf("%v has code %q, want %q", row.err, got, row.want)
		}
	}
	if err := CheckName("name", "a.b_c-9"); err != nil {
		t.Error(err)
	}
}

func TestALongValueIsCutAtAWholeCharacter(t *testing.T) {
	t.Parallel()
	e := InvalidField("name", "x"+strings.Repeat("ж", 200), "is long", "")
	if got := e.Fields[0].Value; !utf8.ValidString(got) || len(got) > shownValue+len("…") || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

func TestNestedFaultsKeepTheirPath(t *testing.T) {
	t.Parallel()
	var p problems
	p.nest("a", nil)
	p.nest("b", errors.New("odd"))
	p.nest("c[1]", InvalidField("name", "", "is bad", "mend it"))
	want := problems{{Field: "b", Message: "odd"}, {Field: "c[1].name", Message: "is bad", Hint: "mend it"}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%v", p)
	}
}

func TestJobIDsFromText(t *testing.T) {
	t.Parallel()
	if id, err := JobIDFromText("id", "1042"); id != 1042 || err != nil {
		t.Error(id, err)
	}
	for _, text := range []string{"", "0", "-1", "1.5", "x", "99999999999999999999"} {
		if _, err := JobIDFromText("id", text); CodeOf(err) != Invalid || !strings.Contains(err.Error(), "belfry job list") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: 50, 1: 1, -5: 1, 1000: 1000, 1001: 1000} {
		if got := (Paging{Limit: limit}).Bound(); got != want {
			t.Errorf("limit %d is %d, want %d", limit, got, want)
		}
	}
}

func TestActors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if got := ActorOf(ctx); got != "belfry" {
		t.Error(got)
	}
	if got := ActorOf(WithActor(ctx, "ann")); got != "ann" {
		t.Error(got)
	}
	if got := ActorOf(WithActor(ctx, "")); got != "belfry" {
		t.Error(got)
	}
}

func TestMicro(t *testing.T) {
	t.Parallel()
	if !Micro(time.Time{}).IsZero() {
		t.Error("never became sometime")
	}
	got := Micro(time.Date(2026, 3, 2, 12, 0, 0, 123_456_789, time.FixedZone("", 7200)))
	if want := time.Date(2026, 3, 2, 10, 0, 0, 123_456_000, time.UTC); got != want {
		t.Error(got)
	}
}
