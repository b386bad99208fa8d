package job

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
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

func manyOf(n int, text string) (out []string) {
	return slices.Repeat([]string{text}, n)
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
		{"a kind", func(n *NewJob) { n.Kind = task.KindHTTP }, "kind", "(only func, for a handler without a task)"},
		{"kind func", func(n *NewJob) { n.Kind = task.KindFunc }, "", ""},
		{"priority", func(n *NewJob) { n.Priority = &high }, "priority", "outside -1000 to 1000"},
		{"bad input", func(n *NewJob) { n.Input = []byte("nope") }, "input", "is not JSON"},
		{"deep input", func(n *NewJob) { n.Input = []byte(strings.Repeat("[", 501) + strings.Repeat("]", 501)) }, "input", "more than 500 levels deep"},
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
		{"long key", func(n *NewJob) { n.Key = strings.Repeat("k", core.MaxKey+1) }, "key", "is not plain text of at most 256 bytes"},
		{"key with NUL", func(n *NewJob) { n.Key = "a\x00" }, "key", "is not plain text"},
		{"key that is not UTF-8", func(n *NewJob) { n.Key = "\xff" }, "key", "is not plain text"},
		{"long active key", func(n *NewJob) { n.ActiveKey = strings.Repeat("k", core.MaxKey+1) }, "active_key", "is not plain text"},
		{"negative window", func(n *NewJob) { n.KeyWindow = -1 }, "key_window", "outside 0s to 90d"},
		{"long window", func(n *NewJob) { n.KeyWindow = MaxKeyWindow + 1 }, "key_window", "outside 0s to 90d"},
	})
}

func TestWorkersAreChecked(t *testing.T) {
	good := func() WorkerInfo {
		return WorkerInfo{Name: "host", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"f"}, Queues: map[string]int{"default": 0}}
	}
	refuses(t, good, WorkerInfo.Validate, []refusal[WorkerInfo]{
		{"no name", func(w *WorkerInfo) { w.Name = "" }, "name", "is missing"},
		{"any namespace", func(w *WorkerInfo) { w.Namespace = "*" }, "", ""},
		{"bad namespace", func(w *WorkerInfo) { w.Namespace = "**" }, "namespace", "is not a name"},
		{"no kind", func(w *WorkerInfo) { w.Kinds = nil }, "kinds", "is missing (a worker runs at least one kind)"},
		{"unknown kind", func(w *WorkerInfo) { w.Kinds = []task.Kind{"magic"} }, "kinds", "is not a kind that this Belfry knows"},
		{"too many handlers", func(w *WorkerInfo) { w.Funcs = manyOf(MaxFuncs+1, "f") }, "funcs", "more than 1000 entries"},
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
		{"unknown outcome", func(f *Finish) { f.Outcome = "fine" }, "outcome", "(one of ok, error, timeout, canceled, lost, snoozed, handed_back)"},
		{"no outcome", func(f *Finish) { f.Outcome = "" }, "outcome", "is not an outcome"},
		{"output that is not JSON", func(f *Finish) { f.Output = []byte("x") }, "output", "is not JSON"},
		{"deep output", func(f *Finish) { f.Output = []byte(strings.Repeat("[", 501) + strings.Repeat("]", 501)) }, "output", "more than 500 levels deep"},
		{"huge output", func(f *Finish) { f.Output = make([]byte, core.MaxOutput+1) }, "output", "over the limit of 1048576 bytes"},
		{"a snooze of nothing", func(f *Finish) { f.Outcome = OutcomeSnoozed }, "snooze", "is not a time to put the job off"},
	})
}

func TestLogPiecesAreChecked(t *testing.T) {
	refuses(t, func() LogPiece { return LogPiece{Stream: Stdout, Text: "hello"} }, LogPiece.Validate, []refusal[LogPiece]{
		{"negative number", func(l *LogPiece) { l.Seq = -1 }, "seq", "is outside 0 to"},
		{"number of the store", func(l *LogPiece) { l.Seq = LastLogSeq }, "seq", "is outside 0 to"},
		{"unknown stream", func(l *LogPiece) { l.Stream = "radio" }, "stream", "(one of stdout, stderr, log)"},
		{"long text", func(l *LogPiece) { l.Text = strings.Repeat("x", MaxLogPiece+1) }, "text", "over the limit of 65536 bytes"},
	})
}

func TestJobIDsFromText(t *testing.T) {
	t.Parallel()
	if id, err := IDFromText("id", "1042"); id != 1042 || err != nil {
		t.Error(id, err)
	}
	for _, text := range []string{"", "0", "-1", "1.5", "x", "99999999999999999999"} {
		if _, err := IDFromText("id", text); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "belfry job list") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
