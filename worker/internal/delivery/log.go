package delivery

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Bounds of one attempt's log in memory.
const (
	// maxUnsent is how many bytes may wait for delivery; a writer that has
	// more waits.
	maxUnsent = 256 << 10
	// maxRuns is how finely the order of the streams is kept between two
	// deliveries. Beyond it, lines of one stream may overtake the other's.
	maxRuns = 64
	// LogPatience is how long a writer waits for room, and the end of an
	// attempt for the delivery of its log, before the rest is dropped.
	LogPatience = 10 * time.Second
	// bigLog is how much makes the shipper hurry.
	bigLog = 64 << 10
)

// Log collects what one attempt writes until the shipper takes it. It
// keeps the first bytes up to its limit, and how each stream ends; it counts the rest, and never fails.
type Log struct {
	ref     job.Ref
	session string
	limit   int
	ship    *Shipper
	streams [3]logWriter

	mu       sync.Mutex
	runs     []logRun
	carry    map[job.Stream][]byte // begun characters
	seq      int
	kept     int           // bytes accepted, against limit
	cut      int           // bytes over the limit
	ends     [3]ending     // of those, the last of each stream
	dropped  int           // bytes that could not be delivered
	unsent   int           // bytes in runs, in carry, and under way
	unended  job.Stream    // whose line came last and has not ended; "": it has
	patient  bool          // a delivery has worked since a writer gave up
	closed   bool          // the attempt has ended
	giveUpAt time.Time     // when closed
	changed  chan struct{} // made by who waits; closed when unsent falls or closed rises
}

// logRun is what one stream wrote without the other in between.
type logRun struct {
	stream job.Stream
	at     time.Time
	data   []byte
}

func (l *Log) Open(ship *Shipper, session string, ref job.Ref, limit int) {
	l.ref, l.session, l.limit, l.ship = ref, session, limit, ship
	l.patient = true
}

// Writers of the streams.
func (l *Log) Writers() (stdout, stderr, log io.Writer) {
	l.streams = [3]logWriter{{l, job.Stdout}, {l, job.Stderr}, {l, job.Log}}
	return &l.streams[0], &l.streams[1], &l.streams[2]
}

type logWriter struct {
	log    *Log
	stream job.Stream
}

func (w *logWriter) Write(p []byte) (int, error) {
	w.log.write(w.stream, p)
	return len(p), nil
}

func (l *Log) write(s job.Stream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if room := l.limit - l.kept; len(p) > room {
		whole := wholeRunes(p[:room])
		l.cut += len(p) - len(whole)
		l.ends[slices.Index(allStreams[:], s)].write(p[len(whole):])
		l.limit = l.kept + len(whole) // no gap: after the first cut nothing more is kept
		p = whole
	}
	l.kept += len(p)
	for len(p) > 0 {
		n := min(len(p), maxUnsent-l.unsent)
		if n == 0 && !l.waitForRoom() {
			l.dropped += len(p)
			return
		}
		l.add(s, p[:n])
		p = p[n:]
	}
}

// add needs the lock, as do all below that do not take it.
func (l *Log) add(s job.Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	r := l.runFor(s)
	r.data = append(r.data, p...)
	l.unsent += len(p)
	if l.unended = s; p[len(p)-1] == '\n' {
		l.unended = ""
	}
	l.ship.dirty(l, l.unsent >= bigLog)
}

func (l *Log) runFor(s job.Stream) *logRun {
	last := len(l.runs) - 1
	if last >= 0 && l.runs[last].stream == s {
		return &l.runs[last]
	}
	if len(l.runs) >= maxRuns {
		for i := last; i >= 0; i-- {
			if l.runs[i].stream == s {
				return &l.runs[i]
			}
		}
	}
	l.runs = append(l.runs, logRun{stream: s, at: time.Now()})
	return &l.runs[len(l.runs)-1]
}

