package cli

import (
	"io"
	"os"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// maxSecret limits a secret, in bytes. The longest secrets are PEM files.
const maxSecret = 64 << 10

// SecretHelp ends the help of a flag that takes a secret.
const SecretHelp = setting.SecretUsage

// Secret reads the value of a flag that takes a secret. Written out, a secret
// appears in the process list and in the shell's history; so a file or stdin may
// be given instead.
func (c *CLI) Secret(flag, text string) (core.Secret, error) {
	var raw []byte
	var err error
	path, isFile := strings.CutPrefix(text, "@")
	switch {
	case text == "-" && c.stdinTaken:
		return "", core.InvalidField(flag, "-", "cannot read what another flag has read", "only one secret can come from standard input; give the other as @FILE")
	case text == "-":
		c.stdinTaken = true
		raw, err = io.ReadAll(io.LimitReader(c.Stdin, maxSecret+1))
	case isFile:
		raw, err = readSecret(path)
	default:
		return core.Secret(text), nil
	}
	return secretIn(flag, text, raw, err)
}

// SecretFile reads the file that a flag names.
func SecretFile(flag, path string) (core.Secret, error) {
	raw, err := readSecret(path)
	return secretIn(flag, path, raw, err)
}

// secretIn returns the secret that was read from a place, which the flag names.
func secretIn(flag, place string, raw []byte, err error) (core.Secret, error) {
	if err != nil {
		return "", core.InvalidField(flag, place, err.Error(), "@FILE names a file that holds nothing but the secret")
	}
	found := strings.TrimRight(string(raw), "\r\n")
	if found == "" || len(raw) > maxSecret {
		return "", core.InvalidField(flag, place, "leads to no secret of 1 to 65536 bytes", "")
	}
	return core.Secret(found), nil
}

func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, maxSecret+1))
}

// SetSecret stores a secret in to, if its flag was given.
func (c *CLI) SetSecret(given func(string) bool, name, text string, to *core.Secret) error {
	if !given(name) {
		return nil
	}
	s, err := c.Secret("--"+name, text)
	if err == nil {
		*to = s
	}
	return err
}
