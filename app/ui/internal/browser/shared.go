package browser

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/belfry-run/belfry/internal/memory"
)

// Main lets all tests of a package share one browser, because starting one
// takes longer than most of them. It is for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(browser.Main(m).Run()) }
//
// The browser starts with the first [Open], and has ended when Run returns.
func Main(m *testing.M) interface{ Run() int } { return running{m} }

type running struct{ tests *testing.M }

func (r running) Run() int {
	memory.Use()
	shared.allowed = true
	defer shared.end()
	return r.tests.Run()
}

var shared chromium

// chromium is a browser that runs, or none yet.
type chromium struct {
	sync.Mutex
	allowed bool   // its end is owed
	address string // where it is spoken to; empty: it does not run
	folder  string // its data
	process *exec.Cmd
	drained chan struct{} // closed once it says nothing more
}

const installChromium = `These tests look at the pages with Chromium and are never skipped:

	apt-get install -y --no-install-recommends chromium-headless-shell

or set BELFRY_CHROMIUM to a program that takes its flags.`

// dial speaks to the browser, and starts it if need be.
func dial(ctx context.Context, t *testing.T) *websocket.Conn {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.allowed {
		t.Fatal("the tests of this package must run by browser.Main, in TestMain")
	}
	if shared.address == "" {
		if err := shared.start(); err != nil {
			t.Fatal(err)
		}
	}
	conn, _, err := websocket.Dial(ctx, shared.address, nil)
	if err != nil {
		shared.stop() // the next test begins with another
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	return conn
}

// findChromium prefers the headless shell: the engine alone. A whole browser
// shows the same pages, and draws an unseen window around each of
// them, which is half of its work.
func findChromium() (string, error) {
	if path := os.Getenv("BELFRY_CHROMIUM"); path != "" {
		return path, nil
	}
	// Debian's command of that name is a shell that stays the parent of the program: its end would not be the program's.
	for _, name := range []string{"/usr/lib/chromium/chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser: %s", installChromium)
}

var devTools = regexp.MustCompile(`DevTools listening on (ws://\S+)`)

func (c *chromium) start() error {
	program, err := findChromium()
	if err != nil {
		return err
	}
	if c.folder, err = os.MkdirTemp("", "belfry-browser-"); err != nil {
		return err
	}
	args := []string{"--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--disable-component-update", "--hide-scrollbars",
		// A page of a test lives for seconds: threads that compile its scripts better, and a process kept ready for the next page, took a
		// sixth of the CPU time of these tests.
		"--js-flags=--single-threaded", "--disable-features=SpareRendererForSitePerProcess",
		"--window-size=1200,900", "--remote-debugging-port=0", "--user-data-dir=" + c.folder, "about:blank"}
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...)
	}
	c.process = exec.CommandContext(context.Background(), program, args...)
	stderr, err := c.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.process.Start(); err != nil {
		return fmt.Errorf("%w\n%s", err, installChromium)
	}
	lines := bufio.NewScanner(stderr)
	var said string
	for c.address == "" && lines.Scan() {
		said += lines.Text() + "\n"
		if found := devTools.FindStringSubmatch(lines.Text()); found != nil {
			c.address = found[1]
		}
	}
	c.drained = make(chan struct{})
	go func() {
		defer close(c.drained)
		for lines.Scan() {
		}
	}()
	if c.address == "" {
		c.stop()
		return fmt.Errorf("the browser ended:\n%s", said)
	}
	return nil
}

// stop ends the browser and removes its folder.
func (c *chromium) stop() {
	_ = c.process.Process.Kill()
	<-c.drained
	_ = c.process.Wait()
	_ = os.RemoveAll(c.folder)
	c.address = ""
}

func (c *chromium) end() {
	c.Lock()
	defer c.Unlock()
	if c.address != "" {
		c.stop()
	}
}
