package jobs

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	logPage  = 1000      // pieces that are asked for at once
	logFirst = 512 << 10 // bytes of a log that a page begins with, and that one part holds
	logWidth = 8 << 10   // bytes of a line that are shown

	logWrite = 10 * time.Second // to write one piece of a file
)

// logPart is a part of a job's log, as it is added to what is shown.
type logPart struct {
	Job     job.Job
	Attempt int // 0: all
	Lines   []logLine
	Next    string // where the next part begins
	More    bool   // there is more to read now
	Size    int64  // of a log that is too large to begin with its first line; 0: it is not
	Find    string // what was searched for in all of it
	Found   *job.LogText
	Streams []job.Stream
}

// logLine is a line of a log.
type logLine struct {
	Attempt int
	Stream  job.Stream
	At      time.Time
	Inks    []inked
	Open    bool // it has no end yet
	raw     []byte
}

// Time is when its beginning was written.
func (l *logLine) Time() string { return l.At.UTC().Format("15:04:05.000") }

// Full is that with everything.
func (l *logLine) Full() string { return l.At.UTC().Format("Mon 2 Jan 2006, 15:04:05.000 MST") }

// readLog reads the part of a log that the request asks for.
func (p *page) readLog(j job.Job) (logPart, error) {
	part := logPart{Job: j, Next: p.Query("cursor")}
	if text := p.Query("attempt"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return part, core.InvalidField("attempt", text, "is not the number of an attempt", "a number from 1")
		}
		part.Attempt = n
	}
	if err := p.searchLog(&part); err != nil || part.Found != nil {
		return part, err
	}
	if part.Next == "" {
		if err := p.tailLog(&part); err != nil || part.Size > 0 {
			return part, err
		}
	}
	if offset, ok := byteOf(part.Next); ok {
		return part, p.textLog(&part, job.LogQuery{Offset: offset}, false)
	}
	if part.Next == logStart {
		part.Next = ""
	}
	var pieces []job.LogLine
	for size := 0; size < logFirst; {
		got, err := p.api.Logs(p.R.Context(), p.Namespace, j.ID, job.LogFilter{Attempt: part.Attempt, Paging: core.Paging{Limit: logPage, Cursor: part.Next}})
		if err != nil {
			return part, err
		}
		if part.Next = got.Next; len(got.Items) == 0 {
			part.add(pieces)
			return part, nil
		}
		for _, piece := range got.Items {
			size += len(piece.Text)
		}
		pieces = append(pieces, got.Items...)
	}
	part.More = true
	part.add(pieces)
	return part, nil
}

// A log that is read by byte has cursors with this before the byte. It is read
// so where its end is wanted and its beginning is far: then its lines have no
// times and no streams, which only pieces have.
const logByte = "@"

// logStart is the cursor of the first piece, whatever the size of the log.
const logStart = "start"

func byteOf(cursor string) (offset int64, ok bool) {
	text, ok := strings.CutPrefix(cursor, logByte)
	if !ok {
		return 0, false
	}
	offset, err := strconv.ParseInt(text, 10, 64)
	return offset, err == nil && offset >= 0
}

// tailLog reads the end of a log that is too large to begin at its beginning.
func (p *page) tailLog(part *logPart) error {
	head, err := p.api.LogText(p.R.Context(), p.Namespace, part.Job.ID, job.LogQuery{Attempt: part.Attempt, Limit: 1})
	if err != nil || head.Size <= logFirst {
		return err
	}
	part.Size = head.Size
	return p.textLog(part, job.LogQuery{Offset: -logFirst / 2}, true)
}

// textLog reads a part by byte; within is that it may begin within a line.
func (p *page) textLog(part *logPart, q job.LogQuery, within bool) error {
	q.Attempt, q.Limit = part.Attempt, logFirst
	got, err := p.api.LogText(p.R.Context(), p.Namespace, part.Job.ID, q)
	if err != nil {
		return err
	}
	text := got.Text
	if _, rest, ok := strings.Cut(text, "\n"); within && ok {
		text = rest
	}
	part.Next, part.More = logByte+strconv.FormatInt(got.Next, 10), got.Next < got.Size
	part.add([]job.LogLine{{LogPiece: job.LogPiece{Text: text}}})
	return nil
}

// searchLog looks for lines in all of a log.
func (p *page) searchLog(part *logPart) error {
	if part.Find = p.Query("find"); part.Find == "" {
		return nil
	}
	from, _ := byteOf(part.Next)
	found, err := p.api.LogText(p.R.Context(), p.Namespace, part.Job.ID, job.LogQuery{Attempt: part.Attempt, Grep: part.Find, Offset: from})
	if err != nil {
		return err
	}
	part.Found, part.Next = &found, logByte+strconv.FormatInt(found.Next, 10)
	part.More = found.Next < found.Size
	return nil
}

// FoundLink is the log around a line that a search found.
func (p *page) FoundLink(f job.LogFound) string {
	return p.Here("find", "", "cursor", logByte+strconv.FormatInt(f.Offset, 10)) + "#log"
}

