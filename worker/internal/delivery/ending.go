package delivery

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/belfry-run/belfry/job"
)

// maxEnding is how much is kept of the end of each stream where the log was cut before it: programs say last why they fail.
const maxEnding = 4 << 10

// ending is the last of what was cut of one stream.
type ending struct {
	last []byte // up to twice as much as is kept, so that few writes copy it
	all  int    // bytes that were cut
}

func (e *ending) write(p []byte) {
	e.all += len(p)
	e.last = append(e.last, p[max(0, len(p)-maxEnding):]...)
	if len(e.last) > 2*maxEnding {
		e.last = append(e.last[:0], e.last[len(e.last)-maxEnding:]...)
	}
}

// text is the end of the stream: whole lines, or as much as is kept of one that is longer.
func (e *ending) text() []byte {
	last := e.last[max(0, len(e.last)-maxEnding):]
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

// addEnds adds what is missing in a log that was cut: how much, and how each stream ends.
func (l *Log) addEnds() {
	for i := range l.ends {
		l.cut -= len(l.ends[i].text())
	}
	if l.cut > 0 {
		l.endLine()
		l.add(job.Log, fmt.Appendf(nil, job.LogOverLimit, l.cut, l.limit))
	}
	for i, s := range allStreams {
		l.add(s, l.ends[i].text())
	}
}

// endLine ends the program's line, or a note would stand in it where a log is read as one text.
func (l *Log) endLine() {
	if l.unended != "" {
		l.add(l.unended, []byte{'\n'})
	}
}
