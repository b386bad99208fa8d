package history

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"sync"
	"time"
)

// Writer records a history. It is safe for concurrent use. [Writer.Close] returns the first write error.
type Writer struct {
	now func() int64

	mu    sync.Mutex
	out   *bufio.Writer
	lines int
	last  map[string]int64 // ID of the last operation, by process
	err   error

	closed bool // later lines are not part of the history
}

// NewWriter returns a writer and writes the header. clock returns microseconds and must never be set; nil means the monotonic
// clock of this process.
func NewWriter(out io.Writer, h Header, clock func() int64) *Writer {
	if clock == nil {
		began := time.Now()
		clock = func() int64 { return time.Since(began).Microseconds() }
	}
	h.Version, h.Clock = Version, cmp.Or(h.Clock, "monotonic")
	w := &Writer{now: clock, out: bufio.NewWriter(out), last: map[string]int64{}}
	text, err := encode("", h)
	w.err = err
	if err == nil {
		// The header has its version instead of a kind.
		w.write(append([]byte{'{'}, text[len(`{"line":"",`):]...))
	}
	return w
}

// Now returns the time by the clock of the history, in microseconds.
func (w *Writer) Now() int64 { return w.now() }

// write writes a line. It needs the lock, or a w that is not shared yet.
func (w *Writer) write(text []byte) {
	if w.err == nil && !w.closed {
		_, w.err = w.out.Write(text)
		w.lines++
	}
}

// Add writes a line that is not an event: an [Execution], [Job], [Schedule], [Occurrence], [Monitor] or [Target].
func (w *Writer) Add(v any) {
	kind := kindOf(v)
	text, err := encode(kind, v)
	if kind == "" {
		err = errors.New("this is not a line of a history")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
	w.write(text)
}

func kindOf(v any) Kind {
	switch v.(type) {
	case Execution:
		return KindExecution
	case Job:
		return KindJob
	case Schedule:
		return KindSchedule
	case Occurrence:
		return KindOccurrence
	case Monitor:
		return KindMonitor
	case Target:
		return KindTarget
	case Limit:
		return KindLimit
	case Workflow:
		return KindWorkflow
	}
	return ""
}

// Call is an operation under way. End it with OK, Fail or Unknown. Without an end it is unknown as well.
type Call struct {
	w  *Writer
	of Event
}

// Invoke records a request of a process. Call it before the request is sent.
func (w *Writer) Invoke(process, op string, args Args) Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[process]++
	c := Call{w, Event{Process: process, ID: w.last[process], Op: op}}
	e := c.of
	e.Type, e.Args = Invoke, &args
	w.event(e)
	return c
}

// event reads the clock under the lock, so that lines are in the order of their times.
func (w *Writer) event(e Event) {
	e.Time = w.now()
	text, err := encode(KindEvent, e)
	w.err = errors.Join(w.err, err)
	w.write(text)
}

func (c Call) end(e Event) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.event(e)
}

// OK records an answer. Call it after the answer has arrived.
func (c Call) OK(r Result) {
	e := c.of
	e.Type, e.Result = OK, &r
	c.end(e)
}

// Fail records that the operation has no effect, now or later.
func (c Call) Fail(err error) {
	e := c.of
	e.Type, e.Error = Fail, err.Error()
	c.end(e)
}

// Unknown records that the effect of the operation is unknown.
func (c Call) Unknown(err error) {
	e := c.of
	e.Type, e.Error = Unknown, err.Error()
	c.end(e)
}

// Close writes the last line. complete names the kinds whose lines are complete.
func (w *Writer) Close(complete ...Kind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := encode(KindEnd, End{Lines: w.lines + 1, Complete: complete})
	w.err = errors.Join(w.err, err)
	w.write(text)
	w.closed = true
	return errors.Join(w.err, w.out.Flush())
}
