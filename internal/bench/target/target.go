//go:build linux

// Package target is a server for monitors to check. It measures how evenly requests come.
package target

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/internal/bench/process"
)

// targetEnv makes this program run as a target, and has the number of its hosts.
const targetEnv = "BELFRY_BENCH_TARGET"

// Target is an HTTP server for monitors, in a process of its own, so that its CPU does not count. It answers on one
// loopback address for each host, and records the time of each request.
type Target struct {
	*process.Process
	stdin io.Closer
	hosts int
	port  string
}

// Arrival is the record of a request.
type Arrival struct{ Monitor, Nanos int64 }

// At returns the time of the request.
func (a Arrival) At() time.Time { return time.Unix(0, a.Nanos) }

// Start starts a target. The program must call [Child] first in main.
func Start(hosts int) (*Target, error) {
	if hosts < 1 || hosts > 250 {
		return nil, fmt.Errorf("a target has 1 to 250 hosts, not %d", hosts)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), targetEnv+"="+strconv.Itoa(hosts))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p, err := process.Launch(cmd)
	if err != nil {
		return nil, err
	}
	line, err := p.Stdout.ReadString('\n')
	if err != nil {
		p.Kill()
		return nil, p.Trouble(fmt.Errorf("the target did not get ready: %w", err))
	}
	return &Target{p, stdin, hosts, strings.TrimSpace(line)}, nil
}

// URL returns the address for monitor i.
func (t *Target) URL(i int) string { return t.at(i%t.hosts, strconv.Itoa(i)) }

func (t *Target) at(host int, path string) string {
	return fmt.Sprintf("http://127.0.0.%d:%s/%s", 1+host, t.port, path)
}

// Seen returns the requests since the last call, in order of time.
func (t *Target) Seen(ctx context.Context) ([]Arrival, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.at(0, "seen"), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, t.Trouble(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	all := make([]Arrival, len(raw)/binary.Size(Arrival{}))
	return all, binary.Read(bytes.NewReader(raw), binary.LittleEndian, all)
}

// Close ends the target.
func (t *Target) Close() error {
	err := t.stdin.Close()
	<-t.Done
	return err
}

// witness is the server inside the target's process.
type witness struct {
	mu  sync.Mutex
	all []Arrival
}

func (w *witness) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	now := time.Now()
	path := strings.TrimPrefix(r.URL.Path, "/")
	if path == "seen" {
		w.mu.Lock()
		all := w.all
		w.all = nil
		w.mu.Unlock()
		_ = binary.Write(to, binary.LittleEndian, all) // the client notices a failure
		return
	}
	monitor, err := strconv.ParseInt(path, 10, 64)
	if err != nil {
		http.NotFound(to, r)
		return
	}
	w.mu.Lock()
	w.all = append(w.all, Arrival{monitor, now.UnixNano()})
	w.mu.Unlock()
	_, _ = io.WriteString(to, "all is well\n") // the client notices a failure
}

// Child runs the target and never returns, if this process was started as a target. Call it first in main and in TestMain.
func Child() {
	text := os.Getenv(targetEnv)
	if text == "" {
		return
	}
	hosts, err := strconv.Atoi(text)
	if err == nil {
		err = run(hosts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run serves until standard input ends.
func run(hosts int) error {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(first.Addr().String())
	if err != nil {
		return err
	}
	list := []net.Listener{first}
	for i := 1; i < hosts; i++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:%s", 1+i, port))
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	server := &http.Server{Handler: &witness{}, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, len(list))
	for _, l := range list {
		go func() { ended <- server.Serve(l) }()
	}
	if _, err := fmt.Println(port); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the parent ends
	err = server.Close()
	for range list {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}
