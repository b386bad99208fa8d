package delivery

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/belfry-run/belfry/job"
)

// maxTail is how many bytes are kept of the end of each stream if its log is cut: programs print last why they fail.
const maxTail = 4 << 10

// tail is the end of one stream, of the part that was cut.
type tail struct {
	last []byte // up to twice maxEnding, so that few writes copy it
	all  int    // bytes that were cut
}

func (e *tail) write(p []byte) {
	e.all += len(p)
	e.last = append(e.last, p[max(0, len(p)-maxTail):]...)
	if len(e.last) > 2*maxTail {
		e.last = append(e.last[:0], e.last[len(e.last)-maxTail:]...)
	}
}

// text returns the end of the stream: whole lines, or the last part of a line that is longer than maxEnding.
func (e *tail) text() []byte {
	last := e.last[max(0, len(e.last)-maxTail):]
	if e.all == len(last) {
		return last
	}
	if _, lines, _ := bytes.Cut(last, []byte{'\n'}); len(lines) > 0 {
		return lines
	}
	for len(last) > 0 && !utf8.RuneStart(last[0]) {
		last = last[1:]
	}
	return last
}

var allStreams = [...]job.Stream{job.Stdout, job.Stderr, job.Log}

// addTails adds to a cut log the number of missing bytes and the end of each stream.
func (l *Log) addTails() {
	for i := range l.tails {
		l.cut -= len(l.tails[i].text())
	}
	if l.cut > 0 {
		l.endLine()
		l.add(job.Log, fmt.Appendf(nil, job.LogOverLimit, l.cut, l.limit))
	}
	for i, s := range allStreams {
		l.add(s, l.tails[i].text())
	}
}

// endLine ends an unfinished line of the program, so that a note does not stand within it.
func (l *Log) endLine() {
	if l.unended != "" {
		l.add(l.unended, []byte{'\n'})
	}
}
