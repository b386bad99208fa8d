package access

import "testing"

func TestAPersonIsNoTokenOfTheirName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, by, want string }{
		{"admin", "", "token:admin"},
		{"admin", "token:admin", "token:admin"},
		{"admin", "oidc:admin", "oidc:admin"},
		{"ci", "oidc:admin", "token:ci"},
		{"oidc:admin", "token:ops", "token:oidc:admin"},
	} {
		if got := (Token{Name: c.name, CreatedBy: c.by}).Actor(); got != c.want {
			t.Errorf("%+v acts as %s", c, got)
		}
	}
}
