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

// Notifier tells people. An error says what went wrong, without secrets.
type Notifier interface {
	Send(ctx context.Context, c alert.Channel, m alert.Message) error
}

// ChannelSecrets hands out channels with their secrets, for the server's own use.
type ChannelSecrets interface {
	ChannelSecrets(ctx context.Context, namespace, name string) (alert.Channel, error)
}

// channelTest serves the test of a channel. That a message was not taken is
// the answer to the question, and no fault of the request.
func (s *server) channelTest() {
	api.Serve(s.API, api.Endpoint{
		Id: "channel-test", Method: http.MethodPost, Path: "/v1/channels/{name}/test", Scope: access.ScopeOperate, Timeout: view.AlertTimeout + 10*time.Second,
		Summary: "Send a test message through a channel, and say what came of it",
		Doc:     "The answer is ok or has the error, in either case under 200.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (wire.ChannelTest, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return wire.ChannelTest{}, err
		}
		if s.opts.Notifier == nil || s.opts.Secrets == nil {
			return wire.ChannelTest{}, core.Errorf(core.Unavailable, "this node tells nobody anything").WithHint("ask a node with the role engine")
		}
		channel, err := s.opts.Secrets.ChannelSecrets(ctx, ns, in.Name)
		if err != nil {
			return wire.ChannelTest{}, err
		}
		if err := s.MayTry(); err != nil {
			return wire.ChannelTest{}, err
		}
		s.Options.Logger.Info("channel is tested", "request", c.Id, "token", c.Token.Name, "namespace", ns, "channel", in.Name)
		return s.tell(ctx, channel), nil
	})
}

func (s *server) tell(ctx context.Context, channel alert.Channel) wire.ChannelTest {
	ctx, cancel := context.WithTimeout(ctx, view.AlertTimeout)
	defer cancel()
	now := time.Now()
	m := alert.Compose(channel, []alert.Alert{{
		Message: "test-" + rand.Text(), // or every test would have the same key
		Notification: alert.Notification{
			Type: alert.NotificationTest, At: core.Micro(now), Namespace: channel.Namespace,
			Title: "Test of channel " + channel.Name, Text: "Alerts that go to this channel arrive here.",
		},
	}}, s.opts.PublicURL, now)
	err := s.opts.Notifier.Send(ctx, channel, m)
	out := wire.ChannelTest{OK: err == nil, Took: core.Duration(time.Since(now))}
	if err != nil {
		out.Error, _ = core.CleanText(err.Error(), task.MaxCheckMessage)
	}
	return out
}
