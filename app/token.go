package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/httpapi"
)

// TokenPath is where the token of this machine's operator is kept: beside the
// SQLite file, or in the user's configuration folder.
func TokenPath(c config.Config) (string, error) {
	if c.TokenFile != "" {
		return c.TokenFile, nil
	}
	if path := c.SQLitePath(); path != "" {
		return filepath.Join(filepath.Dir(path), "belfry.token"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", belfry.Errorf(belfry.Invalid, "there is no configuration folder for the token: %w", err).
			WithHint("name a file with --token-file")
	}
	return filepath.Join(dir, "belfry", "token"), nil
}

// ReadToken reads the token file. A file that is not there is an empty token.
func ReadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", belfry.Errorf(belfry.Unauthorized, "the token file cannot be read: %w", err).
			WithHint("give --token-file or BELFRY_TOKEN")
	}
	return strings.TrimSpace(string(text)), nil
}

// WriteToken keeps a secret in a file that nobody else can read, whoever could
// read what was there before.
func WriteToken(path, secret string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the token file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".belfry-token-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write the token file: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone once it was renamed
	_, err = f.WriteString(secret + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the token file: %w", err)
	}
	return nil
}

// setTokenAside keeps a token that is in the way of a first one: it may be the
// only one of another database whose file lies beside this one's, or of one on
// PostgreSQL.
func setTokenAside(path string) (kept string, err error) {
	secret, err := ReadToken(path)
	if err != nil || secret == "" {
		return "", err
	}
	kept = path + ".before-" + time.Now().UTC().Format("20060102-150405")
	if err := os.Rename(path, kept); err != nil {
		return "", fmt.Errorf("keep the token that is there: %w", err)
	}
	return kept, nil
}

// firstToken makes an admin token when there is none yet. It is called on
// loopback only: elsewhere the operator makes one before the start.
func (a *App) firstToken(ctx context.Context, tokens httpapi.Tokens, usable bool) error {
	path, err := TokenPath(a.opt.Config)
	if err != nil {
		return err
	}
	if usable {
		return a.mindToken(path)
	}
	name := "first-start-" + time.Now().UTC().Format("20060102-150405")
	_, secret, err := tokens.CreateToken(ctx, belfry.Token{
		Name: name, Namespace: belfry.AnyNamespace, Scopes: []belfry.Scope{belfry.ScopeAdmin, belfry.ScopeWorker},
	})
	if err != nil {
		return fmt.Errorf("create the first token: %w", err)
	}
	before, err := setTokenAside(path)
	if err != nil {
		return err
	}
	if err := WriteToken(path, secret); err != nil {
		return err
	}
	a.tokenFile = path
	if before != "" {
		a.log.Warn("the token file held the token of another database, which is kept", "kept", before)
	}
	a.log.Info("created an admin token", "name", name, "file", path)
	return nil
}

// mindToken says what to do when there are tokens but no file with one.
func (a *App) mindToken(path string) error {
	secret, err := ReadToken(path)
	if err != nil {
		return err
	}
	if secret == "" {
		a.log.Warn("no token file: the command line needs --token or BELFRY_TOKEN", "file", path,
			"way_out", "stop this server, then: belfry token create NAME --scope admin --save")
		return nil
	}
	a.tokenFile = path
	return nil
}

// usableTokens reports whether anybody could use the API.
func usableTokens(ctx context.Context, tokens httpapi.Tokens) (bool, error) {
	list, err := tokens.Tokens(ctx)
	if err != nil {
		return false, fmt.Errorf("look for tokens: %w", err)
	}
	for _, t := range list {
		if t.State(time.Now()) == belfry.TokenActive {
			return true, nil
		}
	}
	return false, nil
}

// mayHaveTokens is false for a database that is not there yet.
func mayHaveTokens(c config.Config) bool {
	path := c.SQLitePath()
	if path == "" {
		return true
	}
	_, err := os.Stat(path)
	return err == nil
}

// mayListen refuses an address that others can reach while what they would
// send could be read on the way, or while nobody could have been given a
// token.
func mayListen(c config.Config, usable bool) error {
	if !c.Has(config.RoleAPI) || config.IsLoopback(c.Listen) {
		return nil
	}
	e := &belfry.Error{Code: belfry.Invalid, Message: "will not listen on " + c.Listen}
	if c.TLSCert == "" && !c.BehindProxy {
		e.Fields = append(e.Fields, belfry.FieldError{
			Field: "listen", Value: c.Listen, Message: "can be reached from other machines, and tokens would cross the network in the clear",
			Hint: "give --tls-cert and --tls-key; or --behind-proxy if a proxy in front ends TLS; or listen on 127.0.0.1",
		})
	}
	if !usable {
		e.Fields = append(e.Fields, belfry.FieldError{
			Field: "listen", Value: c.Listen, Message: "can be reached from other machines, and there is no token yet",
			Hint: "make one first: belfry token create NAME --scope admin --save --database " + config.Mask(c.Database),
		})
	}
	if len(e.Fields) > 0 {
		return e
	}
	return nil
}

// hosts is the names that requests may be addressed to. On loopback a web page
// could otherwise reach the API through a name that resolves to 127.0.0.1.
// Behind a proxy the names are the proxy's.
func hosts(c config.Config) []string {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || c.BehindProxy || !config.IsLoopback(c.Listen) {
		return nil
	}
	return []string{"localhost", "127.0.0.1", "::1", host}
}
