package monitor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// The tables of verdicts are scripts: a time, what happens then, and so on.
//
//	10:01 ok        a check of that nominal time, judged then: ok, degraded, fail, error;
//	                fail 503 has a message, ok 80ms a latency
//	10:01 lapse     time passes
//	10:01 pause     until it is resumed; pause 10:30: until then
//	10:01 success   a heartbeat's call: success, fails, start, log, exit 3
//	10:01 resume, edit, retarget, mute, unmute, depends, independent
//
// Maintenance windows come first: window 10:05 10:10. The result is the verdict, the
// timeline, the incidents, and the notifications with their times.
type watch struct {
	t       rapid.TB
	m       Monitor
	s       State
	now     time.Time
	windows []ActiveWindow
	depends string
	since   time.Time // JudgeContext.ListeningSince
	next    func(time.Time) time.Time

	line      []Span
	incidents []Incident
	told      []alert.Notification
	toldAt    []time.Time
	again     time.Time
	wake      time.Time
	versions  []PageVersion
}

func newWatch(t rapid.TB, m Monitor, from time.Time) *watch {
	m.Name = "web"
	return &watch{t: t, m: m.WithDefaults(), now: from}
}

func (w *watch) env() JudgeContext {
	env := JudgeContext{DependsDown: w.depends, ListeningSince: w.since, Next: w.next}
	if env.Next == nil {
		every := w.m.pace().D()
		env.Next = func(after time.Time) time.Time { return after.Truncate(every).Add(every) }
	}
	for _, a := range w.windows {
		if a.To.IsZero() || a.To.After(w.now) {
			env.Windows = append(env.Windows, a)
		}
	}
	return env
}

// take writes a judgement like a store, and checks its invariants.
func (w *watch) take(j Judgement) {
	w.t.Helper()
	before := w.s
	for i, s := range j.Spans {
		if i > 0 && !s.From.After(j.Spans[i-1].From) {
			w.t.Fatalf("spans out of order: %s", lineText(j.Spans))
		}
	}
	if len(j.Spans) > 0 {
		first := j.Spans[0].From
		w.line = slices.DeleteFunc(w.line, func(s Span) bool { return !s.From.Before(first) })
		w.line = append(w.line, j.Spans...)
	}
	if j.Closed != nil && j.Opened != nil {
		w.t.Fatal("an incident opened and one closed at once")
	}
	if j.Closed != nil {
		if before.Incident == 0 || j.Closed.ID != before.Incident || j.State.Incident != 0 {
			w.t.Fatalf("closed %d while %d was open, %d after", j.Closed.ID, before.Incident, j.State.Incident)
		}
		i := &w.incidents[j.Closed.ID-1]
		i.EndedAt, i.EndedBy = j.Closed.At, j.Closed.By
		if i.EndedAt.Before(i.StartedAt) {
			w.t.Fatalf("incident ends at %s before it begins at %s", i.EndedAt, i.StartedAt)
		}
	}
	state := j.State
	if j.Opened != nil {
		if before.Incident != 0 || state.Incident != -1 {
			w.t.Fatalf("opened while %d was open, state says %d", before.Incident, state.Incident)
		}
		w.incidents = append(w.incidents, *j.Opened)
		state.Incident = int64(len(w.incidents))
	}
	for _, n := range j.Notifications {
		if n.Monitor != w.m.Name || n.Namespace == "" || n.Title == "" || n.At.IsZero() {
			w.t.Fatalf("notification is not filled: %+v", n)
		}
		w.told, w.toldAt = append(w.told, n), append(w.toldAt, w.now)
	}
	if j.Version != nil {
		v := *j.Version
		w.versions = append(w.versions, v)
	}
	if !j.WakeAt.Equal(state.WakeAt) {
		w.t.Fatalf("wake at %s and state says %s", j.WakeAt, state.WakeAt)
	}
	w.again, w.wake, w.s = j.AgainAt, j.WakeAt, state
}

func (w *watch) check(o Observation) Judgement {
	w.t.Helper()
	given := w.s
	given.Tail, given.Notified, given.CertsWarned = slices.Clone(w.s.Tail), slices.Clone(w.s.Notified), slices.Clone(w.s.CertsWarned)
	j := Judge(w.m, w.s, o, w.env(), w.now)
	if !reflect.DeepEqual(given, w.s) {
		w.t.Fatal("the question was changed by the answer")
	}
	w.take(j)
	w.s = stored(w.t, w.s)
	again := Judge(w.m, w.s, o, w.env(), w.now)
	if !reflect.DeepEqual(again.State, w.s) || again.Spans != nil || again.Opened != nil || again.Closed != nil || again.Notifications != nil || again.Version != nil {
		w.t.Fatalf("judged twice it is something else: %s", difference(again.State, w.s))
	}
	return j
}

func (w *watch) lapse() {
	w.t.Helper()
	w.take(Lapse(w.m, w.s, w.env(), w.now))
	again := Lapse(w.m, w.s, w.env(), w.now)
	if !reflect.DeepEqual(again, Judgement{State: w.s, WakeAt: w.wake}) {
		w.t.Fatalf("called twice it is something else: %s", difference(again.State, w.s))
	}
	if !w.wake.IsZero() && !w.wake.After(w.now) {
		w.t.Fatalf("wants to be woken at %s, and it is %s", w.wake, w.now)
	}
}

