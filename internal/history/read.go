package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// maxLine is the longest line, in bytes.
const maxLine = 16 << 20

// reader is the state of reading a file.
type reader struct {
	h    *History
	line int
	open map[opID]*Operation
}

type opID struct {
	process string
	id      int64
}

// Read reads a history and checks its form. An error is [core.Invalid] and names the line.
func Read(in io.Reader) (*History, error) {
	r := &reader{h: &History{}, open: map[opID]*Operation{}}
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, core.Errorf(core.Unavailable, "cannot read line %d: %w", r.line+1, err)
		}
		if len(text) == 0 {
			return r.h, r.end()
		}
		if r.line++; r.line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark, which some editors write
		}
		if err != nil {
			return nil, r.fault("the line does not end: the file was cut", "record again; the writer was stopped, or the file was copied while it was written")
		}
		if err := r.take(bytes.TrimSpace(text)); err != nil {
			return nil, err
		}
	}
}

func (r *reader) fault(message, hint string) error {
	return core.Errorf(core.Invalid, "line %d: %s", r.line, message).WithHint("%s", hint)
}

const formatHint = "see docs/reference/history.md for the format, and correct the driver"

func (r *reader) take(text []byte) error {
	switch {
	case len(text) > maxLine:
		return r.fault(fmt.Sprintf("must have at most %d bytes", maxLine), formatHint)
	case r.line == 1:
		return r.header(text)
	case r.h.End.Lines > 0:
		return r.fault("stands behind the last line", "write the end line once, when nothing more is recorded; check files one at a time")
	}
	var row row
	if err := json.Unmarshal(text, &row); err != nil {
		return r.fault("must be a JSON object: "+err.Error(), formatHint)
	}
	switch row.Line {
	case KindEvent:
		var e Event
		return cmpErr(r.decode(text, &e), func() error { return r.event(e) })
	case KindExecution:
		return keep(r, text, &r.h.Executions, r.execution)
	case KindJob:
		return keep(r, text, &r.h.Jobs, r.job)
	case KindSchedule:
		return keep(r, text, &r.h.Schedules, r.schedule)
	case KindOccurrence:
		return keep(r, text, &r.h.Occurrences, r.occurrence)
	case KindMonitor:
		return keep(r, text, &r.h.Monitors, r.monitor)
	case KindTarget:
		return keep(r, text, &r.h.Targets, r.target)
	case KindLimit:
		return keep(r, text, &r.h.Limits, r.limit)
	case KindWorkflow:
		return keep(r, text, &r.h.Workflows, r.workflow)
	case KindEnd:
		return cmpErr(r.decode(text, &r.h.End), r.last)
	}
	return r.fault(fmt.Sprintf("line must be one of %s, and is %q", list(kinds), row.Line), formatHint)
}

// cmpErr returns err, or the result of next if err is nil.
func cmpErr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

func keep[T any](r *reader, text []byte, all *[]At[T], check func(T) error) error {
	var v T
	if err := r.decode(text, &v); err != nil {
		return err
	}
	*all = append(*all, At[T]{v, r.line})
	return check(v)
}

// decode decodes a line. It refuses unknown fields, because a misspelled field would not be checked.
func (r *reader) decode(text []byte, v any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return r.fault("must be a JSON object: "+err.Error(), formatHint)
	}
	delete(fields, "line")
	text, err := json.Marshal(fields)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(v)
	}
	if err != nil {
		return r.fault(strings.TrimPrefix(err.Error(), "json: "), formatHint)
	}
	return nil
}

func (r *reader) header(text []byte) error {
	var version struct {
		Version *int `json:"belfry_history"`
	}
	if err := json.Unmarshal(text, &version); err != nil || version.Version == nil {
		return r.fault("must be the header of a history", `begin the file with {"belfry_history":1,"source":"...","clock":"..."}`)
	}
	if *version.Version != Version {
		return r.fault(fmt.Sprintf("the history has format version %d, and this belfry reads version %d", *version.Version, Version),
			"check it with the belfry of the release that the driver was written for")
	}
	if err := r.decode(text, &r.h.Header); err != nil {
		return err
	}
	if r.h.Header.Source == "" || r.h.Header.Clock == "" {
		return r.fault("source and clock must not be empty", "name the installation and what times count from, such as monotonic")
	}
	return nil
}

