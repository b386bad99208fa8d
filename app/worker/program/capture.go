package program

import (
	"fmt"
	"io"
	"sync"

	"github.com/belfry-run/belfry/app/worker/internal/lastline"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// maxTail limits the part of a log that is kept for its end, in bytes. It uses
// memory while the program runs.
const maxTail = 1 << 20

// maxPieces limits the changes between the streams in the end of a log.
const maxPieces = 4096

// maxPiece is the size to which pieces grow.
const maxPiece = 32 << 10

// capture takes the output of a program on both streams. It sends the first part
// at once, keeps the last part until the end, and drops the middle. It never
// fails, so that the program never blocks on output.
type capture struct {
	stdout, stderr masker
	last           lastline.Writer // of stderr, masked

	mu    sync.Mutex
	out   map[job.Stream]io.Writer
	limit int64
	head  int64 // bytes that may still be sent
	tail  int64 // maximum bytes of the kept end
	kept  int64
	cut   int64
	spare []byte
	end   []piece
}

type piece struct {
	stream job.Stream
	data   []byte
}

func newCapture(r *worker.Run, limit int64, secrets map[string]string) *capture {
	tail := min(limit/2, maxTail)
	c := &capture{
		out:   map[job.Stream]io.Writer{job.Stdout: r.Stdout, job.Stderr: r.Stderr, job.Log: r.Log},
		limit: limit, head: limit - tail, tail: tail,
	}
	values := secretValues(secrets)
	c.stdout = masker{to: stream{c, job.Stdout}, values: values}
	c.stderr = masker{to: io.MultiWriter(stream{c, job.Stderr}, &c.last), values: values}
	return c
}

type stream struct {
	capture *capture
	name    job.Stream
}

func (s stream) Write(p []byte) (int, error) {
	s.capture.write(s.name, p)
	return len(p), nil
}

func (c *capture) write(s job.Stream, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := min(c.head, int64(len(p))); n > 0 {
		_, _ = c.out[s].Write(p[:n])
		c.head -= n
		p = p[n:]
	}
	if over := int64(len(p)) - c.tail; over > 0 {
		c.cut += over
		p = p[over:]
	}
	for len(p) > 0 {
		p = c.keep(s, p)
	}
	c.trim()
}

// keep appends a part of p to the kept end, and returns the rest. It needs the
// lock, as does trim.
func (c *capture) keep(s job.Stream, p []byte) (rest []byte) {
	n := min(len(p), maxPiece)
	c.kept += int64(n)
	if i := len(c.end) - 1; i >= 0 && c.end[i].stream == s && len(c.end[i].data)+n <= maxPiece {
		c.end[i].data = append(c.end[i].data, p[:n]...)
		return p[n:]
	}
	c.end = append(c.end, piece{s, append(c.spare[:0], p[:n]...)})
	c.spare = nil
	return p[n:]
}

func (c *capture) trim() {
	for len(c.end) > 0 && (c.kept > c.tail || len(c.end) > maxPieces) {
		first := &c.end[0]
		n := int64(len(first.data))
		if len(c.end) <= maxPieces {
			n = min(n, c.kept-c.tail)
		}
		c.cut += n
		c.kept -= n
		if n < int64(len(first.data)) {
			first.data = first.data[n:]
			continue
		}
		c.spare = first.data
		c.end = c.end[1:]
	}
}

// note writes a line of the worker, which may quote the program.
func (c *capture) note(format string, args ...any) {
	m := masker{to: c.out[job.Log], values: c.stdout.values}
	_, _ = fmt.Fprintf(&m, "belfry: "+format+"\n", args...)
	m.flush()
}

// finish sends the kept end after the program has ended. It reports whether
// output was dropped.
func (c *capture) finish() (cut bool) {
	c.stdout.flush()
	c.stderr.flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut > 0 {
		_, _ = fmt.Fprintf(c.out[job.Log], job.LogLeftOut, c.cut, c.limit)
	}
	for _, p := range c.end {
		_, _ = c.out[p.stream].Write(p.data)
	}
	c.end = nil
	return c.cut > 0
}
