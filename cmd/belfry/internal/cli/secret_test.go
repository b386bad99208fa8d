package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestSecretsComeFromFilesAndStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("from a file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(strings.NewReader("from a pipe\n"), io.Discard, io.Discard, nil)
	for _, tc := range []struct{ text, want string }{
		{"plain", "plain"}, {"@" + path, "from a file"}, {"-", "from a pipe"}, {"-", ""}, {"@" + empty, ""}, {"@" + path + "x", ""}, {"", ""},
	} {
		got, err := c.Secret("--secret", tc.text)
		if string(got) != tc.want || (err == nil) != (tc.want != "" || tc.text == "") {
			t.Errorf("%q: got %q, %v", tc.text, string(got), err)
		}
		if err != nil && !strings.Contains(err.Error(), "--secret") {
			t.Errorf("%q: %v does not name the flag", tc.text, err)
		}
	}
	long := New(strings.NewReader(strings.Repeat("x", maxSecret+1)), io.Discard, io.Discard, nil)
	if _, err := long.Secret("--secret", "-"); core.CodeOf(err) != core.Invalid {
		t.Errorf("too long: %v", err)
	}
}
