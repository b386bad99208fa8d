//go:build linux

// Package node runs Belfry for measurements: embedded in this process, as a process of this program, or as the built program.
package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/process"
)

// Node is belfry serve.
type Node struct {
	*process.Process
	URL, Token string
}

var listening = regexp.MustCompile(`http://[0-9.:]+`)

// Serve starts the built program on this database, with default settings apart from args, and waits until it is ready.
func Serve(s *database.Site, belfry string, args ...string) (*Node, error) {
	token := filepath.Join(s.Folder, "token")
	cmd := exec.Command(belfry, append([]string{"serve", "--database", s.URL, "--listen", "127.0.0.1:0", "--token-file", token}, args...)...)
	cmd.Dir = s.Folder
	// No measurement runs programs on a node. The test of its sandbox would
	// delay every start.
	cmd.Env = append(os.Environ(), "BELFRY_REFUSE_PROGRAMS=true")
	p, err := process.Launch(cmd)
	if err != nil {
		return nil, err
	}
	b := &Node{Process: p}
	for b.URL == "" {
		line, err := p.Stdout.ReadString('\n')
		if err != nil {
			p.Kill()
			return nil, p.Trouble(fmt.Errorf("belfry serve did not get ready: %w", err))
		}
		b.URL = listening.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, p.Stdout) }()
	secret, err := os.ReadFile(token)
	b.Token = strings.TrimSpace(string(secret))
	if err != nil {
		p.Kill()
	}
	return b, err
}

// Metric reads one number of /metrics.
func (b *Node) Metric(ctx context.Context, name string) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+b.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, fmt.Errorf("no %s in /metrics (%s)", name, answer.Status)
}