func (r *reader) event(e Event) error {
	id := opID{e.Process, e.ID}
	o := r.open[id]
	if !slices.Contains(ops, e.Op) {
		return r.fault(fmt.Sprintf("op must be one of %s, and is %q", list(ops), e.Op), formatHint)
	}
	if e.Type == Invoke {
		if o != nil {
			return r.fault(fmt.Sprintf("operation %d of process %s was invoked already in line %d", e.ID, e.Process, o.Line), "give each operation of a process an id of its own")
		}
		o = &Operation{Process: e.Process, Op: e.Op, Type: Unknown, Invoked: e.Time, Ended: never, Line: r.line}
		if e.Args != nil {
			o.Args = *e.Args
		}
		r.open[id] = o
		r.h.Operations = append(r.h.Operations, o)
		return nil
	}
	switch {
	case e.Type != OK && e.Type != Fail && e.Type != Unknown:
		return r.fault(fmt.Sprintf("type must be one of invoke, ok, fail, unknown, and is %q", e.Type), formatHint)
	case o == nil:
		return r.fault(fmt.Sprintf("operation %d of process %s ends and was not invoked", e.ID, e.Process), "write the invoke event before the request is sent")
	case o.EndLine > 0:
		return r.fault(fmt.Sprintf("operation %d of process %s ended already in line %d", e.ID, e.Process, o.EndLine), "write one end for each operation")
	case o.Op != e.Op:
		return r.fault(fmt.Sprintf("operation %d of process %s is %s in line %d, and %s here", e.ID, e.Process, o.Op, o.Line, e.Op), formatHint)
	case e.Time < o.Invoked:
		return r.fault(fmt.Sprintf("the operation ends at %d, before it was invoked at %d in line %d", e.Time, o.Invoked, o.Line), "take times from a monotonic clock")
	case e.Type == OK && e.Result == nil:
		return r.fault("an event of type ok must have a result", formatHint)
	}
	o.Type, o.Error, o.EndLine = e.Type, e.Error, r.line
	if e.Type == OK {
		o.Ended, o.Result = e.Time, *e.Result
	}
	if e.Type == OK && (e.Op == OpEnqueue || e.Op == OpFinish) && len(o.Result.Jobs) != len(o.Args.Jobs) {
		return r.fault(fmt.Sprintf("%s of %d jobs in line %d is answered with %d", e.Op, len(o.Args.Jobs), o.Line, len(o.Result.Jobs)), "write a result for each job, in their order")
	}
	return nil
}

func (r *reader) execution(e Execution) error {
	switch {
	case e.Job <= 0 || e.Lease <= 0:
		return r.fault("job and lease must be greater than 0", formatHint)
	case (e.Outcome == "") != (e.End == 0):
		return r.fault("end and outcome go together", "leave out both when the handler did not come to its end")
	case e.Outcome != "" && !slices.Contains([]string{"ok", "error", "snoozed"}, e.Outcome):
		return r.fault(fmt.Sprintf("outcome must be one of ok, error, snoozed, and is %q", e.Outcome), formatHint)
	case e.End > 0 && e.End < e.Start:
		return r.fault("end must not be before start", "take times from a monotonic clock")
	}
	return nil
}

func (r *reader) job(j Job) error {
	if j.ID <= 0 || j.State == "" {
		return r.fault("id and state must be given", formatHint)
	}
	return nil
}

func (r *reader) schedule(s Schedule) error {
	var p core.Problems
	if _, err := s.Definition.WithDefaults().PlanFor(&p, timeOf(0).AddDate(-1000, 0, 0)); err != nil || s.Definition.Name == "" || s.To < s.From {
		return r.fault(fmt.Sprintf("definition must be a schedule with a name, and to not before from: %v", err), "write the schedule as GET /v1/schedules/NAME answers it")
	}
	return nil
}

func (r *reader) occurrence(o Occurrence) error {
	switch {
	case o.Schedule == "" || o.Nominal == 0:
		return r.fault("schedule and nominal must be given", formatHint)
	case o.Until != 0 && o.Until < o.Nominal:
		return r.fault("until must not be before nominal", formatHint)
	case !slices.Contains([]string{"job", "buffered", "skipped"}, o.Decision):
		return r.fault(fmt.Sprintf("decision must be one of job, buffered, skipped, and is %q", o.Decision), formatHint)
	}
	return nil
}

func (r *reader) monitor(m Monitor) error {
	if m.Name == "" || m.To <= m.From {
		return r.fault("name must be given, and to be after from", formatHint)
	}
	return nil
}

func (r *reader) target(t Target) error {
	if t.Monitor == "" || t.State != "up" && t.State != "down" {
		return r.fault("monitor must be given, and state be up or down", formatHint)
	}
	return nil
}

// last checks the end line.
func (r *reader) last() error {
	if r.h.End.Lines != r.line {
		return r.fault(fmt.Sprintf("the end says that there are %d lines, and there are %d: the file was cut or put together", r.h.End.Lines, r.line), "record again, or check the files one at a time")
	}
	for _, k := range r.h.End.Complete {
		if !slices.Contains(kinds, k) {
			return r.fault(fmt.Sprintf("complete must have kinds of lines, and has %q", k), formatHint)
		}
	}
	return nil
}

// end checks the whole file after its last byte.
func (r *reader) end() error {
	r.h.Lines = r.line
	switch {
	case r.line == 0:
		return core.Errorf(core.Invalid, "the history is empty").WithHint("record one; see docs/reference/history.md")
	case r.h.End.Lines == 0:
		return r.fault("the history has no end line: the file was cut", "record again; the writer was stopped before it closed the file")
	}
	return nil
}

func list[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, ", ")
}
