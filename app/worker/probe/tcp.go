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

// tcp opens a connection, and talks where the task has something to say.
func (l *look) tcp(ctx context.Context) *reach.Fault {
	c := l.Task.TCP
	want, err := l.e.optional(c.Expect)
	if err != nil {
		return reach.Misconfigured("tcp.expect", err)
	}
	trip, conn, leave, f := l.connect(ctx, c.Address, c.Family)
	if f != nil {
		return f
	}
	defer leave()
	return l.talk(ctx, trip, conn, want)
}

// connect opens a connection when it is the address's turn. The turn is told
// and given back by leave.
func (l *look) connect(ctx context.Context, address string, family task.IPFamily) (trip *reach.Trip, conn net.Conn, leave func(), f *reach.Fault) {
	next, f := l.Turn(ctx, address)
	if f != nil {
		return nil, nil, nil, f
	}
	trip = l.Trip()
	end := func() {
		trip.End()
		next()
	}
	if conn, f = l.Open(ctx, trip, "tcp", address, family); f != nil {
		end()
		return nil, nil, nil, f
	}
	return trip, conn, func() {
		_ = conn.Close()
		end()
	}, nil
}

func (l *look) talk(ctx context.Context, trip *reach.Trip, conn net.Conn, want *pattern) *reach.Fault {
	c := l.Task.TCP
	if c.Send != "" {
		trip.Enter(reach.StageWrite)
		if _, err := io.WriteString(conn, unescape(c.Send)); err != nil {
			return l.NetFault(ctx, trip, err)
		}
	}
	if want == nil && !l.reads("body") {
		trip.Enter(reach.StageTurn)
		trip.End()
		l.Answered = true
		return nil
	}
	trip.Enter(reach.StageWait)
	f := l.listen(ctx, trip, conn, want)
	trip.End()
	l.Answered = f == nil || f.Code == task.CodeExpect
	l.Snapshot = func() *task.Snapshot { return l.Secrets.Keep("", nil, l.Facts.Body) }
	return f
}

// settle is how long a stream that grew is left alone before the expression is
// tried again: trying after every byte of a drip would be quadratic work.
const settle = 20 * time.Millisecond

// listen reads until what came is as expected, or there is no more. Without an
// expectation the first piece is enough.
func (l *look) listen(ctx context.Context, trip *reach.Trip, conn net.Conn, want *pattern) *reach.Fault {
	to, most := l.Buffer(), cmp.Or(l.Task.TCP.MaxRead, task.DefaultMaxRead)
	chunk := make([]byte, 4<<10)
	tried := 0
	matches := func() bool {
		tried = to.Len()
		return want.Match(to.Bytes())
	}
	defer func() { l.Facts.Body = to.Bytes() }()
	deadline, _ := ctx.Deadline()
	for to.Len() < most {
		if ctx.Err() == nil { // what ends with it has set another deadline
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
			trip.Advance(reach.StageBody)
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
			return reach.Failing(task.CodeExpect, "expected an answer that matches %q, got %d bytes and the end of the connection%s", want, to.Len(), saying(to.Bytes()))
		case errors.Is(err, io.EOF):
			return reach.Failing(task.CodeExpect, "the target closed the connection without a word")
		}
		f := l.NetFault(ctx, trip, err)
		if to.Len() > 0 && f.Outcome == task.CheckFail {
			f.Text = fmt.Sprintf("expected an answer that matches %q: %s, after %d bytes%s", want, f.Text, to.Len(), saying(to.Bytes()))
			f.Code = task.CodeExpect
		}
		return f
	}
	return reach.Failing(task.CodeExpect, "expected an answer that matches %q, and it is not in the first %d bytes (max_read)%s", want, most, saying(to.Bytes()))
}

// unescape reads \r, \n, \t, \x00 and the like as Go does. A text that Go
// cannot read is sent as it is.
func unescape(text string) string {
	quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text)
	if plain, err := strconv.Unquote(`"` + quoted + `"`); err == nil {
		return plain
	}
	return text
}
