package wire

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// MaxEvent is the largest server-sent event, in bytes. A job with its input and
// output fits.
const MaxEvent = 8 << 20

// SSEEvent is one server-sent event. Without data it has only an ID.
type SSEEvent struct {
	Name  string
	ID    string
	HasID bool
	Data  []byte
}

// ErrEventSize is the error of an event that is larger than [MaxEvent].
var ErrEventSize = errors.New("event too large")

// SSEReader reads server-sent events as in the HTML standard, except that a single
// carriage return does not end a line.
type SSEReader struct {
	lines *bufio.Reader
	alive func()
}

// NewSSEReader returns a reader of the events of r. It calls alive at each sign of life.
func NewSSEReader(r io.Reader, alive func()) *SSEReader {
	return &SSEReader{lines: bufio.NewReader(r), alive: alive}
}

// Next returns the next event with data or an ID. An incomplete last event is
// dropped.
func (r *SSEReader) Next() (SSEEvent, error) {
	var e SSEEvent
	var data []byte
	hasData, size := false, 0
	for {
		line, err := r.line(&size)
		if err != nil {
			return SSEEvent{}, err
		}
		if line == "" {
			if hasData || e.HasID {
				e.Data = data
				return e, nil
			}
			e, size = SSEEvent{}, 0
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "": // a comment, and a sign of life
			size = len(data)
		case "event":
			e.Name = value
		case "id":
			if !strings.ContainsRune(value, 0) {
				e.ID, e.HasID = value, true
			}
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		}
	}
}

// line reads one line, and adds its length to the size of the event.
func (r *SSEReader) line(size *int) (string, error) {
	var b strings.Builder
	for {
		part, err := r.lines.ReadSlice('\n')
		r.alive()
		if *size += len(part); *size > MaxEvent {
			return "", ErrEventSize
		}
		b.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return "", err
		}
		return strings.TrimSuffix(strings.TrimSuffix(b.String(), "\n"), "\r"), nil
	}
}
