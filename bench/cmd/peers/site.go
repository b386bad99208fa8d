//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/belfry-run/belfry/internal/pgtest"
)

// site has the folder and servers of contenders. A server starts when the first
// contender needs it.
type site struct {
	home       string // of module bench
	dir        string
	postgreSQL pgtest.Options
	pg         *pgServer
	redises    map[bool]*redisServer // by durability
	child      string                // the program of module riversqlite
}

func newSite() (*site, error) {
	home, err := findHome()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "belfry-peers-")
	if err != nil {
		return nil, err
	}
	return &site{home: home, dir: dir, postgreSQL: durable, redises: map[bool]*redisServer{}}, nil
}

// findHome looks for module bench upwards from the working folder.
func findHome() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "graphile", "main.mjs")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("this is not module bench: run it as: cd bench && go run ./cmd/peers")
		}
		dir = up
	}
}

// Close stops the servers and removes their files.
func (s *site) Close() error {
	var errs []error
	for _, r := range s.redises {
		errs = append(errs, r.close())
	}
	if s.pg != nil {
		errs = append(errs, s.pg.close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// howToGet ends every error about a missing tool.
const howToGet = `

	bench/setup.sh      installs what is missing: PostgreSQL, Redis, Node.js, npm packages

or leave those contenders out, which the document then says: -without redis,graphile,river-sqlite`

// missing returns the error of a missing tool.
func missing(what string) error { return fmt.Errorf("%s%s", what, howToGet) }

// check looks for the tools of all contenders before the first turn.
func (s *site) check(ctx context.Context, list []contender) error {
	needs := map[string]bool{}
	for _, c := range list {
		needs[c.needs] = true
		needs["postgres"] = needs["postgres"] || c.class == servers && c.needs != "redis"
	}
	var errs []error
	if needs["postgres"] {
		_, err := s.postgres(ctx)
		errs = append(errs, err)
	}
	if needs["redis"] {
		_, err := redisProgram()
		errs = append(errs, err)
	}
	if needs["graphile"] {
		_, _, err := s.graphile()
		errs = append(errs, err)
	}
	if needs["river-sqlite"] {
		_, err := s.riverSQLite()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// graphile returns the Node.js that setup.sh installed beside graphile-worker, and
// the program to run.
func (s *site) graphile() (node, script string, err error) {
	home := filepath.Join(s.home, "graphile")
	cpu := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if cpu == "" {
		cpu = runtime.GOARCH
	}
	node = filepath.Join(home, "node_modules", "node-linux-"+cpu, "bin", "node")
	for _, file := range []string{node, filepath.Join(home, "node_modules", "graphile-worker", "package.json")} {
		if _, err := os.Stat(file); err != nil {
			return "", "", missing("graphile-worker is not installed: " + err.Error())
		}
	}
	return node, filepath.Join(home, "main.mjs"), nil
}

// riverSQLite builds River's SQLite contender, once.
func (s *site) riverSQLite() (string, error) {
	if s.child != "" {
		return s.child, nil
	}
	program := filepath.Join(s.dir, "riversqlite")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join(s.home, "riversqlite")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build River's SQLite contender, which needs Go and its modules: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	s.child = program
	return program, nil
}
