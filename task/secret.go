package task

import (
	"github.com/belfry-run/belfry/core"
)

// MapSecrets returns a copy of the task with every secret replaced by the result of f.
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

// Redacted returns the task for display, without its secrets.
func (t Task) Redacted() Task {
	return t.MapSecrets(func(_ string, s core.Secret) core.Secret { return s.Redacted() })
}

// KeepSecrets restores the secrets of old in a redacted task that is saved again.
// A task with another host gets none of them: otherwise a person who may edit the
// task could have its secrets sent to their own address.
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

// CheckSecrets returns an error if the task still has [core.Redacted] instead of a
// secret, for example because it was copied from a displayed task.
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

// sameGoal reports whether h has the same destination as old, and verifies the
// server at least as strictly.
func (h HTTP) sameGoal(old HTTP) bool {
	return core.HostOf(core.Secret(h.URL)) == core.HostOf(core.Secret(old.URL)) && h.Proxy == old.Proxy && h.ServerName == old.ServerName && h.CA == old.CA && (old.SkipVerify || !h.SkipVerify)
}
