package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// Conn is the connection of a verb: to a server, or to the database directly.
// Verbs work the same with both.
type Conn struct {
	httpapi.Service
	NS       string         // namespace; * for all
	Blobs    *app.Artifacts // store of artifacts, if there is no server that serves links
	Transfer time.Duration  // minimum time limit to transfer a file; default: a minute
	Direct   bool           // connected to the database, without a node that runs jobs
	Where    string         // URL of the server, or the database
	CAFile   string         // PEM file of authorities to trust in addition to the system's
	Now      time.Time      // start of the verb
}

// Verb returns the RunE of a command that needs a connection.
func (c *CLI) Verb(fn func(ctx context.Context, s *Conn, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := c.CheckOutput(); err != nil {
			return err
		}
		ctx := cmd.Context()
		s, closeConn, err := c.connect(ctx, cmd)
		if err != nil {
			return err
		}
		if s.Direct {
			ctx = access.WithActor(ctx, LocalActor())
		}
		err = fn(ctx, s, cmd, args)
		nameRepeat(cmd, err)
		return errors.Join(err, closeConn())
	}
}

// nameRepeat names the flag that makes a command repeatable in the hint of an error whose outcome is unknown, if the command has it.
func nameRepeat(cmd *cobra.Command, err error) {
	var e *core.Error
	if !errors.As(err, &e) || e.Code != core.Unknown {
		return
	}
	for flag, clause := range map[string]string{"key": wire.RepeatWithKey, "id": wire.RepeatWithID} {
		with := ""
		if cmd.Flags().Lookup(flag) != nil {
			with = "; with --" + flag + " it can be repeated"
		}
		e.Hint = strings.Replace(e.Hint, clause, with, 1)
	}
}

// Local returns the RunE of a command that needs the configuration, but no
// server.
func (c *CLI) Local(fn func(cmd *cobra.Command, l *config.Loaded) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := c.CheckOutput(); err != nil {
			return err
		}
		l, err := c.config(cmd)
		if err != nil {
			return err
		}
		return fn(cmd, l)
	}
}

// connect finds the server or database. The command line has precedence, then a
// running server, then an existing database file.
func (c *CLI) connect(ctx context.Context, cmd *cobra.Command) (*Conn, func() error, error) {
	l, err := c.config(cmd)
	if err != nil {
		return nil, nil, err
	}
	byFlag := func(key string) bool { return strings.HasPrefix(l.Source(key), "flag") }
	switch {
	case byFlag("database") && !byFlag("server"):
		return c.open(ctx, l)
	case l.Given("server") || answers(ctx, l.ServerURL()):
		return c.dial(l)
	case l.SQLitePath() == "" || l.Given("database") || exists(l.SQLitePath()):
		return c.open(ctx, l)
	}
	return nil, nil, core.Errorf(core.Unavailable, "no server answers at %s, and there is no %s here", l.ServerURL(), l.SQLitePath()).
		WithHint("start one with: belfry serve; or name another with --server or --database")
}

func (c *CLI) dial(l *config.Loaded) (*Conn, func() error, error) {
	token, err := c.ClientToken(l)
	if err != nil {
		return nil, nil, err
	}
	client, err := client.New(l.ServerURL(), token, client.Options{CAFile: l.CAFile})
	if err != nil {
		return nil, nil, err
	}
	c.Logger(l.Config).Debug("talking to the server", "server", l.ServerURL())
	s := &Conn{Service: client, NS: l.Namespace, Where: l.ServerURL(), CAFile: l.CAFile, Now: time.Now()}
	return s, func() error { return nil }, nil
}

func (c *CLI) open(ctx context.Context, l *config.Loaded) (*Conn, func() error, error) {
	log := c.Logger(l.Config)
	path := l.SQLitePath()
	made := path != "" && !exists(path)
	artifacts := app.NewArtifacts(l.Config, log, nil)
	st, err := app.OpenStore(ctx, l.Config, artifacts, log, nil)
	if err != nil {
		return nil, nil, err
	}
	if made { // a mistyped name would pass for an empty installation
		fmt.Fprintf(c.Stderr, "note: created the database %s\n", path)
	}
	log.Debug("no server: opened the database itself", "database", config.Mask(l.Database))
	s := &Conn{Service: st, Blobs: artifacts, NS: l.Namespace, Direct: true, Where: config.Mask(l.Database), Now: time.Now()}
	return s, func() error { return errors.Join(st.Close(), artifacts.Close()) }, nil
}

