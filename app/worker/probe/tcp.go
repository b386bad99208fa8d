package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/task"
)

// tcp opens a connection, and exchanges data if the task has any.
func (l *check) tcp(ctx context.Context) *reach.Fault {
	c := l.Task.TCP
	want, err := l.e.optional(c.Expect)
	if err != nil {
		return reach.Misconfigured("tcp.expect", err)
	}
	x, conn, leave, f := l.connect(ctx, c.Address, c.Family)
	if f != nil {
		return f
	}
	defer leave()
	return l.talk(ctx, x, conn, want)
}

// connect waits for a turn at the address, and opens a connection. leave ends
// the turn.
func (c *check) connect(ctx context.Context, address string, family task.IPFamily) (x *reach.Exchange, conn net.Conn, leave func(), f *reach.Fault) {
	next, f := c.WaitTurn(ctx, address)
	if f != nil {
		return nil, nil, nil, f
	}
	x = c.NewExchange()
	end := func() {
		x.End()
		next()
	}
	if conn, f = c.Open(ctx, x, "tcp", address, family); f != nil {
		end()
		return nil, nil, nil, f
	}
	return x, conn, func() {
		_ = conn.Close()
		end()
	}, nil
}

func (l *check) talk(ctx context.Context, x *reach.Exchange, conn net.Conn, want *pattern) *reach.Fault {
	c := l.Task.TCP
	if c.Send != "" {
		x.Enter(reach.StageWrite)
		if _, err := io.WriteString(conn, unescape(c.Send)); err != nil {
			return l.NetFault(ctx, x, err)
		}
	}
	if want == nil && !l.reads("body") {
		x.Enter(reach.StageTurn)
		x.End()
		l.Answered = true
		return nil
	}
	x.Enter(reach.StageWait)
	f := l.listen(ctx, x, conn, want)
	x.End()
	l.Answered = f == nil || f.Code == task.CodeExpect
	l.Snapshot = func() *task.Snapshot { return l.Secrets.Keep("", nil, l.Facts.Body) }
	return f
}

// settle is the pause before the expression is tried on more data: a try after
// each byte of a slow stream would take quadratic time.
const settle = 20 * time.Millisecond

// listen reads until the data matches the expectation, or ends. Without an
// expectation, the first data is enough.
func (c *check) listen(ctx context.Context, x *reach.Exchange, conn net.Conn, want *pattern) *reach.Fault {
	to, most := c.Buffer(), cmp.Or(c.Task.TCP.MaxRead, task.DefaultMaxRead)
	chunk := make([]byte, 4<<10)
	tried := 0
	matches := func() bool {
		tried = to.Len()
		return want.Match(to.Bytes())
	}
	defer func() { c.Facts.Body = to.Bytes() }()
	deadline, _ := ctx.Deadline()
	for to.Len() < most {
		if ctx.Err() == nil { // after its end, another deadline is set
			until := deadline
			if soon := time.Now().Add(settle); tried < to.Len() && (until.IsZero() || soon.Before(until)) {
				until = soon
			}
			_ = conn.SetReadDeadline(until)
			if ctx.Err() != nil {
				_ = conn.SetReadDeadline(reach.Past)
			}
		}
		n, err := conn.Read(chunk[:min(len(chunk), most-to.Len())])
		if n > 0 {
			x.Advance(reach.StageBody)
			to.Write(chunk[:n])
		}
		switch {
		case want == nil && n > 0:
			return nil
		case want != nil && (err != nil && tried < to.Len() || to.Len()-tried > to.Len()/8 || to.Len() == most) && matches():
			return nil
		case err == nil, reach.IsTimeout(err) && ctx.Err() == nil && (deadline.IsZero() || time.Now().Before(deadline)):
			continue
		case errors.Is(err, io.EOF) && to.Len() > 0:
			return reach.Failing(task.CodeExpect, "expected an answer that matches %q, got %d bytes and the end of the connection%s", want, to.Len(), bodyExcerpt(c, to.Bytes()))
		case errors.Is(err, io.EOF):
			return reach.Failing(task.CodeExpect, "the target closed the connection without a word")
		}
		f := c.NetFault(ctx, x, err)
		if to.Len() > 0 && f.Outcome == task.CheckFail {
			f.Text = fmt.Sprintf("expected an answer that matches %q: %s, after %d bytes%s", want, f.Text, to.Len(), bodyExcerpt(c, to.Bytes()))
			f.Code = task.CodeExpect
		}
		return f
	}
	return reach.Failing(task.CodeExpect, "expected an answer that matches %q, and it is not in the first %d bytes (max_read)%s", want, most, bodyExcerpt(c, to.Bytes()))
}

// unescape replaces escapes such as \r, \n, \t and \x00, as in Go. An invalid
// text is sent unchanged.
func unescape(text string) string {
	quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text)
	if plain, err := strconv.Unquote(`"` + quoted + `"`); err == nil {
		return plain
	}
	return text
}
