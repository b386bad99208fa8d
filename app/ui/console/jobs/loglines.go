package jobs

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	markLines = 500       // lines between two marks of an index
	markBytes = 256 << 10 // or bytes
	logWidth  = 8 << 10   // bytes of a line that are shown
	logsKnown = 64        // indexes that are kept
)

// streams are those of a log, in the order of their counts.
var streams = [...]job.Stream{job.Stdout, job.Stderr, job.Log}

// streamSet is which of [streams] are shown.
type streamSet [len(streams)]bool

var allStreams = streamSet{true, true, true}

// logCount is a number of lines for each stream.
type logCount [len(streams)]int

// of is how many of them are in a set.
func (c logCount) of(set streamSet) (n int) {
	for i, in := range set {
		if in {
			n += c[i]
		}
	}
	return n
}

// logged is a line as it was written.
type logged struct {
	stream  int
	attempt int
	at      time.Time
	before  logCount // lines that were begun before it
	text    string
	ink     ink // at its beginning
	open    bool
}

// number is which line of the whole log it is, from 1.
func (l *logged) number() int { return l.before.of(allStreams) + 1 }

// isGap reports that the line stands for missing lines.
func (l *logged) isGap() bool { return streams[l.stream] == job.Log && job.IsLogGap(l.text) }

func inOrder(a, b *logged) int { return a.number() - b.number() }

// plain is its text without colours.
func (l *logged) plain() string {
	var b strings.Builder
	for _, piece := range l.inks() {
		b.WriteString(piece.Text)
	}
	return b.String()
}

// inks is its text as a terminal would show it.
func (l *logged) inks() []inked {
	k := l.ink
	return k.paint(lastWritten(parts.Short(logWidth, l.text)))
}

// logMark is a place between two pieces of a log, with all that is needed to go on from there.
type logMark struct {
	cursor  string
	attempt int
	lines   logCount
	open    [len(streams)]*logged
	inks    [len(streams)]ink
}

func (m *logMark) clone() logMark {
	c := *m
	for i, l := range m.open {
		if l != nil {
			c.open[i] = new(*l)
		}
	}
	return c
}

// feed takes pieces of lines, and calls ended with each complete line.
func (m *logMark) feed(pieces []job.LogLine, ended func(*logged)) {
	for _, piece := range pieces {
		if piece.Attempt != m.attempt { // a line that the earlier attempt began has no end
			for i := range m.open {
				m.end(i, ended)
			}
			m.attempt, m.inks = piece.Attempt, [len(streams)]ink{}
		}
		i := max(0, slices.Index(streams[:], piece.Stream))
		for text := range strings.Lines(piece.Text) {
			l := m.open[i]
			if l == nil {
				l = &logged{stream: i, attempt: piece.Attempt, at: piece.At, before: m.lines, ink: m.inks[i], open: true}
				m.lines[i]++
				m.open[i] = l
			}
			body, whole := strings.CutSuffix(text, "\n")
			if room := logWidth + 4 - len(l.text); room > 0 { // the last character may be cut, which shortening mends
				l.text += body[:min(len(body), room)]
			}
			if whole {
				m.end(i, ended)
			}
		}
	}
}

func (m *logMark) end(i int, ended func(*logged)) {
	l := m.open[i]
	if l == nil {
		return
	}
	m.open[i], l.open = nil, false
	if strings.Contains(l.text, "\x1b") {
		k := l.ink
		k.paint(l.text)
		m.inks[i] = k
	}
	ended(l)
}

// logIndex has the positions of lines of a log, so that a page of lines is read without the lines before it. It grows with the
// log.
type logIndex struct {
	mu    sync.Mutex
	marks []logMark
	at    logMark
	fresh int // bytes since the last mark
	bad   int // number of the first line that tells of an error; 0: none does
	gap   int // number of the first line that stands for missing lines; 0: none does
}

// logReader returns the lines after a cursor.
type logReader func(ctx context.Context, cursor string) (core.Page[job.LogLine], error)

// errorRule matches lines about errors. errorWords is tried first, because it takes a tenth of the time.
var (
	errorRule  = regexp.MustCompile(`(?i)\b(error|fatal|panic|exception|traceback|failed|failure)\b|\b[A-Z]\w*(Error|Exception)\b`)
	errorWords = []string{"rror", "RROR", "atal", "ATAL", "anic", "ANIC", "xception", "XCEPTION", "raceback", "RACEBACK", "ail", "AIL"}
)

