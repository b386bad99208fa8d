package access

import (
	"fmt"
	"maps"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// JoinToken is a right to get tokens for workers, for machines that are set up
// alike and by no person. Its secret is shown once, when it is made, and kept
// only as a hash.
type JoinToken struct {
	ID         int64             `json:"id" readOnly:"true"`
	Name       string            `json:"name" doc:"For people"`
	Namespace  string            `json:"namespace,omitempty" doc:"Whose jobs the workers run; * for all; default: default"`
	Labels     map[string]string `json:"labels,omitempty" doc:"Labels that the workers get, which count before their own"`
	Uses       int               `json:"uses,omitempty" doc:"How many machines may join with it, at most 10000; default: 1"`
	Used       int               `json:"used,omitempty" readOnly:"true" doc:"How many did"`
	ExpiresAt  time.Time         `json:"expires_at,omitzero" doc:"Until when machines may join, at most 30 days ahead; default: an hour. What they got does not expire with it"`
	CreatedAt  time.Time         `json:"created_at,omitzero" readOnly:"true"`
	CreatedBy  string            `json:"created_by,omitempty" readOnly:"true"`
	LastUsedAt time.Time         `json:"last_used_at,omitzero" readOnly:"true"`
	RevokedAt  time.Time         `json:"revoked_at,omitzero" readOnly:"true"`
}

// WithDefaults fills empty fields.
func (t JoinToken) WithDefaults(now time.Time) JoinToken {
	t.Namespace = core.Or(t.Namespace, core.DefaultNamespace)
	t.Uses = core.Or(t.Uses, 1)
	if t.ExpiresAt.IsZero() {
		t.ExpiresAt = now.Add(job.DefaultJoinLife)
	}
	t.ExpiresAt = core.Micro(t.ExpiresAt)
	return t
}

// Validate returns everything that is wrong with a join token that has its
// defaults.
func (t JoinToken) Validate(now time.Time) error {
	var p core.Problems
	core.CheckName(&p, "name", t.Name)
	if t.Namespace != core.AnyNamespace {
		core.CheckName(&p, "namespace", t.Namespace)
	}
	task.CheckLabels(&p, t.Labels, task.MaxLabels)
	if t.Uses < 1 || t.Uses > job.MaxJoinUses {
		p.Addf("uses", t.Uses, "is outside 1 to %d", job.MaxJoinUses)
	}
	switch at := t.ExpiresAt.Format(time.RFC3339); {
	case !t.ExpiresAt.After(now):
		p.Add("expires_at", at, "has passed", "")
	case t.ExpiresAt.After(now.Add(job.MaxJoinLife)):
		p.Add("expires_at", at, "is more than 30 days away", "make a new one when machines are to join then")
	}
	return p.Err(fmt.Sprintf("join token %q", t.Name))
}

// State is how the token stands at an instant.
func (t JoinToken) State(now time.Time) TokenState {
	state := tokenState(t.RevokedAt, t.ExpiresAt, now)
	if state == TokenActive && t.Used >= t.Uses {
		return TokenUsedUp
	}
	return state
}

// Refusal is why the token cannot be used to join now, or nil.
func (t JoinToken) Refusal(now time.Time) error {
	const hint = "make another with: belfry token join create"
	switch t.State(now) {
	case TokenRevoked:
		return core.Errorf(core.Unauthorized, "join token %q was revoked", t.Name).WithHint(hint)
	case TokenExpired:
		return core.Errorf(core.Unauthorized, "join token %q expired at %s", t.Name, core.Stamp(t.ExpiresAt)).WithHint(hint)
	case TokenUsedUp:
		return core.Errorf(core.Unauthorized, "join token %q has been used %d times, as often as it may", t.Name, t.Used).WithHint(hint)
	}
	return nil
}

// For is the token that a machine gets.
func (t JoinToken) For(machine string) Token {
	return Token{Name: machine, Namespace: t.Namespace, Scopes: []Scope{ScopeWorker}, Labels: maps.Clone(t.Labels)}
}

// Label gives a worker the labels of the token that it uses, before its own.
func (t Token) Label(h task.Has) task.Has {
	if len(t.Labels) == 0 {
		return h
	}
	labels := maps.Clone(h.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, t.Labels)
	h.Labels = labels
	return h
}