// foundText is such a line without its colours.
func foundText(f job.LogFound) string {
	var b strings.Builder
	for _, piece := range new(ink).paint(f.Line) {
		b.WriteString(piece.Text)
	}
	return b.String()
}

// Timed reports that the lines have times and streams.
func (part logPart) Timed() bool {
	_, byByte := byteOf(part.Next)
	return !byByte
}

// add makes lines of pieces: one may hold several, and the rest of one that
// began before on its stream.
func (part *logPart) add(pieces []job.LogLine) {
	type of struct {
		attempt int
		stream  job.Stream
	}
	var lines []*logLine
	open := map[of]*logLine{}
	for _, piece := range pieces {
		key := of{attempt: piece.Attempt, stream: piece.Stream}
		for text := range strings.Lines(piece.Text) {
			line := open[key]
			if line == nil {
				line = &logLine{Attempt: piece.Attempt, Stream: piece.Stream, At: piece.At, Open: true}
				lines, open[key] = append(lines, line), line
			}
			whole := strings.HasSuffix(text, "\n")
			if len(line.raw) < logWidth {
				line.raw = append(line.raw, strings.TrimSuffix(text, "\n")...)
			}
			if whole {
				line.Open, open[key] = false, nil
			}
		}
	}
	inks, seen := map[of]*ink{}, map[job.Stream]bool{}
	for _, line := range lines {
		key := of{attempt: line.Attempt, stream: line.Stream}
		if inks[key] == nil {
			inks[key] = &ink{}
		}
		line.Inks = inks[key].paint(lastWritten(parts.Short(logWidth, string(line.raw))))
		part.Lines = append(part.Lines, logLine{Attempt: line.Attempt, Stream: line.Stream, At: line.At, Inks: line.Inks, Open: line.Open})
		if !seen[line.Stream] {
			seen[line.Stream] = true
			part.Streams = append(part.Streams, line.Stream)
		}
	}
}

// lastWritten is what a terminal would show of a line that was written over
// itself, as progress is.
func lastWritten(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// Live reports that more may be written.
func (part logPart) Live() bool { return !part.Job.State.Final() }

// LogLink is a part of the log, or all of it as text.
func (p *page) LogLink(part logPart, name string) string {
	return p.With(p.Link("jobs", part.Job.ID, name), "attempt", numberOrNone(part.Attempt))
}

func numberOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// AttemptTabs are the log of each attempt, and of all.
func (p *page) AttemptTabs(d jobData) []parts.Tab {
	if d.Job.Attempt < 2 {
		return nil
	}
	tabs := []parts.Tab{parts.NewTab("All attempts", p.Here("attempt", "", "cursor", ""), d.Log.Attempt == 0, "")}
	for n := max(1, d.Job.Attempt-19); n <= d.Job.Attempt; n++ {
		tabs = append(tabs, parts.NewTab(fmt.Sprintf("Attempt %d", n), p.Here("attempt", n, "cursor", ""), d.Log.Attempt == n, ""))
	}
	return tabs
}

// jobLogPart answers the lines from a cursor on, to be added to a page.
func jobLogPart(p *page) error {
	job, err := p.job()
	if err != nil {
		return err
	}
	part, err := p.readLog(job)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := templates()["job"].ExecuteTemplate(&b, "log-part", part); err != nil {
		return err
	}
	p.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = p.W.Write(b.Bytes()) // who is not there any more does not read it
	return nil
}

// jobLogText answers the whole log as a file: as it was written, or with times
// and streams before each line.
func jobLogText(p *page) error {
	j, err := p.job()
	if err != nil {
		return err
	}
	attempt, _ := strconv.Atoi(p.Query("attempt"))
	f := job.LogFilter{Attempt: attempt, Paging: core.Paging{Limit: logPage}}
	got, err := p.api.Logs(p.R.Context(), p.Namespace, j.ID, f)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("job-%d.log", j.ID)
	if attempt > 0 {
		name = fmt.Sprintf("job-%d-attempt-%d.log", j.ID, attempt)
	}
	h := p.W.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	out := http.NewResponseController(p.W)
	stream, times := job.Stream(p.Query("stream")), p.Query("times") != ""
	for {
		_ = out.SetWriteDeadline(time.Now().Add(logWrite))
		for _, piece := range got.Items {
			if stream != "" && piece.Stream != stream {
				continue
			}
			text := piece.Text
			if times {
				text = stamped(piece)
			}
			if _, err := p.W.Write([]byte(text)); err != nil {
				return nil
			}
		}
		if len(got.Items) == 0 {
			return nil
		}
		f.Cursor = got.Next
		if got, err = p.api.Logs(p.R.Context(), p.Namespace, j.ID, f); err != nil {
			if p.R.Context().Err() == nil { // or the reader has left
				p.Site.Log.Warn("log not sent to its end", "job", j.ID, "error", err)
			}
			panic(http.ErrAbortHandler) // a cut file must not look like a whole one
		}
	}
}

// stamped is a piece with its time and stream before each line.
func stamped(piece job.LogLine) string {
	var b strings.Builder
	for line := range strings.Lines(piece.Text) {
		fmt.Fprintf(&b, "%s %s %s\n", piece.At.UTC().Format(time.RFC3339Nano), piece.Stream, strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}
