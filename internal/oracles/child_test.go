//go:build oracles

package oracles

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// query is one request to a script. The engine decides which fields count; oracle.py and oracle.mjs read them.
type query struct {
	Engine string   `json:"engine"`
	Zone   string   `json:"zone,omitempty"`
	N      int      `json:"n,omitempty"`
	Rule   string   `json:"rule,omitempty"`
	From   int64    `json:"from"`
	Gap    string   `json:"gap,omitempty"`
	Fold   string   `json:"fold,omitempty"`
	Fixed  bool     `json:"fixed,omitempty"`
	And    bool     `json:"and,omitempty"`
	Start  string   `json:"start,omitempty"`
	Rules  []string `json:"rules,omitempty"`
	Until  *int64   `json:"until,omitempty"`
	RDates []int64  `json:"rdates,omitempty"`
	ExDate []int64  `json:"exdates,omitempty"`
	ExDays []string `json:"exdays,omitempty"`
	At     []int64  `json:"at,omitempty"`
}

// answer is the answer of an engine: the first times, and whether there may be more.
type answer struct {
	Times    []int64           `json:"times"`
	More     bool              `json:"more"`
	Error    string            `json:"error"`
	Versions map[string]string `json:"versions"`
}

var errTooLong = errors.New("no answer in time")

// patience is the timeout of one request; oracle.py gives up by itself long before.
const patience = 5 * time.Second

// child is a script that runs until the test ends.
type child struct {
	args []string
	dir  string

	mu     sync.Mutex // one request at a time
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    chan []byte
	stderr *strings.Builder
}

func startChild(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	c := &child{args: args, dir: dir}
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

func (c *child) start() error {
	c.cmd = exec.Command(c.args[0], c.args[1:]...)
	c.cmd.Dir = c.dir
	c.stderr = new(strings.Builder)
	c.cmd.Stderr = c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	lines := make(chan []byte, 1)
	go func() {
		defer close(lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	c.in, c.out = in, lines
	return nil
}

func (c *child) stop() {
	c.in.Close()
	c.cmd.Process.Kill()
	for range c.out { // the reader ends before Wait closes its pipe
	}
	c.cmd.Wait()
}

// ask sends a request and waits for the answer. A child without an answer is replaced.
func (c *child) ask(q query) (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return answer{}, fmt.Errorf("%s: %w", c.args[0], err)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, ok := <-c.out:
		if !ok {
			c.stop()
			return answer{}, fmt.Errorf("%s has ended: %s", strings.Join(c.args, " "), c.stderr)
		}
		var a answer
		return a, json.Unmarshal(line, &a)
	case <-timer.C:
		c.stop()
		if err := c.start(); err != nil {
			return answer{}, err
		}
		return answer{}, errTooLong
	}
}

const (
	setupHint = "run internal/oracles/setup.sh (or \"make setup-oracles\")"
	aptHint   = "apt-get install -y --no-install-recommends python3-dateutil python3-croniter tzdata"
)

// startPython starts oracle.py under the first interpreter that has the libraries: BELFRY_PYTHON, Debian's, the one in PATH.
func startPython(t *testing.T) *child {
	t.Helper()
	script, err := filepath.Abs("oracle.py")
	if err != nil {
		t.Fatal(err)
	}
	candidates := []string{"/usr/bin/python3", "python3"}
	if own := os.Getenv("BELFRY_PYTHON"); own != "" {
		candidates = []string{own}
	}
	var tried []string
	for _, python := range candidates {
		out, err := exec.Command(python, "-c", "import dateutil.rrule, croniter, zoneinfo; zoneinfo.ZoneInfo('Europe/Sofia')").CombinedOutput()
		if err == nil {
			return startChild(t, ".", python, "-u", script)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		tried = append(tried, fmt.Sprintf("%s: %v %s", python, err, lines[len(lines)-1]))
	}
	t.Fatalf("python-dateutil, croniter or the time zones are missing: %s, or %s\n%s", setupHint, aptHint, strings.Join(tried, "\n"))
	return nil
}

// startNode starts oracle.mjs, which finds its packages in node_modules beside itself.
func startNode(t *testing.T) *child {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("node is missing: %s, or apt-get install -y --no-install-recommends nodejs npm", setupHint)
	}
	for _, name := range []string{"cron-parser", "croner", "cronosjs", "rrule-temporal", "temporal-polyfill"} {
		if _, err := os.Stat(filepath.Join("node_modules", name, "package.json")); err != nil {
			t.Fatalf("the npm package %s is missing: %s, or (cd internal/oracles && npm ci)", name, setupHint)
		}
	}
	return startChild(t, ".", node, "oracle.mjs")
}