func tellsOfError(l *logged) bool {
	if !slices.ContainsFunc(errorWords, func(w string) bool { return strings.Contains(l.text, w) }) {
		return false
	}
	return errorRule.MatchString(l.plain())
}

// extend reads the new lines of the log. It returns the number of lines of a set, and the first line about an error and the
// first that stands for missing lines. One reader at a time extends an index. Reads of lines need no lock, because the lines
// before a mark do not change.
func (x *logIndex) extend(ctx context.Context, read logReader, set streamSet) (lines, bad, gap int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	err = x.readOn(ctx, read)
	return x.at.lines.of(set), x.bad, x.gap, err
}

func (x *logIndex) readOn(ctx context.Context, read logReader) error {
	for {
		got, err := read(ctx, x.at.cursor)
		if err != nil || len(got.Items) == 0 {
			return err
		}
		x.at.feed(got.Items, func(l *logged) {
			if n := l.number(); (x.bad == 0 || n < x.bad) && tellsOfError(l) {
				x.bad = n
			}
			if x.gap == 0 && l.isGap() {
				x.gap = l.number()
			}
		})
		x.at.cursor = got.Next
		for _, piece := range got.Items {
			x.fresh += len(piece.Text)
		}
		lines := x.at.lines.of(allStreams)
		if n := len(x.marks); n > 0 {
			lines -= x.marks[n-1].lines.of(allStreams)
		}
		if lines >= markLines || x.fresh >= markBytes {
			x.marks, x.fresh = append(x.marks, x.at.clone()), 0
		}
	}
}

// mark is the last place with no more than so many lines of a set before it.
func (x *logIndex) mark(set streamSet, before int) logMark {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range slices.Backward(x.marks) {
		if m.lines.of(set) <= before {
			return m.clone()
		}
	}
	return logMark{}
}

// rows are lines of a set from one on, in their order. The lines after the last of
// them is read as long as one has no end yet, within bounds.
func (x *logIndex) rows(ctx context.Context, read logReader, set streamSet, from, count int) ([]*logged, error) {
	var rows []*logged
	keep := func(l *logged) {
		if row := l.before.of(set); set[l.stream] && row >= from && row < from+count {
			rows = append(rows, l)
		}
	}
	m := x.mark(set, from)
	for further := 0; further < 10; {
		got, err := read(ctx, m.cursor)
		if err != nil {
			return nil, err
		}
		if len(got.Items) == 0 {
			break
		}
		m.feed(got.Items, keep)
		m.cursor = got.Next
		if m.lines.of(set) >= from+count {
			if !slices.ContainsFunc(m.open[:], func(l *logged) bool { return l != nil && l.before.of(set) < from+count }) {
				break
			}
			further++
		}
	}
	for _, l := range m.open {
		if l != nil {
			keep(l)
		}
	}
	slices.SortFunc(rows, inOrder)
	return rows, nil
}

// find returns the first lines of a set that contain a text, in any case, and the number of such lines.
func find(ctx context.Context, read logReader, set streamSet, text string, most int) (found []*logged, all int, err error) {
	text = strings.ToLower(text)
	look := func(l *logged) {
		if set[l.stream] && strings.Contains(strings.ToLower(l.plain()), text) {
			// Lines arrive in the order of their ends, and the other stream may have ended a later line first.
			if all++; len(found) < most || l.number() < found[most-1].number() {
				at, _ := slices.BinarySearchFunc(found, l, inOrder)
				found = slices.Insert(found, at, l)
				found = found[:min(len(found), most)]
			}
		}
	}
	var m logMark
	for {
		got, err := read(ctx, m.cursor)
		if err != nil {
			return nil, 0, err
		}
		if len(got.Items) == 0 {
			break
		}
		m.feed(got.Items, look)
		m.cursor = got.Next
	}
	for _, l := range m.open {
		if l != nil {
			look(l)
		}
	}
	return found, all, nil
}

// lastWritten is the visible text of a line that was overwritten in a terminal, such
// as a progress bar.
func lastWritten(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// logID is one attempt of a job, or all of them.
type logID struct {
	job     int64
	attempt int
}

// logIndexes are those of the logs that were looked at last.
type logIndexes struct {
	mu    sync.Mutex
	known map[logID]*logIndex
	order []logID // the oldest first
}

func (s *logIndexes) of(id logID) *logIndex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[logID]*logIndex{}
	}
	if i := slices.Index(s.order, id); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
	s.order = append(s.order, id)
	if len(s.order) > logsKnown {
		delete(s.known, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	if s.known[id] == nil {
		s.known[id] = &logIndex{}
	}
	return s.known[id]
}
