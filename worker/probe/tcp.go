package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// tcp opens a connection, and talks where the task has something to say.
func (l *look) tcp(ctx context.Context) *fault {
	c := l.task.TCP
	want, err := l.e.optional(c.Expect)
	if err != nil {
		return configFault("tcp.expect", err)
	}
	leave, f := l.turn(ctx, c.Address)
	if f != nil {
		return f
	}
	defer leave()
	trip := newTrip(&l.watch)
	defer l.arrive(trip)
	conn, f := l.open(ctx, trip, "tcp", c.Address, c.Family)
	if f != nil {
		return f
	}
	defer func() { _ = conn.Close() }()
	return l.talk(ctx, trip, conn, want)
}

func (l *look) talk(ctx context.Context, trip *trip, conn net.Conn, want *pattern) *fault {
	c := l.task.TCP
	if c.Send != "" {
		trip.enter(stageWrite)
		if _, err := io.WriteString(conn, unescape(c.Send)); err != nil {
			return l.netFault(ctx, trip, err)
		}
	}
	if want == nil && !l.reads("body") {
		trip.enter(stageTurn)
		l.arrive(trip)
		l.answered = true
		return nil
	}
	trip.enter(stageWait)
	f := l.listen(ctx, trip, conn, want)
	l.arrive(trip)
	l.answered = f == nil || f.code == belfry.CodeExpect
	l.snapshot = func() *belfry.Snapshot { return l.secrets.keep("", nil, l.body.Bytes()) }
	return f
}

// settle is how long a stream that grew is left alone before the expression is
// tried again: trying after every byte of a drip would be quadratic work.
const settle = 20 * time.Millisecond

// listen reads until what came is as expected, or there is no more. Without an
// expectation the first piece is enough.
func (l *look) listen(ctx context.Context, trip *trip, conn net.Conn, want *pattern) *fault {
	to, most := l.buffer(), or(l.task.TCP.MaxRead, belfry.DefaultMaxRead)
	chunk := make([]byte, 4<<10)
	tried := 0
	matches := func() bool {
		tried = to.Len()
		return want.Match(to.Bytes())
	}
	defer func() { l.facts.Body = to.Bytes() }()
	deadline, _ := ctx.Deadline()
	for to.Len() < most {
		if ctx.Err() == nil { // what ends with it has set another deadline
			until := deadline
			if soon := time.Now().Add(settle); tried < to.Len() && (until.IsZero() || soon.Before(until)) {
				until = soon
			}
			_ = conn.SetReadDeadline(until)
			if ctx.Err() != nil {
				_ = conn.SetReadDeadline(past)
			}
		}
		n, err := conn.Read(chunk[:min(len(chunk), most-to.Len())])
		if n > 0 {
			trip.advance(stageBody)
			to.Write(chunk[:n])
		}
		switch {
		case want == nil && n > 0:
			return nil
		case want != nil && (err != nil && tried < to.Len() || to.Len()-tried > to.Len()/8 || to.Len() == most) && matches():
			return nil
		case err == nil, isTimeout(err) && ctx.Err() == nil && (deadline.IsZero() || time.Now().Before(deadline)):
			continue
		case errors.Is(err, io.EOF) && to.Len() > 0:
			return failing(belfry.CodeExpect, "expected an answer that matches %q, got %d bytes and the end of the connection%s", want, to.Len(), saying(to.Bytes()))
		case errors.Is(err, io.EOF):
			return failing(belfry.CodeExpect, "the target closed the connection without a word")
		}
		f := l.netFault(ctx, trip, err)
		if to.Len() > 0 && f.outcome == belfry.CheckFail {
			f.text = fmt.Sprintf("expected an answer that matches %q: %s, after %d bytes%s", want, f.text, to.Len(), saying(to.Bytes()))
			f.code = belfry.CodeExpect
		}
		return f
	}
	return failing(belfry.CodeExpect, "expected an answer that matches %q, and it is not in the first %d bytes (max_read)%s", want, most, saying(to.Bytes()))
}

// optional is a compiled expression, or nil for none.
func (e *Executor) optional(text string) (*pattern, error) {
	if text == "" {
		return nil, nil
	}
	return e.pattern(text)
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