// stored returns a state as a store returns it.
func stored(t rapid.TB, s State) (out State) {
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// difference names the fields that differ.
func difference(a, b State) (out string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			out += fmt.Sprintf("%s %v, was %v; ", x.Type().Field(i).Name, x.Field(i), y.Field(i))
		}
	}
	return out
}

// run executes a script.
func (w *watch) run(script string) {
	w.t.Helper()
	enrolled := !w.s.Since.IsZero()
	for step := range strings.SplitSeq(script, ";") {
		f := strings.Fields(step)
		if len(f) == 0 {
			continue
		}
		if f[0] == "window" {
			a := ActiveWindow{Name: fmt.Sprintf("w%d", len(w.windows)+1), From: at(f[1])}
			if len(f) > 2 {
				a.To = at(f[2])
			}
			w.windows = append(w.windows, a)
			continue
		}
		if !enrolled {
			enrolled = true
			w.take(Enroll(w.m, w.env(), w.now))
		}
		w.now = at(f[0])
		w.step(f[1], strings.Join(f[2:], " "))
	}
}

func (w *watch) step(verb, rest string) {
	w.t.Helper()
	call := func(c Call) { w.take(Beat(w.m, w.s, c, w.env(), w.now)) }
	edit := func(change func(*Monitor)) {
		before := w.m
		change(&w.m)
		w.take(EditMonitor(w.m, before, w.s, w.env(), w.now))
	}
	switch verb {
	case "ok", "degraded", "fail", "error":
		o := Observation{At: w.now, CheckResult: task.CheckResult{Outcome: task.CheckOutcome(verb), Message: rest, Latency: core.Duration(50 * time.Millisecond)}}
		switch verb {
		case "fail":
			o.Code = task.CodeStatus
		case "error":
			o.Code = task.CodeInternal
		case "ok":
			if d, err := core.ParseDuration(rest); err == nil {
				o.Latency, o.Message = d, ""
			}
		}
		w.check(o)
	case "lapse":
		w.lapse()
	case "pause":
		var until time.Time
		if rest != "" {
			until = at(rest)
		}
		w.take(PauseMonitor(w.m, w.s, until, "ann", "work", w.now))
	case "resume":
		w.take(ResumeMonitor(w.m, w.s, w.env(), w.now))
	case "success":
		call(Call{Kind: CallSuccess, RunID: rest})
	case "fails":
		call(Call{Kind: CallFail, RunID: rest})
	case "start":
		call(Call{Kind: CallStart, RunID: rest})
	case "log":
		call(Call{Kind: CallLog, Message: rest})
	case "exit":
		code, _ := strconv.Atoi(rest)
		call(Call{Kind: CallSuccess, ExitCode: &code})
	case "edit":
		edit(func(m *Monitor) { m.Description += "." })
	case "retarget":
		edit(func(m *Monitor) { m.Check.HTTP = &task.HTTP{URL: m.Check.HTTP.URL + "/x"} })
	case "mute", "unmute":
		edit(func(m *Monitor) { m.Muted = verb == "mute" })
	case "depends":
		w.depends = "gateway"
	case "independent":
		w.depends = ""
	case "listen":
		w.since = w.now
	case "unwindow":
		w.windows = nil
	default:
		w.t.Fatalf("what is %q?", verb)
	}
}

// story formats the result of a script.
func (w *watch) story() string {
	s := w.s
	text := string(s.Verdict)
	for _, flag := range []struct {
		is   bool
		name string
	}{{!s.PausedAt.IsZero(), "paused"}, {s.Maintenance != "", "maintenance"}, {s.Degraded, "degraded"}, {s.Flapping, "flapping"}, {s.Stale, "stale"}, {s.Slow, "slow"}} {
		if flag.is {
			text += " " + flag.name
		}
	}
	text += " since " + in(s.Since) + " | " + lineText(w.line) + " |"
	for _, i := range w.incidents {
		text += " " + in(i.StartedAt) + "-"
		if i.EndedBy != "" {
			text += in(i.EndedAt) + " " + i.EndedBy
		}
		if i.Maintenance {
			text += " in maintenance"
		}
	}
	text += " |"
	for i, n := range w.told {
		text += " " + string(n.Type) + " " + in(w.toldAt[i])
	}
	return text
}

func lineText(spans []Span) string {
	parts := make([]string, len(spans))
	for i, s := range spans {
		parts[i] = in(s.From) + " " + string(s.State)
	}
	return strings.Join(parts, ", ")
}

// verdictRow is a monitor, a script, and its expected story. The monitor is enrolled
// at 10:00.
type verdictRow struct {
	name   string
	m      Monitor
	script string
	want   string
}

func verdicts(t *testing.T, rows []verdictRow) {
	t.Helper()
	t.Parallel()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := row.m
			if m.Heartbeat == nil && m.Check.HTTP == nil && m.Check.Page == nil && m.Check.TLS == nil {
				m.Check.HTTP = &task.HTTP{URL: "https://example.com"}
			}
			w := newWatch(t, m, at("10:00"))
			w.run(row.script)
			if got := w.story(); got != row.want {
				t.Errorf("%s\ngot   %s\nwant  %s", row.script, got, row.want)
			}
		})
	}
}
