package core

// Secret is text that is never shown: it is written and not read.
type Secret string

// Redacted stands for a secret where one is shown. Saved again, it means the one that is there.
const Redacted Secret = "(kept secret)"

func (s Secret) String() string { return string(s.Redacted()) }

// Redacted is a placeholder for a secret, and empty for none.
func (s Secret) Redacted() Secret {
	if s == "" {
		return ""
	}
	return Redacted
}

// Kept is the old secret where the placeholder came back unchanged, or else the secret itself.
func (s Secret) Kept(old Secret) Secret {
	if s == Redacted {
		return old
	}
	return s
}