// waitForRoom reports whether there is room again. After it has once waited
// in vain it does not wait any more, until a delivery works.
func (l *Log) waitForRoom() bool {
	timer := time.NewTimer(LogPatience)
	defer timer.Stop()
	for l.unsent >= maxUnsent {
		if l.closed || !l.patient {
			return false
		}
		changed := l.change()
		l.mu.Unlock()
		select {
		case <-changed:
			l.mu.Lock()
		case <-timer.C:
			l.mu.Lock()
			l.patient = false
		}
	}
	return true
}

// take makes pieces of what waits. Their numbers are final: a piece that is
// delivered twice has the same number and text both times. The number of bytes
// is to be given back with sent.
func (l *Log) take() (pieces []job.LogPiece, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		data := append(l.carry[r.stream], r.data...)
		whole := data
		if !l.closed {
			whole = wholeRunes(data)
		}
		l.keep(r.stream, data[len(whole):])
		size += len(whole)
		pieces = l.cutPieces(pieces, r, string(whole))
	}
	l.runs = nil
	if l.closed {
		size = l.unsent // with what no longer waits for its second half
	}
	return pieces, size
}

// keep holds a begun character back until its rest comes.
func (l *Log) keep(s job.Stream, begun []byte) {
	if l.carry == nil {
		l.carry = map[job.Stream][]byte{}
	}
	l.carry[s] = bytes.Clone(begun)
}

func (l *Log) cutPieces(pieces []job.LogPiece, r logRun, text string) []job.LogPiece {
	text, _ = core.CleanText(text, 2*len(text)+4) // cleaning can grow a text, by less than that
	for text != "" {
		part := text[:pieceEnd(text, job.MaxLogPiece)]
		text = text[len(part):]
		pieces = append(pieces, job.LogPiece{Ref: l.ref, Seq: l.seq, Stream: r.stream, At: r.at, Text: part})
		l.seq++
	}
	return pieces
}

// sent gives back the room of bytes that were delivered, or dropped for good.
func (l *Log) sent(size int, delivered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsent -= size
	if delivered {
		l.patient = true
	} else {
		l.dropped += size
	}
	l.wakeWriters()
}

func (l *Log) wakeWriters() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *Log) change() chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// Close ends the log with a line about what is missing. Later lines are
// ignored.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.addEnds()
	if l.dropped > 0 {
		l.endLine()
		l.add(job.Log, fmt.Appendf(nil, job.LogLost, l.dropped))
	}
	for s, rest := range l.carry { // begun characters are all there will be
		if len(rest) > 0 {
			l.runFor(s)
		}
	}
	l.closed, l.giveUpAt = true, time.Now().Add(LogPatience)
	l.wakeWriters()
	if l.unsent > 0 || len(l.runs) > 0 {
		l.ship.dirty(l, true)
	}
}

// Flush waits until everything is delivered, at most as long as given, and
// reports whether something is missing.
func (l *Log) Flush(patience time.Duration) (cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsent == 0 {
		return l.cut > 0 || l.dropped > 0
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for l.unsent-l.begun() > 0 {
		l.ship.dirty(l, true)
		changed := l.change()
		l.mu.Unlock()
		select {
		case <-changed:
			l.mu.Lock()
		case <-timer.C:
			l.mu.Lock()
			return true
		}
	}
	return l.cut > 0 || l.dropped > 0
}

// begun is how many bytes wait for the rest of their character.
func (l *Log) begun() (n int) {
	if l.closed {
		return 0
	}
	for _, rest := range l.carry {
		n += len(rest)
	}
	return n
}

// expired reports that the delivery is not waited for.
func (l *Log) expired(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && now.After(l.giveUpAt)
}

// wholeRunes is p without the begun character at its end, if there is one.
func wholeRunes(p []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if c := p[len(p)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// pieceEnd is where to cut a text so that the first part has at most limit
// bytes: after the last line, or else after the last character.
func pieceEnd(text string, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	if line := strings.LastIndexByte(text[:limit], '\n'); line >= 0 {
		return line + 1
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}
