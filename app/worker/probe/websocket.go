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

// maxMessages and maxMessage limit the data that is read while waiting for the
// expected message.
const (
	maxMessages = 1000
	maxMessage  = 1 << 20
)

// websocket opens a WebSocket, and exchanges messages if the task has any. It
// follows no redirects: WebSocket has none.
func (c *check) websocket(ctx context.Context) *reach.Fault {
	w := c.Task.WebSocket
	want, err := c.e.optional(w.Expect)
	if err != nil {
		return reach.Misconfigured("websocket.expect", err)
	}
	u, err := url.Parse(w.URL)
	if err != nil {
		return reach.Ours(task.CodeConfig, "websocket.url: is not a URL")
	}
	c.Secrets.AddHeaders(w.Headers)
	c.Secrets.AddURL(w.URL)
	transport, f := c.e.net.Transport(reach.Route{HTTP1: true, Family: task.FamilyAny})
	if f != nil {
		return f
	}
	leave, f := c.WaitTurn(ctx, reach.HostPort(u))
	if f != nil {
		return f
	}
	defer leave()
	x := c.NewExchange()
	conn, f := c.upgrade(ctx, x, transport)
	if f != nil {
		return f
	}
	defer func() { _ = conn.CloseNow() }()
	return c.exchangeMessages(ctx, x, conn, want)
}

func (c *check) upgrade(ctx context.Context, x *reach.Exchange, transport *http.Transport) (*websocket.Conn, *reach.Fault) {
	way := &upgrading{RoundTripper: exchange.Transport{RoundTripper: transport}}
	options := &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     way,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader: http.Header{"User-Agent": {c.e.net.Agent()}},
	}
	for name, value := range c.Task.WebSocket.Headers {
		if strings.EqualFold(name, "Host") {
			options.Host = value
			continue
		}
		options.HTTPHeader.Set(name, value)
	}
	conn, resp, err := websocket.Dial(reach.Traced(ctx, x), c.Task.WebSocket.URL, options)
	if resp == nil {
		c.SawRefused(err)
		return nil, c.HTTPFault(ctx, x, err)
	}
	c.Saw(resp.TLS)
	c.Result.Status = resp.StatusCode
	c.Facts.Status, c.Facts.Header = resp.StatusCode, resp.Header
	if err == nil {
		way.taken.Store(true)
		x.Enter(reach.StageTurn)
		conn.SetReadLimit(maxMessage)
		return conn, nil
	}
	x.End()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, reach.Drained)) // the library has already read it
	c.KeepAnswer(reach.Answer{Status: resp.StatusCode, Header: resp.Header, Text: append([]byte(nil), body...)})
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, reach.Failing(task.CodeStatus, "expected an upgrade (101), got %d %s%s", resp.StatusCode, http.StatusText(resp.StatusCode), bodyExcerpt(c, body))
	}
	return nil, reach.Failing(task.CodeProtocol, "the upgrade is not one of WebSocket: %s", reach.Cause(err))
}

// upgrading hides the data after an upgrade from the library until it has
// accepted the upgrade. After a refused upgrade, the library would wait seconds
// for a body, which would count as latency.
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

func (c *check) exchangeMessages(ctx context.Context, x *reach.Exchange, conn *websocket.Conn, want *pattern) *reach.Fault {
	w := c.Task.WebSocket
	if w.Send != "" {
		x.Enter(reach.StageWrite)
		if err := conn.Write(ctx, websocket.MessageText, []byte(w.Send)); err != nil {
			return c.NetFault(ctx, x, err)
		}
	}
	if want == nil && !c.reads("body") && !c.reads("json") && !c.reads("jq") {
		x.Enter(reach.StageTurn)
		x.End()
		c.Answered = true
		return nil
	}
	x.Enter(reach.StageWait)
	f := c.await(ctx, x, conn, want)
	x.End()
	c.Answered = f == nil
	c.Snapshot = func() *task.Snapshot { return c.Secrets.Keep("", nil, c.Facts.Body) }
	return f
}

// await reads messages until one matches the expectation. Without one, the first
// message is enough.
func (c *check) await(ctx context.Context, x *reach.Exchange, conn *websocket.Conn, want *pattern) *reach.Fault {
	for range maxMessages {
		_, message, err := conn.Read(ctx)
		switch {
		case err == nil:
			x.Advance(reach.StageBody)
			c.Facts.Body = message
			if want == nil || want.Match(message) {
				return nil
			}
		case errors.Is(err, websocket.ErrMessageTooBig):
			return reach.Failing(task.CodeBodyTooLarge, "a message is over the limit of %d bytes", maxMessage)
		case websocket.CloseStatus(err) != -1:
			return reach.Failing(task.CodeExpect, "the target ended the conversation (%d) before a message that matches %q", websocket.CloseStatus(err), want)
		default:
			f := c.NetFault(ctx, x, err)
			if c.Facts.Body != nil && f.Outcome == task.CheckFail {
				f.Code, f.Text = task.CodeExpect, fmt.Sprintf("no message matches %q: %s", want, f.Text)
			}
			return f
		}
	}
	return reach.Failing(task.CodeExpect, "none of %d messages matches %q", maxMessages, want)
}
