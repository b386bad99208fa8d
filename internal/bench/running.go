//go:build linux

package bench

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Running is a program under way, Belfry or another, and what it uses.
type Running struct {
	*process
	URL, Token string // of a node
}

// Start starts a program. What it prints is read and thrown away. The kernel kills it when this program ends.
func Start(cmd *exec.Cmd) (*Running, error) {
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
	return &Running{process: p}, nil
}

// Serve starts the built program on this database, with the defaults but for args, and waits until it is ready.
func (s *Site) Serve(program string, args ...string) (*Running, error) {
	node, err := s.serve(program, args...)
	if err != nil {
		return nil, err
	}
	return &Running{node.process, node.url, node.token}, nil
}

// CPU is what it and its children have used so far.
func (r *Running) CPU() (time.Duration, error) { return treeCPU(r.cmd.Process.Pid) }

// Memory is how much of it lies in RAM, in bytes.
func (r *Running) Memory() (int64, error) { return residentBytes(r.cmd.Process.Pid) }

// Stop asks it to end and waits until it has, for a while; then it is killed.
func (r *Running) Stop() error { return r.stop() }

// Trouble adds what it said last to an error about it.
func (r *Running) Trouble(err error) error { return r.trouble(err) }

// Ended is closed when it has ended.
func (r *Running) Ended() <-chan struct{} { return r.done }

// Machine says what this runs on.
func Machine() string {
	facts := append([]string{fmt.Sprintf("%d CPUs", runtime.NumCPU())}, machine()...)
	return strings.Join(append(facts, runtime.Version()), ", ")
}
