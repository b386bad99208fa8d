package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
)

// TokenPath returns the file with the token of this machine's operator: belfry.token beside the SQLite file, or a file in the
// user's configuration folder. A second SQLite file in a folder has a token file named after it.
func TokenPath(c config.Config) (string, error) {
	if c.TokenFile != "" {
		return c.TokenFile, nil
	}
	if path := c.SQLitePath(); path != "" {
		if own := namedToken(path); exists(own) {
			return own, nil
		}
		return filepath.Join(filepath.Dir(path), "belfry.token"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", core.Errorf(core.Invalid, "there is no configuration folder for the token: %w", err).
			WithHint("name a file with --token-file")
	}
	return filepath.Join(dir, "belfry", "token"), nil
}

// namedToken returns the token file that is named after an SQLite file.
func namedToken(database string) string {
	return strings.TrimSuffix(database, filepath.Ext(database)) + ".token"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadToken reads the token file. A missing file is an empty token.
func ReadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", core.Errorf(core.Unauthorized, "the token file cannot be read: %w", err).
			WithHint("give --token-file or BELFRY_TOKEN")
	}
	return strings.TrimSpace(string(text)), nil
}

// WriteToken writes a secret to a file that only its owner can read, also if the old file had another mode.
func WriteToken(path, secret string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the token file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".belfry-token-*") // has mode 0600
	if err != nil {
		return fmt.Errorf("write the token file: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // fails after the rename
	_, err = f.WriteString(secret + "\n")
	if err == nil { // a power cut could leave an empty file, and the database has only a hash of the token
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the token file: %w", err)
	}
	return nil
}

// freePath returns the file for a first token. An existing token file may hold the only token of another database, so it is not
// replaced: the new token goes to a file named after the database, and other is true. If that file exists, it belongs to an
// earlier database of this name and is renamed to kept.
func freePath(c config.Config, path string) (free, kept string, other bool, err error) {
	secret, err := ReadToken(path)
	if err != nil || secret == "" {
		return path, "", false, err
	}
	now := time.Now().UTC().Format("20060102-150405")
	database := c.SQLitePath()
	switch {
	case c.TokenFile != "" || database == "":
		return path + "." + now, "", true, nil
	case path != namedToken(database):
		return namedToken(database), "", true, nil
	}
	kept = path + ".before-" + now
	return path, kept, false, os.Rename(path, kept)
}

// initialTokens creates the configured tokens that the database does not have yet.
func (a *App) initialTokens(ctx context.Context) error {
	if a.opt.InitialTokens == "" {
		return nil
	}
	given, err := config.ReadTokens(a.opt.InitialTokens)
	if err != nil {
		return err
	}
	for _, g := range given {
		t, created, err := a.store.EnsureToken(access.WithActor(ctx, "initial_tokens"), g.Token(), string(g.Secret))
		if err != nil {
			return fmt.Errorf("create initial token %q: %w", g.Name, err)
		}
		switch err := t.Refusal(a.clock.Now()); {
		case created:
			a.log.Info("created an initial token", "name", t.Name, "namespace", t.Namespace)
		case err != nil:
			a.log.Warn("initial token cannot be used", "name", t.Name, "reason", err)
		}
	}
	return nil
}

// firstToken creates an admin token if there is none yet. It is called on
// loopback only: elsewhere the operator configures or creates one before the start.
func (a *App) firstToken(ctx context.Context, usable bool) error {
	path, err := TokenPath(a.opt.Config)
	if err != nil {
		return err
	}
	if usable {
		return a.mindToken(path)
	}
	const name = "admin"
	_, secret, err := a.store.IssueToken(ctx, access.Token{
		Name: name, Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeAdmin, access.ScopeWorker},
	})
	if err != nil {
		return fmt.Errorf("create the first token: %w", err)
	}
	free, kept, other, err := freePath(a.opt.Config, path)
	if err != nil {
		return fmt.Errorf("keep the token that is there: %w", err)
	}
	if err := WriteToken(free, secret); err != nil {
		return err
	}
	a.tokenFile, a.madeToken = free, true
	switch {
	case other:
		a.log.Warn("the token file holds the token of another database, and stays as it is", "token_file", path,
			"way_out", "give --token-file "+free+" to the commands for this node")
	case kept != "":
		a.log.Warn("token file held the token of an earlier database, which is kept", "kept", kept)
	}
	a.log.Info("created an admin token", "name", name, "file", free)
	return nil
}

// mindToken logs what to do if the database has tokens but no token file exists.
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

// usableTokens reports whether any token gives access to the API.
func usableTokens(ctx context.Context, tokens httpapi.Tokens, now time.Time) (bool, error) {
	list, err := tokens.Tokens(ctx)
	if err != nil {
		return false, fmt.Errorf("look for tokens: %w", err)
	}
	for _, t := range list {
		if t.State(now) == access.TokenActive {
			return true, nil
		}
	}
	return false, nil
}

// mayHaveTokens is false if the database does not exist yet and no token is configured.
func mayHaveTokens(c config.Config) bool {
	path := c.SQLitePath()
	if path == "" || c.InitialTokens != "" {
		return true
	}
	_, err := os.Stat(path)
	return err == nil
}

// mayListen refuses an address that other machines can reach if the connection
// would be unencrypted, or if no caller could have a token.
func mayListen(c config.Config, usable bool) error {
	if !c.Has(config.RoleAPI) || config.IsLoopback(c.Listen) {
		return nil
	}
	e := &core.Error{Code: core.Invalid, Message: "will not listen on " + c.Listen}
	if c.TLSCert == "" && !c.BehindProxy {
		e.Fields = append(e.Fields, core.FieldError{
			Field: "listen", Value: c.Listen, Message: "can be reached from other machines, and tokens would cross the network in the clear",
			Hint: "give --tls-cert and --tls-key; or --behind-proxy if a proxy in front ends TLS; or listen on 127.0.0.1",
		})
	}
	if !usable {
		e.Fields = append(e.Fields, core.FieldError{
			Field: "listen", Value: c.Listen, Message: "can be reached from other machines, and there is no token yet",
			Hint: "make one first: belfry token create NAME --scope admin --save --database " + config.Mask(c.Database) + "; or bring one with initial_tokens",
		})
	}
	if len(e.Fields) > 0 {
		return e
	}
	return nil
}

// hosts returns the allowed host names of requests on loopback, or nil for any.
// Without them, a web page could reach the API through a name that resolves to
// 127.0.0.1. Behind a proxy the names are those of the proxy. The name in the
// public URL is the node's own.
func hosts(c config.Config) []string {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || c.BehindProxy || !config.IsLoopback(c.Listen) {
		return nil
	}
	names := []string{"localhost", "127.0.0.1", "::1", host}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		names = append(names, u.Hostname())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
