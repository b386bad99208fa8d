package belfry

// Secret is text that is never shown: it is written and not read.
type Secret string

// Redacted stands for a secret where one is shown. Saved again, it means the
// one that is there.
const Redacted Secret = "(kept secret)"

func (s Secret) String() string { return string(s.redacted()) }

func (s Secret) redacted() Secret {
	if s == "" {
		return ""
	}
	return Redacted
}

// MapSecrets is a copy of the task with every secret replaced by what f answers.
func (t Task) MapSecrets(f func(path string, s Secret) Secret) Task {
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

// MapSecrets is a copy of the monitor with every secret replaced by what f answers.
func (m Monitor) MapSecrets(f func(path string, s Secret) Secret) Monitor {
	m.Check = m.Check.MapSecrets(func(path string, s Secret) Secret { return f("check."+path, s) })
	return m
}

// Redacted is the task as it is shown: without its secrets.
func (t Task) Redacted() Task {
	return t.MapSecrets(func(_ string, s Secret) Secret { return s.redacted() })
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
	a.Password, a.Bearer, a.Key = a.Password.kept(old.HTTP.Auth.Password), a.Bearer.kept(old.HTTP.Auth.Bearer), a.Key.kept(old.HTTP.Auth.Key)
	h.Auth = &a
	t.HTTP = &h
	return t
}

// CheckSecrets refuses a task that has [Redacted] for a secret: what was shown
// of another one does not hold it.
func (t Task) CheckSecrets() error {
	if t.HTTP == nil || t.HTTP.Auth == nil {
		return nil
	}
	var p problems
	for field, s := range map[string]Secret{"http.auth.password": t.HTTP.Auth.Password, "http.auth.bearer": t.HTTP.Auth.Bearer, "http.auth.key": t.HTTP.Auth.Key} {
		if s == Redacted {
			p.add(field, string(s), "stands for a secret that is kept, and none is", "write the secret itself; one is kept only while the request goes to the same place")
		}
	}
	return p.err("secrets")
}

// sameGoal reports that a request goes to whom the other one went, and that who
// answers proves it at least as well.
func (h HTTP) sameGoal(old HTTP) bool {
	return hostOf(Secret(h.URL)) == hostOf(Secret(old.URL)) && h.Proxy == old.Proxy && h.ServerName == old.ServerName && h.CA == old.CA && (old.SkipVerify || !h.SkipVerify)
}

func (s Secret) kept(old Secret) Secret {
	if s == Redacted {
		return old
	}
	return s
}
