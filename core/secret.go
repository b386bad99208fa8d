package core

// Secret is a text that can be set and is never shown.
type Secret string

// Redacted is the placeholder of a secret in displayed objects. Saved again, it means the existing secret.
const Redacted Secret = "(kept secret)"

func (s Secret) String() string { return string(s.Redacted()) }

// Redacted returns the placeholder for a secret, or "" for an empty one.
func (s Secret) Redacted() Secret {
	if s == "" {
		return ""
	}
	return Redacted
}

// Kept returns old if s is the placeholder, and otherwise s.
func (s Secret) Kept(old Secret) Secret {
	if s == Redacted {
		return old
	}
	return s
}
