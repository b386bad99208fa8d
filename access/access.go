package access

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// tokenNameRule lets a token be called as a person is by e-mail. It leaves out
// the colon, which stands between kinds and names of actors in the audit.
var tokenNameRule = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._@+'-]{0,127}$`)

const tokenNameHint = "use 1 to 128 letters, digits, dots, dashes, underscores, apostrophes, @ and +, starting with a letter or digit"

// Token is a right to use the API. Its secret is shown once, when it is made,
// and kept only as a hash.
type Token struct {
	ID         int64             `json:"id" readOnly:"true"`
	Name       string            `json:"name" doc:"For people"`
	Namespace  string            `json:"namespace,omitempty" doc:"Where it is valid; * for everywhere; default: default"`
	Scopes     []Scope           `json:"scopes" doc:"What it may do"`
	Labels     map[string]string `json:"labels,omitempty" doc:"Labels that workers get which use it, before their own"`
	ExpiresAt  time.Time         `json:"expires_at,omitzero" doc:"Default: never"`
	CreatedAt  time.Time         `json:"created_at,omitzero" readOnly:"true"`
	CreatedBy  string            `json:"created_by,omitempty" readOnly:"true"`
	LastUsedAt time.Time         `json:"last_used_at,omitzero" readOnly:"true" doc:"To the minute"`
	RevokedAt  time.Time         `json:"revoked_at,omitzero" readOnly:"true"`
}

// Scope is a right.
type Scope string

// The scopes. Operate includes read, admin includes all but worker.
const (
	ScopeRead    Scope = "read"    // see everything but secrets
	ScopeOperate Scope = "operate" // trigger, enqueue, pause, cancel, retry
	ScopeAdmin   Scope = "admin"   // create, edit and delete; tokens; queues
	ScopeWorker  Scope = "worker"  // claim jobs and settle them
)

// Scopes lists them.
var Scopes = []Scope{ScopeRead, ScopeOperate, ScopeAdmin, ScopeWorker}

// Allows reports whether a holder of the given scopes has the right of the scope want.
func Allows(have []Scope, want Scope) bool {
	if slices.Contains(have, want) {
		return true
	}
	switch want {
	case ScopeRead:
		return slices.Contains(have, ScopeOperate) || slices.Contains(have, ScopeAdmin)
	case ScopeOperate:
		return slices.Contains(have, ScopeAdmin)
	}
	return false
}

// WithDefaults fills empty fields.
func (t Token) WithDefaults() Token {
	t.Namespace = core.Or(t.Namespace, core.DefaultNamespace)
	t.ExpiresAt = core.Micro(t.ExpiresAt)
	return t
}

// Validate returns everything that is wrong with a token that has its defaults.
func (t Token) Validate(now time.Time) error {
	var p core.Problems
	switch {
	case t.Name == "":
		p.Add("name", "", "is missing", tokenNameHint)
	case !tokenNameRule.MatchString(t.Name):
		p.Add("name", t.Name, "is not a name", tokenNameHint)
	}
	if t.Namespace != core.AnyNamespace {
		core.CheckName(&p, "namespace", t.Namespace)
	}
	if len(t.Scopes) == 0 {
		p.Add("scopes", "", "is missing", "one or more of read, operate, admin, worker")
	}
	for _, s := range t.Scopes {
		if !slices.Contains(Scopes, s) {
			p.Add("scopes", string(s), "is not a scope", "one or more of read, operate, admin, worker")
		}
	}
	task.CheckLabels(&p, t.Labels, task.MaxLabels)
	if !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now) {
		p.Add("expires_at", t.ExpiresAt.Format(time.RFC3339), "has passed", "")
	}
	return p.Err(fmt.Sprintf("token %q", t.Name))
}

// TokenState is the state of a token or a join token: whether it is valid.
type TokenState string

// The states of tokens.
const (
	TokenActive  TokenState = "active"
	TokenRevoked TokenState = "revoked"
	TokenExpired TokenState = "expired"
	TokenUsedUp  TokenState = "used_up" // of a join token: as many machines joined as may
)

func tokenState(revoked, expires, now time.Time) TokenState {
	switch {
	case !revoked.IsZero():
		return TokenRevoked
	case !expires.IsZero() && !now.Before(expires):
		return TokenExpired
	}
	return TokenActive
}

// PersonActor is the name in the audit of a person who signs in through a provider.
func PersonActor(name string) string { return "oidc:" + name }

// Actor is the name in the audit of calls with the token: the token, or the person for whose session it was made. A token that a
// person made is named otherwise, or is theirs by its name.
func (t Token) Actor() string {
	if person := PersonActor(t.Name); t.CreatedBy == person {
		return person
	}
	return "token:" + t.Name
}

// State is how the token stands at an instant.
func (t Token) State(now time.Time) TokenState { return tokenState(t.RevokedAt, t.ExpiresAt, now) }

// Refusal is why the token is refused at an instant, or nil.
func (t Token) Refusal(now time.Time) error {
	switch t.State(now) {
	case TokenRevoked:
		return core.Errorf(core.Unauthorized, "token %q was revoked", t.Name)
	case TokenExpired:
		return core.Errorf(core.Unauthorized, "token %q expired at %s", t.Name, core.Stamp(t.ExpiresAt))
	}
	return nil
}

// Audit is one change and its author.
type Audit struct {
	Seq       int64           `json:"seq"`
	At        time.Time       `json:"at"`
	Namespace string          `json:"namespace,omitempty"`
	Actor     string          `json:"actor" doc:"Token, local user, or belfry itself"`
	Action    string          `json:"action" doc:"create, update, delete, pause, resume, cancel, retry, …"`
	Noun      string          `json:"noun" doc:"task, schedule, queue, job, token, …"`
	Name      string          `json:"name"`
	Note      string          `json:"note,omitempty"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
}

// WatchedIn is the change in a watch of one namespace, if it concerns that
// namespace. Queues and workers serve all namespaces; but only a watch of all
// namespaces names the worker that drains.
func (a Audit) WatchedIn(namespace string) (Audit, bool) {
	switch {
	case namespace == core.AnyNamespace, a.Namespace == namespace, a.Namespace == "" && a.Noun == "queue":
		return a, true
	case a.Namespace == "" && a.Noun == "worker":
		return Audit{Seq: a.Seq, At: a.At, Action: a.Action, Noun: a.Noun}, true
	}
	return Audit{}, false
}

type actorKey struct{}

// WithActor sets the actor of calls under this context, as the audit shows it.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf is the actor of calls under this context; belfry itself if none was set.
func ActorOf(ctx context.Context) string {
	if a, ok := ctx.Value(actorKey{}).(string); ok && a != "" {
		return a
	}
	return "belfry"
}

// AuditFilter selects audit rows, newest first.
type AuditFilter struct {
	core.Paging
	Namespace string // * for all
	Noun      string
	Name      string
	Actor     string
	Since     time.Time // at or after
	Until     time.Time // before
}
