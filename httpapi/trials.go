package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Prober looks at targets because somebody asked, for no monitor. It is an
// ability of nodes that run checks.
type Prober interface {
	// Try looks once at the target of a task, within the task's timeout.
	Try(ctx context.Context, t task.Task) (task.Measure, error)
	// Preview does the same for a task of kind page, and shows what its
	// selector finds.
	Preview(ctx context.Context, t task.Task) (PagePreview, error)
}

// Notifier tells people. An error says what went wrong, without secrets.
type Notifier interface {
	Send(ctx context.Context, c alert.Channel, m alert.Message) error
}

// Secrets hands out definitions with their secrets, for the server's own use.
// No answer has them.
type Secrets interface {
	ChannelSecrets(ctx context.Context, namespace, name string) (alert.Channel, error)
	// CheckOf is what a monitor does each time.
	CheckOf(ctx context.Context, namespace, monitor string) (task.Task, error)
}

type PagePreview = view.PagePreview

type PageRemoval = view.PageRemoval

const trialsPerSecond = 5

const trialsAtOnce = 10

func (s *Server) mayTry() error {
	if s.trials.Allow() {
		return nil
	}
	e := core.Errorf(core.Unavailable, "too many tries and tests at once").WithHint("wait a second")
	return newProblem(http.StatusTooManyRequests, e)
}

func (s *Server) trialRoutes() {
	type trying struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	serveBody(s, endpoint{
		id: "check-try", method: http.MethodPost, path: "/v1/checks/try", scope: access.ScopeOperate, timeout: wire.TrialTimeout + 10*time.Second,
		summary: "Look at a target once, and say what was seen",
		doc: "Nothing is written, and no notification is sent. The answer has what each condition came to, and for kind page what the selector finds. " +
			"A check of the caller's own needs the scope admin, as saving it would. It ends after a minute, whatever its timeout.",
	}, func(ctx context.Context, c *call, in *trying, body wire.Trial) (wire.Tried, error) {
		ns, err := c.owner(in.Namespace, body.Namespace)
		if err != nil {
			return wire.Tried{}, err
		}
		if s.opts.Prober == nil {
			return wire.Tried{}, core.Errorf(core.Unavailable, "this node runs no checks").WithHint("ask a node with the role worker")
		}
		t, err := s.trialOf(ctx, c, ns, body)
		if err != nil {
			return wire.Tried{}, err
		}
		if err := s.mayTry(); err != nil {
			return wire.Tried{}, err
		}
		s.opts.Logger.Info("check is tried", "request", c.id, "token", c.token.Name, "kind", t.Kind, "namespace", ns, "monitor", body.Monitor)
		return s.try(ctx, t)
	})
}

func (s *Server) try(ctx context.Context, t task.Task) (out wire.Tried, err error) {
	t.Timeout = min(t.Timeout, core.Duration(wire.TrialTimeout))
	out.Started = core.Micro(time.Now())
	if t.Kind != task.KindPage {
		out.Measure, err = s.opts.Prober.Try(ctx, t)
	} else {
		out.PagePreview, err = s.opts.Prober.Preview(ctx, t)
	}
	return out, ofCheck(err)
}

// ofCheck names fields that a prober finds fault with by their place in the
// body.
func ofCheck(err error) error {
	var e *core.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	out := *e
	out.Fields = each(e.Fields, func(f core.FieldError) core.FieldError {
		f.Field = "check." + f.Field
		return f
	})
	return &out
}

// trialOf is the task that a trial asks for, with its secrets.
func (s *Server) trialOf(ctx context.Context, c *call, namespace string, body wire.Trial) (t task.Task, err error) {
	if body.Check != nil {
		if err := allow(c.token, access.ScopeAdmin); err != nil {
			return t, err
		}
	}
	if body.Monitor != "" {
		if err := core.ValidName("monitor", body.Monitor); err != nil {
			return t, err
		}
		if t, err = s.ownCheck(ctx, namespace, body.Monitor); err != nil {
			return t, err
		}
	}
	body.Namespace = namespace
	return body.Task(t)
}

func (s *Server) ownCheck(ctx context.Context, namespace, monitor string) (task.Task, error) {
	if s.opts.Secrets == nil {
		return task.Task{}, core.Errorf(core.Unavailable, "this node has no access to the checks of monitors").WithHint("give the check itself")
	}
	return s.opts.Secrets.CheckOf(ctx, namespace, monitor)
}

// channelTest serves the test of a channel. That a message was not taken is
// the answer to the question, and no fault of the request.
func (s *Server) channelTest() {
	serve(s, endpoint{
		id: "channel-test", method: http.MethodPost, path: "/v1/channels/{name}/test", scope: access.ScopeOperate, timeout: view.AlertTimeout + 10*time.Second,
		summary: "Send a test message through a channel, and say what came of it",
		doc:     "The answer is ok or has the error, in either case under 200.",
	}, func(ctx context.Context, c *call, in *byName) (wire.ChannelTest, error) {
		ns, err := in.resolve(c)
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
		if err := s.mayTry(); err != nil {
			return wire.ChannelTest{}, err
		}
		s.opts.Logger.Info("channel is tested", "request", c.id, "token", c.token.Name, "namespace", ns, "channel", in.Name)
		return s.tell(ctx, channel), nil
	})
}

func (s *Server) tell(ctx context.Context, channel alert.Channel) wire.ChannelTest {
	ctx, cancel := context.WithTimeout(ctx, view.AlertTimeout)
	defer cancel()
	now := time.Now()
	m := alert.Compose(channel, []alert.Alert{{
		Message: "test-" + rand.Text(), // or every test would have the same key
		Notice: alert.Notice{
			Type: alert.NoticeTest, At: core.Micro(now), Namespace: channel.Namespace,
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
