package workers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
)

// joinedPath returns the file of the token that this machine got from a server by
// joining. The token is sent to no other server.
func joinedPath(l *config.Loaded) (string, error) {
	dir, err := l.StateFolder(false)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(l.ServerURL()))
	return filepath.Join(dir, "joined-"+hex.EncodeToString(sum[:8])+".token"), nil
}

// workerToken returns the token of a worker: the configured one, the one that this
// machine got when it joined, or a new one in exchange for the join token.
func workerToken(ctx context.Context, c *cli.CLI, l *config.Loaded, join string) (string, error) {
	from := "--join"
	if join == "" {
		join, from = c.Env["BELFRY_JOIN"], "BELFRY_JOIN"
	}
	if l.Token != "" || l.Given("token_file") {
		if join != "" { // the worker would have the rights of that token, and not those that the join token gives
			key := "token_file"
			if l.Token != "" {
				key = "token"
			}
			return "", core.InvalidField(from, "", "cannot stand beside "+key+", which comes from "+l.Source(key), "leave one of them out")
		}
		return c.ClientToken(l)
	}
	path, err := joinedPath(l)
	if err != nil {
		if join == "" {
			return c.ClientToken(l)
		}
		return "", err
	}
	if kept, err := app.ReadToken(path); kept != "" || err != nil {
		return kept, err
	}
	if join == "" {
		return c.ClientToken(l)
	}
	secret, err := c.Secret(from, join)
	if err != nil {
		return "", err
	}
	client, err := client.New(l.ServerURL(), "", workerClient(c, l))
	if err != nil {
		return "", err
	}
	// The folder is created first, because the token is shown only once. Its mode lets programs traverse it.
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return "", core.InvalidField("state_dir", filepath.Dir(path), "cannot be made: "+err.Error(), "")
	}
	t, own, err := client.Join(ctx, strings.TrimSpace(string(secret)), l.NodeName())
	if err != nil {
		return "", err
	}
	if err := app.WriteToken(path, own); err != nil {
		return "", err
	}
	c.Logger(l.Config).Info("joined", "server", l.ServerURL(), "token", t.Name, "namespace", t.Namespace, "file", path)
	return own, nil
}
