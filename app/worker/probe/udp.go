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

// silence is how long to wait for a refusal of a datagram if no answer is expected.
const silence = time.Second

// maxAnswer is the largest datagram there is.
const maxAnswer = 64 << 10

// udp sends a datagram. With an expectation, the first answer is checked, and the latency ends with it. Without one, a
// port that does not refuse is good, and the latency ends with sending.
func (l *check) udp(ctx context.Context) *reach.Fault {
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
	leave, f := l.WaitTurn(ctx, c.Address)
	if f != nil {
		return f
	}
	defer leave()
	x := l.NewExchange()
	defer x.End()
	conn, f := l.Open(ctx, x, "udp", c.Address, c.Family)
	if f != nil {
		return f
	}
	defer func() { _ = conn.Close() }()
	x.Enter(reach.StageWrite)
	if _, err := conn.Write(payload); err != nil {
		return l.udpFault(ctx, x, err)
	}
	if want == nil && !l.reads("body") {
		x.Enter(reach.StageTurn)
		x.End()
		return l.unrefused(ctx, x, conn)
	}
	x.Enter(reach.StageWait)
	chunk := make([]byte, maxAnswer)
	n, err := conn.Read(chunk)
	if err != nil {
		return l.udpFault(ctx, x, err)
	}
	x.Enter(reach.StageTurn)
	x.End()
	body := l.Buffer()
	body.Write(chunk[:n])
	l.Facts.Body, l.Answered = body.Bytes(), true
	l.Snapshot = func() *task.Snapshot { return l.Secrets.Keep("", nil, l.Facts.Body) }
	if want != nil && !want.Match(l.Facts.Body) {
		return reach.Failing(task.CodeExpect, "expected an answer that matches %q, got %d bytes%s", want, n, bodyExcerpt(l, l.Facts.Body))
	}
	return nil
}

// unrefused waits for a refusal. An answer and silence are both good.
func (c *check) unrefused(ctx context.Context, x *reach.Exchange, conn net.Conn) *reach.Fault {
	until := time.Now().Add(silence)
	if deadline, bounded := ctx.Deadline(); bounded && deadline.Before(until) {
		until = deadline
	}
	if ctx.Err() == nil { // after its end, another deadline is set
		_ = conn.SetReadDeadline(until)
	}
	_, err := conn.Read(make([]byte, 1))
	switch {
	case reach.CutShort(ctx) != nil:
		return c.NetFault(ctx, x, ctx.Err())
	case err == nil, reach.IsTimeout(err):
		c.Answered = true
		return nil
	}
	return c.udpFault(ctx, x, err)
}

func (c *check) udpFault(ctx context.Context, x *reach.Exchange, err error) *reach.Fault {
	if errors.Is(err, syscall.ECONNREFUSED) {
		f := reach.Failing(task.CodeConnectRefused, "the target refused the datagram: nothing listens on this port")
		f.Err = err
		return f
	}
	return c.NetFault(ctx, x, err)
}
