package monitors

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Prober runs checks on request, without a monitor. Nodes that run checks
// provide it.
type Prober interface {
	// Try checks the target of a task once, within the task's timeout.
	Try(ctx context.Context, t task.Task) (task.CheckResult, error)
	// Preview is Try for a task of kind page; it shows what the selector finds.
	Preview(ctx context.Context, t task.Task) (view.PagePreview, error)
}

// Checks returns checks with their secrets, for the server's own use.
type Checks interface {
	// CheckOf returns the check of a monitor.
	CheckOf(ctx context.Context, namespace, monitor string) (task.Task, error)
}

func (s *server) trialRoutes() {
	type trying struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "check-try", Method: http.MethodPost, Path: "/v1/checks/try", Scope: access.ScopeOperate, Timeout: wire.TrialTimeout + 10*time.Second,
		Summary: "Look at a target once, and say what was seen",
		Doc: "Nothing is written, and no notification is sent. The answer has what each condition came to, and for kind page what the selector finds. " +
			"A check of the caller's own needs the scope admin, as saving it would. It ends after a minute, whatever its timeout.",
	}, func(ctx context.Context, c *api.Call, in *trying, body wire.Trial) (wire.Tried, error) {
		ns, err := c.Owner(in.Namespace, body.Namespace)
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
		if err := s.MayTry(); err != nil {
			return wire.Tried{}, err
		}
		s.Options.Logger.Info("trying a check", "request", c.Id, "token", c.Token.Name, "kind", t.Kind, "namespace", ns, "monitor", body.Monitor)
		return s.try(ctx, t)
	})
}

func (s *server) try(ctx context.Context, t task.Task) (out wire.Tried, err error) {
	t.Timeout = min(t.Timeout, core.Duration(wire.TrialTimeout))
	out.Started = core.Micro(s.Options.Now())
	if t.Kind != task.KindPage {
		out.CheckResult, err = s.opts.Prober.Try(ctx, t)
	} else {
		out.PagePreview, err = s.opts.Prober.Preview(ctx, t)
	}
	return out, ofCheck(err)
}

// ofCheck prefixes the fields of a prober's error with their place in the
// body.
func ofCheck(err error) error {
	var e *core.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	out := *e
	out.Fields = api.Each(e.Fields, func(f core.FieldError) core.FieldError {
		f.Field = "check." + f.Field
		return f
	})
	return &out
}

// trialOf returns the task of a trial, with its secrets.
func (s *server) trialOf(ctx context.Context, c *api.Call, namespace string, body wire.Trial) (t task.Task, err error) {
	if body.Check != nil {
		if err := api.Allow(c.Token, access.ScopeAdmin); err != nil {
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

func (s *server) ownCheck(ctx context.Context, namespace, monitor string) (task.Task, error) {
	if s.opts.Secrets == nil {
		return task.Task{}, core.Errorf(core.Unavailable, "this node has no access to the checks of monitors").WithHint("give the check itself")
	}
	return s.opts.Secrets.CheckOf(ctx, namespace, monitor)
}
