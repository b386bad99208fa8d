package program

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func masked(secrets map[string]string, parts ...string) string {
	var out bytes.Buffer
	m := masker{to: &out, values: secretValues(secrets)}
	for _, p := range parts {
		_, _ = m.Write([]byte(p))
	}
	m.flush()
	return out.String()
}

func TestSecretsAreMaskedWhereverTheyAreSplit(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"A": "hunter22", "LONGER": "hunter22-and-more", "B": "abab", "SHORT": "1",
		"KEY": "-----BEGIN-----\nMIIEpAIBAAKC\nab\n-----END-----\n",
	}
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"nothing 1 here", "nothing 1 here"},
		{"hunter22", "***"},
		{"hunter2", "hunter2"},
		{"hunter22-and-more.", "***."},
		{"hunter22-and-mor", "***-and-mor"},
		{"ababab", "***ab"},
		{"xabababab", "x******"},
		{"a MIIEpAIBAAKC b", "a *** b"},
		{"-----BEGIN-----\nMIIEpAIBAAKC\nab\n-----END-----\nrest", "***rest"},
	} {
		if got := masked(secrets, c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		for i := range c.in {
			if got := masked(secrets, c.in[:i], c.in[i:]); got != c.want {
				t.Errorf("%q split at %d: %q, want %q", c.in, i, got, c.want)
			}
		}
		if got := masked(secrets, strings.Split(c.in, "")...); got != c.want {
			t.Errorf("%q byte by byte: %q, want %q", c.in, got, c.want)
		}
	}
}

// However a text is cut into writes, the same comes out, and no secret.
func TestMaskingDoesNotDependOnTheWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{4,7}`)
		secrets := map[string]string{"X": word.Draw(t, "x"), "Y": word.Draw(t, "y")}
		text := rapid.StringMatching(`[abc]{0,60}`).Draw(t, "text")
		whole := masked(secrets, text)
		var parts []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := masked(secrets, parts...); got != whole {
			t.Fatalf("%q in %q: %q, whole %q", secrets, parts, got, whole)
		}
		for _, s := range secrets {
			if strings.Contains(whole, s) {
				t.Fatalf("%q is in %q", s, whole)
			}
		}
	})
}
