package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/task"
)

// maxMessages and maxMessage bound what is read while waiting for the right
// message.
const (
	maxMessages = 1000
	maxMessage  = 1 << 20
)

// websocket asks for an upgrade, and talks where the task has something to
// say. Redirects are not followed: a WebSocket has none.
func (l *look) websocket(ctx context.Context) *reach.Fault {
	w := l.Task.WebSocket
	want, err := l.e.optional(w.Expect)
	if err != nil {
		return reach.Misconfigured("websocket.expect", err)
	}
	u, err := url.Parse(w.URL)
	if err != nil {
		return reach.Ours(task.CodeConfig, "websocket.url: is not a URL")
	}
	l.Secrets.AddHeaders(w.Headers)
	l.Secrets.AddURL(w.URL)
	transport, f := l.e.net.Transport(reach.Route{HTTP1: true, Family: task.FamilyAny})
	if f != nil {
		return f
	}
	leave, f := l.Turn(ctx, reach.HostPort(u))
	if f != nil {
		return f
	}
	defer leave()
	trip := l.Trip()
	conn, f := l.upgrade(ctx, trip, transport)
	if f != nil {
		return f
	}
	defer func() { _ = conn.CloseNow() }()
	return l.converse(ctx, trip, conn, want)
}

func (l *look) upgrade(ctx context.Context, trip *reach.Trip, transport *http.Transport) (*websocket.Conn, *reach.Fault) {
	way := &upgrading{RoundTripper: exchange.Transport{RoundTripper: transport}}
	options := &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     way,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader: http.Header{"User-Agent": {l.e.net.Agent()}},
	}
	for name, value := range l.Task.WebSocket.Headers {
		if strings.EqualFold(name, "Host") {
			options.Host = value
			continue
		}
		options.HTTPHeader.Set(name, value)
	}
	conn, resp, err := websocket.Dial(reach.Traced(ctx, trip), l.Task.WebSocket.URL, options)
	if resp == nil {
		l.SawRefused(err)
		return nil, l.HTTPFault(ctx, trip, err)
	}
	l.Saw(resp.TLS)
	l.Result.Status = resp.StatusCode
	l.Facts.Status, l.Facts.Header = resp.StatusCode, resp.Header
	if err == nil {
		way.taken.Store(true)
		trip.Enter(reach.StageTurn)
		conn.SetReadLimit(maxMessage)
		return conn, nil
	}
	trip.End()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, reach.Drained)) // the library has read it already
	l.KeepAnswer(reach.Answer{Status: resp.StatusCode, Header: resp.Header, Text: append([]byte(nil), body...)})
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, reach.Failing(task.CodeStatus, "expected an upgrade (101), got %d %s%s", resp.StatusCode, http.StatusText(resp.StatusCode), saying(body))
	}
	return nil, reach.Failing(task.CodeProtocol, "the upgrade is not one of WebSocket: %s", reach.Cause(err))
}

// upgrading keeps what stands behind an upgrade from the library until it has
// taken the upgrade: of one that it refuses it would wait for a body, for seconds
// that are not the target's.
type upgrading struct {
	http.RoundTripper
	taken atomic.Bool
}

func (u *upgrading) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := u.RoundTripper.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	if conn, is := resp.Body.(io.ReadWriteCloser); is {
		resp.Body = upgraded{conn, u}
	}
	return resp, nil
}

type upgraded struct {
	io.ReadWriteCloser
	way *upgrading
}

func (u upgraded) Read(p []byte) (int, error) {
	if !u.way.taken.Load() {
		return 0, io.EOF
	}
	return u.ReadWriteCloser.Read(p)
}

func (l *look) converse(ctx context.Context, trip *reach.Trip, conn *websocket.Conn, want *pattern) *reach.Fault {
	w := l.Task.WebSocket
	if w.Send != "" {
		trip.Enter(reach.StageWrite)
		if err := conn.Write(ctx, websocket.MessageText, []byte(w.Send)); err != nil {
			return l.NetFault(ctx, trip, err)
		}
	}
	if want == nil && !l.reads("body") && !l.reads("json") && !l.reads("jq") {
		trip.Enter(reach.StageTurn)
		trip.End()
		l.Answered = true
		return nil
	}
	trip.Enter(reach.StageWait)
	f := l.await(ctx, trip, conn, want)
	trip.End()
	l.Answered = f == nil
	l.Snapshot = func() *task.Snapshot { return l.Secrets.Keep("", nil, l.Facts.Body) }
	return f
}

// await reads messages until one is as expected. Without an expectation the
// first is.
func (l *look) await(ctx context.Context, trip *reach.Trip, conn *websocket.Conn, want *pattern) *reach.Fault {
	for range maxMessages {
		_, message, err := conn.Read(ctx)
		switch {
		case err == nil:
			trip.Advance(reach.StageBody)
			l.Facts.Body = message
			if want == nil || want.Match(message) {
				return nil
			}
		case errors.Is(err, websocket.ErrMessageTooBig):
			return reach.Failing(task.CodeBodyTooLarge, "a message is over the limit of %d bytes", maxMessage)
		case websocket.CloseStatus(err) != -1:
			return reach.Failing(task.CodeExpect, "the target ended the conversation (%d) before a message that matches %q", websocket.CloseStatus(err), want)
		default:
			f := l.NetFault(ctx, trip, err)
			if l.Facts.Body != nil && f.Outcome == task.CheckFail {
				f.Code, f.Text = task.CodeExpect, fmt.Sprintf("no message matches %q: %s", want, f.Text)
			}
			return f
		}
	}
	return reach.Failing(task.CodeExpect, "none of %d messages matches %q", maxMessages, want)
}