// ClientToken returns the token for the server. The token of the first start on
// this machine is never sent to another machine.
func (c *CLI) ClientToken(l *config.Loaded) (string, error) {
	if l.Token != "" {
		return l.Token, nil
	}
	if !l.Given("token_file") && !IsLocal(l.ServerURL()) {
		return "", core.Errorf(core.Unauthorized, "there is no token for %s", l.ServerURL()).
			WithHint("give --token-file FILE, or set BELFRY_TOKEN")
	}
	path, err := app.TokenPath(l.Config)
	if err != nil {
		return "", err
	}
	token, err := app.ReadToken(path)
	if err != nil {
		return "", err
	}
	if token == "" && l.Given("token_file") {
		return "", core.InvalidField("token_file", path, "does not exist or is empty", "give the file that holds the token")
	}
	if !l.Given("token_file") {
		c.tokenFile = path
		if user := userToken(); token == "" && user != "" {
			if token, err = app.ReadToken(user); err != nil {
				return "", err
			}
			c.tokenFile = user
		}
	}
	if token == "" {
		c.tokenFile = ""
		e := core.Errorf(core.Unauthorized, "there is no token for %s: no %s here", l.ServerURL(), path).
			WithHint("run this in the folder where belfry serve was started, or give --token-file or BELFRY_TOKEN")
		if file := l.SQLitePath(); file != "" && exists(file) {
			e.Hint += "; or, if that server is not the one of this folder, --database " + l.Database
		}
		return "", e
	}
	return token, nil
}

// userToken returns the token file in the user's configuration folder, for a
// node that has no other file; "" if there is no such folder.
func userToken() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "belfry", "token")
}

// nameToken adds the file of a refused token to an error, unless the user named
// the file: the token may belong to another server.
func (c *CLI) nameToken(err error) error {
	var e *core.Error
	if c.tokenFile == "" || !errors.As(err, &e) || e.Code != core.Unauthorized {
		return err
	}
	hint := "the token of the server that answers, with --token-file or BELFRY_TOKEN: this one is from " + c.tokenFile
	if other := userToken(); other != c.tokenFile && exists(other) {
		hint += ", and there is one in " + other
	}
	return e.WithHint("%s", hint)
}

// IsLocal reports whether a server's URL points to this machine.
func IsLocal(server string) bool {
	u, err := url.Parse(server)
	return err == nil && (config.IsLoopback(u.Hostname()) || config.IsLoopback(u.Host))
}

// answers reports whether a server listens at the address.
func answers(ctx context.Context, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	}
	d := net.Dialer{Timeout: 2 * time.Second}
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = nc.Close()
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// LocalActor returns the actor of direct changes to the database, for the audit.
func LocalActor() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "local:" + u.Username
	}
	return fmt.Sprintf("local:%d", os.Getuid())
}

// OneNamespace returns the namespace; * is an error.
func (s *Conn) OneNamespace() (string, error) {
	if s.NS == core.AnyNamespace {
		return "", core.InvalidField("--namespace", "*", "names no single owner", "give the namespace itself")
	}
	return s.NS, nil
}

// AllPages reads pages until it has limit items. 0 means all items.
func AllPages[T any](limit int, page func(core.Paging) (core.Page[T], error)) (core.Page[T], error) {
	all := core.Page[T]{Items: []T{}}
	if err := NotNegative("--limit", limit, "0 shows all"); err != nil {
		return all, err
	}
	for {
		want := 1000
		if limit > 0 {
			want = min(limit-len(all.Items), 1000)
		}
		p, err := page(core.Paging{Limit: want, Cursor: all.Next})
		if err != nil {
			return all, err
		}
		all.Items, all.Next = append(all.Items, p.Items...), p.Next
		if p.Next == "" || limit > 0 && len(all.Items) >= limit {
			return all, nil
		}
	}
}

// LimitFlag adds --limit.
func LimitFlag(cmd *cobra.Command) *int {
	return cmd.Flags().Int("limit", 50, "show at most so many; 0: all")
}

// More notes on stderr that a list was cut.
func (c *CLI) More(next string, shown int) {
	if next != "" && c.Output == "table" {
		fmt.Fprintf(c.Stderr, "the first %d are shown; more with --limit 0\n", shown)
	}
}

// Label returns a name, with its namespace if several are shown.
func (s *Conn) Label(namespace, name string) string {
	if s.NS == core.AnyNamespace {
		return namespace + "/" + name
	}
	return name
}

// Address returns the address of a path of the node for people and programs. Its host comes from the configuration, because
// it may differ from the one that this command uses.
func (c *CLI) Address(s *Conn, path string) string {
	base := s.Where
	if s.Direct {
		base = c.Loaded.ServerURL()
	}
	if c.Loaded.PublicURL != "" {
		base = c.Loaded.PublicURL
	}
	return strings.TrimRight(base, "/") + path
}
