package probe

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/task"
)

// silence is how long a port may take to refuse a datagram when no answer is wanted.
const silence = time.Second

// maxAnswer is the largest datagram there is.
const maxAnswer = 64 << 10

// udp sends a datagram. With an expectation the first answer is judged, and its arrival is the latency; without one, a
// port that does not refuse is good, and the latency ends with sending.
func (l *look) udp(ctx context.Context) *reach.Fault {
	c := l.Task.UDP
	want, err := l.e.optional(c.Expect)
	if err != nil {
		return reach.Misconfigured("udp.expect", err)
	}
	payload, err := c.SendBytes()
	if err != nil {
		return reach.Misconfigured("udp.send_hex", err)
	}
	if c.Send != "" {
		payload = []byte(unescape(c.Send))
	}
	leave, f := l.Turn(ctx, c.Address)
	if f != nil {
		return f
	}
	defer leave()
	trip := l.Trip()
	defer trip.End()
	conn, f := l.Open(ctx, trip, "udp", c.Address, c.Family)
	if f != nil {
		return f
	}
	defer func() { _ = conn.Close() }()
	trip.Enter(reach.StageWrite)
	if _, err := conn.Write(payload); err != nil {
		return l.udpFault(ctx, trip, err)
	}
	if want == nil && !l.reads("body") {
		trip.Enter(reach.StageTurn)
		trip.End()
		return l.unrefused(ctx, trip, conn)
	}
	trip.Enter(reach.StageWait)
	chunk := make([]byte, maxAnswer)
	n, err := conn.Read(chunk)
	if err != nil {
		return l.udpFault(ctx, trip, err)
	}
	trip.Enter(reach.StageTurn)
	trip.End()
	body := l.Buffer()
	body.Write(chunk[:n])
	l.Facts.Body, l.Answered = body.Bytes(), true
	l.Snapshot = func() *task.Snapshot { return l.Secrets.Keep("", nil, l.Facts.Body) }
	if want != nil && !want.Match(l.Facts.Body) {
		return reach.Failing(task.CodeExpect, "expected an answer that matches %q, got %d bytes%s", want, n, saying(l.Facts.Body))
	}
	return nil
}

// unrefused waits for a refusal. An answer and silence are both as good.
func (l *look) unrefused(ctx context.Context, trip *reach.Trip, conn net.Conn) *reach.Fault {
	until := time.Now().Add(silence)
	if deadline, bounded := ctx.Deadline(); bounded && deadline.Before(until) {
		until = deadline
	}
	if ctx.Err() == nil { // what ends with it has set another deadline
		_ = conn.SetReadDeadline(until)
	}
	_, err := conn.Read(make([]byte, 1))
	switch {
	case reach.CutShort(ctx) != nil:
		return l.NetFault(ctx, trip, ctx.Err())
	case err == nil, reach.IsTimeout(err):
		l.Answered = true
		return nil
	}
	return l.udpFault(ctx, trip, err)
}

func (l *look) udpFault(ctx context.Context, trip *reach.Trip, err error) *reach.Fault {
	if errors.Is(err, syscall.ECONNREFUSED) {
		f := reach.Failing(task.CodeConnectRefused, "the target refused the datagram: nothing listens on this port")
		f.Err = err
		return f
	}
	return l.NetFault(ctx, trip, err)
}
