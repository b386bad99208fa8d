// Package pace limits the time in which a client sends a large body, for routes whose bodies take longer than the time limit of
// other requests.
package pace

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits are the limits of a body.
type Limits struct {
	Patience time.Duration // for the next piece, and for the answer after the last
	Slowest  int64         // minimum average rate, in bytes per second
}

// Default are the limits of artifacts.
var Default = Limits{Patience: 30 * time.Second, Slowest: 32 << 10}

// Longest is the time limit of a transfer of so many bytes.
func (l Limits) Longest(size int64) time.Duration {
	return l.Patience + time.Duration(size/l.Slowest)*time.Second
}

// Body limits the time of a client to send a body of at most size bytes, for each piece and for the whole. The answer has a
// time limit of its own after that. The writer must belong to a server that has deadlines.
func (l Limits) Body(w http.ResponseWriter, body io.Reader, size int64) (io.Reader, error) {
	p := &paced{r: body, control: http.NewResponseController(w), patience: l.Patience, end: time.Now().Add(l.Longest(size))}
	if err := p.control.SetWriteDeadline(p.end.Add(l.Patience)); err != nil {
		return nil, limiting(err)
	}
	return p, nil
}

type paced struct {
	r        io.Reader
	control  *http.ResponseController
	patience time.Duration
	end      time.Time
}

func (p *paced) Read(b []byte) (int, error) {
	deadline := time.Now().Add(p.patience)
	if deadline.After(p.end) {
		deadline = p.end
	}
	if err := p.control.SetReadDeadline(deadline); err != nil {
		return 0, limiting(err)
	}
	return p.r.Read(b)
}

func limiting(err error) error { return fmt.Errorf("limit the time of an upload: %w", err) }
