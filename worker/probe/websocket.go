package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/belfry-run/belfry"
)

// maxMessages and maxMessage bound what is read while waiting for the right
// message.
const (
	maxMessages = 1000
	maxMessage  = 1 << 20
)

// websocket asks for an upgrade, and talks where the task has something to
// say. Redirects are not followed: a WebSocket has none.
func (l *look) websocket(ctx context.Context) *fault {
	w := l.task.WebSocket
	want, err := l.e.optional(w.Expect)
	if err != nil {
		return configFault("websocket.expect", err)
	}
	u, err := url.Parse(w.URL)
	if err != nil {
		return ours(belfry.CodeConfig, "websocket.url: is not a URL")
	}
	l.knowHeaders(w.Headers)
	l.knowURL(w.URL)
	transport, f := l.e.transport(route{http1: true, family: belfry.FamilyAny})
	if f != nil {
		return f
	}
	leave, f := l.turn(ctx, hostPort(u))
	if f != nil {
		return f
	}
	defer leave()
	trip := newTrip(&l.watch)
	defer l.arrive(trip)
	conn, f := l.upgrade(ctx, trip, transport)
	if f != nil {
		return f
	}
	defer func() { _ = conn.CloseNow() }()
	return l.converse(ctx, trip, conn, want)
}

func (l *look) upgrade(ctx context.Context, trip *trip, transport *http.Transport) (*websocket.Conn, *fault) {
	options := &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader: http.Header{"User-Agent": {l.e.agent}},
	}
	for name, value := range l.task.WebSocket.Headers {
		if strings.EqualFold(name, "Host") {
			options.Host = value
			continue
		}
		options.HTTPHeader.Set(name, value)
	}
	conn, resp, err := websocket.Dial(traced(ctx, trip), l.task.WebSocket.URL, options)
	if resp == nil {
		l.sawRefused(err)
		return nil, l.httpFault(ctx, trip, err)
	}
	l.saw(resp.TLS)
	l.m.Status = resp.StatusCode
	l.facts.Status, l.facts.Header = resp.StatusCode, resp.Header
	if err == nil {
		trip.enter(stageTurn)
		conn.SetReadLimit(maxMessage)
		return conn, nil
	}
	l.arrive(trip)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, drained)) // the library has read it already
	l.keepAnswer(answer{status: resp.StatusCode, header: resp.Header, body: append([]byte(nil), body...)})
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, failing(belfry.CodeStatus, "expected an upgrade (101), got %d %s%s", resp.StatusCode, http.StatusText(resp.StatusCode), saying(body))
	}
	return nil, failing(belfry.CodeProtocol, "the upgrade is not one of WebSocket: %s", cause(err))
}

func (l *look) converse(ctx context.Context, trip *trip, conn *websocket.Conn, want *pattern) *fault {
	w := l.task.WebSocket
	if w.Send != "" {
		trip.enter(stageWrite)
		if err := conn.Write(ctx, websocket.MessageText, []byte(w.Send)); err != nil {
			return l.netFault(ctx, trip, err)
		}
	}
	if want == nil && !l.reads("body") && !l.reads("json") && !l.reads("jq") {
		trip.enter(stageTurn)
		l.arrive(trip)
		l.answered = true
		return nil
	}
	trip.enter(stageWait)
	f := l.await(ctx, trip, conn, want)
	l.arrive(trip)
	l.answered = f == nil
	l.snapshot = func() *belfry.Snapshot { return l.secrets.keep("", nil, l.facts.Body) }
	return f
}

// await reads messages until one is as expected. Without an expectation the
// first is.
func (l *look) await(ctx context.Context, trip *trip, conn *websocket.Conn, want *pattern) *fault {
	for range maxMessages {
		_, message, err := conn.Read(ctx)
		switch {
		case err == nil:
			trip.advance(stageBody)
			l.facts.Body = message
			if want == nil || want.Match(message) {
				return nil
			}
		case errors.Is(err, websocket.ErrMessageTooBig):
			return failing(belfry.CodeBodyTooLarge, "a message is over the limit of %d bytes", maxMessage)
		case websocket.CloseStatus(err) != -1:
			return failing(belfry.CodeExpect, "the target ended the conversation (%d) before a message that matches %q", websocket.CloseStatus(err), want)
		default:
			f := l.netFault(ctx, trip, err)
			if l.facts.Body != nil && f.outcome == belfry.CheckFail {
				f.code, f.text = belfry.CodeExpect, fmt.Sprintf("no message matches %q: %s", want, f.text)
			}
			return f
		}
	}
	return failing(belfry.CodeExpect, "none of %d messages matches %q", maxMessages, want)
}
