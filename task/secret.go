package task

import (
	"github.com/belfry-run/belfry/core"
)

// MapSecrets is a copy of the task with every secret replaced by what f answers.
func (t Task) MapSecrets(f func(path string, s core.Secret) core.Secret) Task {
	if t.HTTP == nil || t.HTTP.Auth == nil {
		return t
	}
	h := *t.HTTP
	a := *h.Auth
	a.Password, a.Bearer, a.Key = f("http.auth.password", a.Password), f("http.auth.bearer", a.Bearer), f("http.auth.key", a.Key)
	h.Auth = &a
	t.HTTP = &h
	return t
}

// Redacted is the task as it is shown: without its secrets.
func (t Task) Redacted() Task {
	return t.MapSecrets(func(_ string, s core.Secret) core.Secret { return s.Redacted() })
}

// KeepSecrets puts back the secrets of old where a task that was shown is
// saved again. One that asks another host gets none: who may edit a task would
// else have its secrets sent to a place of their own.
func (t Task) KeepSecrets(old Task) Task {
	if t.HTTP == nil || t.HTTP.Auth == nil || old.HTTP == nil || old.HTTP.Auth == nil || !t.HTTP.sameGoal(*old.HTTP) {
		return t
	}
	h := *t.HTTP
	a := *h.Auth
	a.Password, a.Bearer, a.Key = a.Password.Kept(old.HTTP.Auth.Password), a.Bearer.Kept(old.HTTP.Auth.Bearer), a.Key.Kept(old.HTTP.Auth.Key)
	h.Auth = &a
	t.HTTP = &h
	return t
}

// CheckSecrets refuses a task that has [core.Redacted] for a secret: what was shown
// of another one does not hold it.
func (t Task) CheckSecrets() error {
	if t.HTTP == nil || t.HTTP.Auth == nil {
		return nil
	}
	var p core.Problems
	for field, s := range map[string]core.Secret{"http.auth.password": t.HTTP.Auth.Password, "http.auth.bearer": t.HTTP.Auth.Bearer, "http.auth.key": t.HTTP.Auth.Key} {
		if s == core.Redacted {
			p.Add(field, string(s), "stands for a secret that is kept, and none is", "write the secret itself; one is kept only while the request goes to the same place")
		}
	}
	return p.Err("secrets")
}

// sameGoal reports that a request goes to whom the other one went, and that who
// answers proves it at least as well.
func (h HTTP) sameGoal(old HTTP) bool {
	return core.HostOf(core.Secret(h.URL)) == core.HostOf(core.Secret(old.URL)) && h.Proxy == old.Proxy && h.ServerName == old.ServerName && h.CA == old.CA && (old.SkipVerify || !h.SkipVerify)
}
