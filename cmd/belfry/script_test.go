package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/belfry-run/belfry/app/worker/program"
)

// The scripts run this program as real processes, each with a folder, a
// SQLite file and a port of its own.
func TestMain(m *testing.M) {
	program.Init()
	testscript.Main(m, map[string]func(){"belfry": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}})
}

// Builtins of testscript come before commands of our own, and these two end a
// script as if all of it had passed.
func TestScriptsRunToTheirEnd(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	early := regexp.MustCompile(`(?m)^(\[.*\] *)?(stop|skip)\b.*$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for _, line := range early.FindAllString(script, -1) {
			t.Errorf("%s: %q ends the script; to end a node, write halt", file, line)
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("BELFRY_REFUSE_PROGRAMS", "true") // a script that runs some takes it back
			e.Setenv("BELFRY_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			e.Setenv("BELFRY_LISTEN", "127.0.0.1:1") // where no server answers, whatever runs on this machine
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			e.Values[nodesKey] = map[string]*node{}
			e.Defer(func() {
				for _, n := range e.Values[nodesKey].(map[string]*node) {
					_ = n.cmd.Process.Kill()
					<-n.done
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": cmdStart, "halt": cmdHalt, "crash": cmdCrash,
			"exits": cmdExits, "until": cmdUntil, "mode": cmdMode, "lastjob": cmdLastJob, "post": cmdPost,
			"site": cmdSite, "elf": cmdELF,
		},
	})
}

const nodesKey = "nodes"

// patience is how long a script waits for anything.
const patience = 3 * time.Minute

// node is a belfry process in the background.
type node struct {
	cmd    *exec.Cmd
	stderr string // file
	done   chan struct{}
	err    error // after done
}

func nodes(ts *testscript.TestScript) map[string]*node {
	return ts.Value(nodesKey).(map[string]*node)
}

// start NAME serve|worker [flag...] runs belfry in the background. For serve
// it takes any free port, waits until the node is ready and sets
// BELFRY_SERVER.
func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	name, args := args[0], args[1:]
	if args[0] == "serve" {
		args = append(args, "--listen", "127.0.0.1:0", "-o", "json")
	}
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "belfry"); path == "" && isFile(p) {
			path = p
		}
	}
	n := &node{cmd: exec.Command(path, args...), stderr: ts.MkAbs(name + ".stderr"), done: make(chan struct{})}
	stderr, err := os.OpenFile(n.stderr, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ts.Check(err)
	n.cmd.Stderr, n.cmd.Dir, n.cmd.Env = stderr, ts.MkAbs("."), environ(ts)
	stdout, err := n.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(n.cmd.Start())
	nodes(ts)[name] = n
	ready := make(chan string, 1)
	go func() {
		var state struct {
			URL string `json:"url"`
		}
		_ = json.NewDecoder(bufio.NewReader(stdout)).Decode(&state)
		ready <- state.URL
		n.err = n.cmd.Wait()
		_ = stderr.Close()
		close(n.done)
	}()
	if args[0] != "serve" {
		return
	}
	select {
	case url := <-ready:
		if url == "" {
			text, _ := os.ReadFile(n.stderr)
			ts.Fatalf("%s did not start:\n%s", name, text)
		}
		ts.Setenv("BELFRY_SERVER", url)
	case <-time.After(patience):
		ts.Fatalf("%s is not ready after %s", name, patience)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// environ is what the script has set, without the server of a node before.
func environ(ts *testscript.TestScript) []string {
	var list []string
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "EXAMPLES", "BELFRY_TOKEN", "BELFRY_SERVER", "GOCOVERDIR"} {
		if v := ts.Getenv(name); v != "" {
			list = append(list, name+"="+v)
		}
	}
	return list
}

// site NAME serves the files of the folder NAME over HTTP, and sets $NAME to its
// URL. What is posted to it goes into the file posted of that folder and is
// answered with 200; to /refuse, with 500.
func cmdSite(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	files, posts := http.FileServer(http.Dir(dir)), new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			files.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		text := fmt.Sprintf("%s\nBelfry-Signature: %s\nX-Key: %s\n%s\n", r.URL.Path, r.Header.Get("Belfry-Signature"), r.Header.Get("X-Key"), body)
		// A script may read the file meanwhile: it is whole at any time.
		posted := filepath.Join(dir, "posted")
		next := fmt.Sprint(posted, posts.Add(1))
		err := os.WriteFile(next, []byte(text), 0o600)
		if err == nil {
			err = os.Rename(next, posted)
		}
		if err != nil || r.URL.Path == "/refuse" {
			http.Error(w, "no thanks", http.StatusInternalServerError)
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

// halt NAME asks a node to end, and wants it to end well.
func cmdHalt(ts *testscript.TestScript, _ bool, args []string) {
	n := nodes(ts)[args[0]]
	ts.Check(n.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-n.done:
	case <-time.After(patience):
		ts.Fatalf("%s did not stop within %s", args[0], patience)
	}
	if n.err != nil {
		text, _ := os.ReadFile(n.stderr)
		ts.Fatalf("%s ended with %v:\n%s", args[0], n.err, text)
	}
	delete(nodes(ts), args[0])
	ts.Setenv("BELFRY_SERVER", "")
}

// crash NAME kills a node without a warning.
func cmdCrash(ts *testscript.TestScript, _ bool, args []string) {
	n := nodes(ts)[args[0]]
	ts.Check(n.cmd.Process.Kill())
	<-n.done
	delete(nodes(ts), args[0])
	ts.Setenv("BELFRY_SERVER", "")
}

// exits CODE command [arg...] wants an exit code.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// until REGEXP command [arg...] repeats a command until its output matches.
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); want.MatchString(out) {
			return
		} else if time.Now().After(deadline) {
			ts.Fatalf("no %s after %s, but (%v):\n%s%s", want, patience, err, out, ts.ReadFile("stderr"))
		}
	}
}

// mode FILE OCTAL wants the permissions of a file.
func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// elf FILE ARCH writes what looks like a static program for Linux, of a
// content of its own.
func cmdELF(ts *testscript.TestScript, _ bool, args []string) {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[args[1]]
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Entry: 0x400000,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	load := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: 0x400000, Filesz: 120, Memsz: 120}
	var b bytes.Buffer
	ts.Check(binary.Write(&b, binary.LittleEndian, h))
	ts.Check(binary.Write(&b, binary.LittleEndian, load))
	b.WriteString(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o755)) //nolint:gosec // it is a program
}

// post JSON posts to the address that was printed last, without a token.
func cmdPost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: post JSON")
	}
	r, err := http.Post(strings.TrimSpace(ts.ReadFile("stdout")), "application/json", strings.NewReader(args[0]))
	ts.Check(err)
	body, err := io.ReadAll(r.Body)
	ts.Check(errors.Join(err, r.Body.Close()))
	if r.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", r.Status, body)
	}
}

// lastjob NAME TASK [STATE] waits for a job of a task and sets $NAME to the
// id of the newest one.
func cmdLastJob(ts *testscript.TestScript, _ bool, args []string) {
	list := []string{"job", "list", "--limit", "1", "-o", "json", "--task", args[1]}
	if len(args) > 2 {
		list = append(list, "--state", args[2])
	}
	cmdUntil(ts, false, append([]string{`"id": [0-9]+`, "belfry"}, list...))
	var page struct {
		Items []struct{ ID int64 } `json:"items"`
	}
	ts.Check(json.NewDecoder(strings.NewReader(ts.ReadFile("stdout"))).Decode(&page))
	ts.Setenv(args[0], strconv.FormatInt(page.Items[0].ID, 10))
}
