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
	// maxUnsent is how many bytes may wait for delivery before writers block.
	maxUnsent = 256 << 10
	// maxRuns is the most runs between two deliveries. Beyond it, lines of one
	// stream may overtake those of another.
	maxRuns = 64
	// LogPatience is how long a writer waits for room before the rest is dropped,
	// and how long the end of an attempt waits for the delivery of its log.
	LogPatience = 10 * time.Second
	// bigLog is how many waiting bytes make the shipper send without delay.
	bigLog = 64 << 10
)

// Log collects the output of one attempt until the shipper takes it. It keeps the first bytes up to its limit
// and the end of each stream. It counts the rest. Writes never fail.
type Log struct {
	ref     job.Ref
	session string
	limit   int
	ship    *Shipper
	streams [3]logWriter

	mu       sync.Mutex
	runs     []logRun
	carry    map[job.Stream][]byte // incomplete last characters
	seq      int
	kept     int           // bytes accepted, against limit
	cut      int           // bytes over the limit
	tails    [3]tail       // of the bytes over the limit, the last of each stream
	dropped  int           // bytes that could not be delivered
	unsent   int           // bytes in runs, in carry, and under way
	unended  job.Stream    // stream of the last line if that has not ended; else ""
	patient  bool          // writers wait for room; false from a wait in vain to the next delivery
	closed   bool          // the attempt has ended
	giveUpAt time.Time     // when closed
	changed  chan struct{} // created by a waiter; closed when unsent falls or the log is closed
}

// logRun is consecutive output of one stream.
type logRun struct {
	stream job.Stream
	at     time.Time
	data   []byte
}

// Open makes a log ready for the output of an attempt, of which limit bytes are kept.
func (l *Log) Open(ship *Shipper, session string, ref job.Ref, limit int) {
	l.ref, l.session, l.limit, l.ship = ref, session, limit, ship
	l.patient = true
}

// Writers returns the writers of the streams.
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
		l.tails[slices.Index(allStreams[:], s)].write(p[len(whole):])
		l.limit = l.kept + len(whole) // keep nothing after the first cut, so that the log has no gap
		p = whole
	}
	l.kept += len(p)
	for len(p) > 0 {
		n := min(len(p), maxUnsent-l.unsent)
		if n == 0 && !l.waitForCapacity() {
			l.dropped += len(p)
			return
		}
		l.add(s, p[:n])
		p = p[n:]
	}
}

// add appends to the runs. The lock must be held, as for all methods below that do not take it.
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

// waitForCapacity waits for room and reports whether there is some. After a wait in
// vain, it does not wait again until a delivery works.
func (l *Log) waitForCapacity() bool {
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

// take makes pieces of the waiting output. Their numbers are final: a piece that
// is delivered twice has the same number and text both times. Pass size to sent
// afterwards.
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
		size = l.unsent // includes characters whose rest has come
	}
	return pieces, size
}

// keep holds back an incomplete character until its rest comes.
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

// sent frees the room of bytes that were delivered or dropped.
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

// Close ends the log. If bytes are missing, it adds a line that says so. Later
// writes are ignored.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.addTails()
	if l.dropped > 0 {
		l.endLine()
		l.add(job.Log, fmt.Appendf(nil, job.LogLost, l.dropped))
	}
	for s, rest := range l.carry { // the rest of these characters will not come
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

// Flush waits until the log is delivered, at most for patience, and reports
// whether bytes are missing.
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

// begun returns how many bytes wait for the rest of their character.
func (l *Log) begun() (n int) {
	if l.closed {
		return 0
	}
	for _, rest := range l.carry {
		n += len(rest)
	}
	return n
}

// expired reports whether the attempt no longer waits for the delivery.
func (l *Log) expired(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && now.After(l.giveUpAt)
}

// wholeRunes returns p without an incomplete character at its end.
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

// pieceEnd returns where to cut a text so that the first part has at most limit
// bytes: after its last whole line, or else after its last whole character.
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
