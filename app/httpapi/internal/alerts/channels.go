package alerts

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (s *server) channelRoutes() {
	api.ServeDocument(s.API, api.Document[alert.Channel]{
		Id: "channel", Path: "/v1/channels", One: "a channel", Many: "channels",
		Saving: " A secret that is written as it was shown stays, as long as the channel goes to the same place.",
		Ending: "One that an alert rule names is kept.",
		Owner:  func(d *alert.Channel) (namespace, name *string) { return &d.Namespace, &d.Name },
		Save:   s.service.SaveChannel, Drop: s.service.DeleteChannel, Read: s.service.Channel, List: s.service.Channels,
		Shown: alert.Channel.Redacted,
	})
	s.channelTest()
}

// Notifier sends notifications. Its errors hold no secrets.
type Notifier interface {
	Send(ctx context.Context, c alert.Channel, m alert.Message) error
}

// ChannelSecrets returns channels with their secrets, for the server's own use.
type ChannelSecrets interface {
	ChannelSecrets(ctx context.Context, namespace, name string) (alert.Channel, error)
}

// testSending serves a test of a channel or a hook. If the receiver does not accept the message, that is the result of the
// test, not an error of the request.
func (s *server) testSending(noun, summary string, secrets func(ctx context.Context, namespace, name string) (alert.Channel, error), compose func(c alert.Channel, now time.Time) alert.Message) {
	api.Serve(s.API, api.Endpoint{
		Id: noun + "-test", Method: http.MethodPost, Path: "/v1/" + noun + "s/{name}/test", Scope: access.ScopeOperate, Timeout: view.AlertTimeout + 10*time.Second,
		Summary: summary,
		Doc:     "The answer is ok or has the error, in either case under 200.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (out wire.ChannelTest, err error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return out, err
		}
		if s.opts.Notifier == nil || s.opts.Secrets == nil {
			return out, core.Errorf(core.Unavailable, "this node sends no messages").WithHint("ask a node with the role engine")
		}
		channel, err := secrets(ctx, ns, in.Name)
		if err != nil {
			return out, err
		}
		if err := s.MayTry(); err != nil {
			return out, err
		}
		s.Options.Logger.Info("sending a test message", "request", c.Id, "token", c.Token.Name, "namespace", ns, noun, in.Name)
		ctx, cancel := context.WithTimeout(ctx, view.AlertTimeout)
		defer cancel()
		now := time.Now()
		sent := s.opts.Notifier.Send(ctx, channel, compose(channel, now))
		out = wire.ChannelTest{OK: sent == nil, Took: core.Duration(time.Since(now))}
		if sent != nil {
			out.Error, _ = core.CleanText(sent.Error(), task.MaxCheckMessage)
		}
		return out, nil
	})
}

func (s *server) channelTest() {
	s.testSending("channel", "Send a test message through a channel, and show the result", func(ctx context.Context, namespace, name string) (alert.Channel, error) {
		return s.opts.Secrets.ChannelSecrets(ctx, namespace, name)
	}, func(c alert.Channel, now time.Time) alert.Message {
		return alert.TestMessage(c, s.opts.PublicURL, rand.Text(), now)
	})
}
