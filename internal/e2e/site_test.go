//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// databases has the kinds of databases.
var databases = []struct {
	name string
	make func(t testing.TB) string
}{
	{"sqlite", func(testing.TB) string { return "sqlite:belfry.db" }},
	{"postgres", func(t testing.TB) string { return pgtest.New(t) }},
}

// onEach runs a test on both databases, at the same time.
func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	t.Parallel()
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, db.make(t)))
		})
	}
}

// site has a user's folder, home and database, and the processes started there. No
// Belfry of the machine itself affects it.
type site struct {
	t        *scene
	dir      string
	database string
	server   string // the server of the command line
	env      []string
	program  string // default: the program built for the tests
	nodes    int
}

func newSite(t testing.TB, database string) *site {
	return &site{t: &scene{t}, dir: t.TempDir(), database: database}
}

// step runs a subtest. Processes that it starts end with it.
func (s *site) step(t *testing.T, name string, do func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		before := s.t.TB
		s.t.TB = t
		defer func() { s.t.TB = before }()
		do(t)
	})
}

func (s *site) environ() []string {
	env := []string{
		"PATH=" + binDir + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + s.dir, "XDG_CONFIG_HOME=" + filepath.Join(s.dir, ".config"), "TMPDIR=" + s.dir, "LANG=C.UTF-8",
		"BELFRY_STATE_DIR=" + filepath.Join(s.dir, "state"), "BELFRY_REFUSE_PROGRAMS=true", // a test that runs programs unsets it
		"BELFRY_LISTEN=127.0.0.1:1", // an address without a server
	}
	if s.postgres() {
		env = append(env, "DATABASE_URL="+s.database)
	}
	if s.server != "" {
		env = append(env, "BELFRY_SERVER="+s.server)
	}
	return append(env, s.env...)
}

// node is a ready belfry serve.
type node struct {
	*process
	site *site
	url  string
	api  *client.Client // as admin
}

// serve starts a node on any free port, unless the flags name one, and waits until it
// is ready. From then on, the command line uses this node.
func (s *site) serve(flags ...string) *node {
	s.t.Helper()
	return s.up(s.launchServe(flags...))
}

// up waits until a node can be asked.
func (s *site) up(p *process) *node {
	s.t.Helper()
	n := &node{process: p, site: s}
	n.url = p.says(p.stdout, patience, `^  api +(http://\S+)$`)[1]
	p.says(p.stdout, patience, `^Next, in another terminal: `)
	s.server, n.api = n.url, s.client(n.url)
	return n
}

// launchServe starts a node and does not wait for it.
func (s *site) launchServe(flags ...string) *process {
	s.t.Helper()
	return s.launchServeWith(endWithUs(), flags...)
}

func (s *site) launchServeWith(attr *syscall.SysProcAttr, flags ...string) *process {
	s.t.Helper()
	s.nodes++
	name := "node-" + strconv.Itoa(s.nodes)
	program := s.program
	if program == "" {
		program = belfryPath()
	}
	argv := []string{program, "serve", "--name", name}
	if !slices.Contains(flags, "--listen") {
		argv = append(argv, "--listen", "127.0.0.1:0")
	}
	return launchWith(s.t, attr, name, s.dir, s.environ(), append(argv, flags...), "")
}

func (s *site) postgres() bool { return strings.HasPrefix(s.database, "postgres") }

// steadyTTL is a session length at which a busy machine takes no node for lost that lives. At 3 seconds one lost each of its
// sessions.
const steadyTTL = "10s"

// ttl is a session length for nodes that are killed, long enough for a busy machine. On SQLite the length does not matter:
// the next node takes over the jobs of the one before at once.
func (s *site) ttl() string {
	if s.postgres() {
		return "8s"
	}
	return "10m"
}

func (s *site) tokenFile() string {
	if s.postgres() {
		return filepath.Join(s.dir, ".config", "belfry", "token")
	}
	return filepath.Join(s.dir, "belfry.token")
}

func (s *site) token() string {
	s.t.Helper()
	text, err := os.ReadFile(s.tokenFile())
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// client returns a client with the token of the first start.
func (s *site) client(url string) *client.Client {
	s.t.Helper()
	c, err := client.New(url, s.token(), client.Options{Timeout: patience})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.CloseIdleConnections)
	return c
}

// result is the result of one command.
type result struct {
	t      *scene
	line   string
	code   int
	stdout string
	stderr string
}

// try runs one command, which may fail.
func (s *site) try(args ...string) result {
	s.t.Helper()
	return s.tryWith("", args...)
}

func (s *site) tryWith(stdin string, args ...string) result {
	s.t.Helper()
	return s.finish(launch(s.t, "belfry", s.dir, s.environ(), append([]string{belfryPath()}, args...), stdin))
}

// shell runs a line in a shell.
func (s *site) shell(line string) result {
	s.t.Helper()
	return s.finish(launch(s.t, "sh", s.dir, s.environ(), []string{"/bin/sh", "-c", line}, ""))
}

func (s *site) finish(p *process) result {
	s.t.Helper()
	code := p.ended(2 * patience)
	return result{s.t, strings.Join(p.cmd.Args[1:], " "), code, p.stdout.String(), p.stderr.String()}
}

// run runs one command that must succeed.
func (s *site) run(args ...string) result {
	s.t.Helper()
	r := s.try(args...)
	r.exits(0)
	return r
}

// fails runs one command that must exit with a code and print a text.
func (s *site) fails(code int, pattern string, args ...string) result {
	s.t.Helper()
	r := s.try(args...)
	r.exits(code)
	r.says(pattern)
	return r
}

func (r result) exits(code int) {
	r.t.Helper()
	if r.code != code {
		r.t.Fatalf("exit code of belfry %s: got %d, want %d\n%s%s", r.line, r.code, code, r.stdout, r.stderr)
	}
}

// says fails unless the output matches a pattern.
func (r result) says(pattern string) result {
	r.t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(r.stdout + r.stderr) {
		r.t.Errorf("output of belfry %s: want %s, got:\n%s%s", r.line, pattern, r.stdout, r.stderr)
	}
	return r
}

// as reads the output of a command with -o json.
func as[T any](r result) (v T) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		r.t.Fatalf("belfry %s: not JSON: %v\n%s", r.line, err, r.stdout)
	}
	return v
}

// must fails the test if the API returned an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// enqueue enqueues a job through the API.
func (n *node) enqueue(task string, change ...func(*job.NewJob)) job.Job {
	n.t.Helper()
	j := job.NewJob{Task: task}
	for _, c := range change {
		c(&j)
	}
	made, err := n.api.Enqueue(n.t.Context(), []job.NewJob{j})
	if err != nil {
		n.t.Fatal(err)
	}
	return made[0].Job
}

// shellTask creates a task that runs a script.
func (n *node) shellTask(name, script string, change ...func(*task.Task)) {
	n.t.Helper()
	v := task.Task{Name: name, Command: &task.Command{Shell: script}, Timeout: core.Duration(time.Minute)}
	for _, c := range change {
		c(&v)
	}
	if _, err := n.api.CreateTask(n.t.Context(), v); err != nil {
		n.t.Fatal(err)
	}
}

// becomes waits until a job is in one of the states.
func (n *node) becomes(id int64, within time.Duration, states ...job.State) job.Job {
	n.t.Helper()
	var j job.Job
	eventually(n.t, within, "job "+strconv.FormatInt(id, 10)+" is "+join(states), func() (bool, string) {
		var err error
		if j, err = n.api.Job(n.t.Context(), "default", id); err != nil {
			return false, err.Error()
		}
		return slices.Contains(states, j.State), "it is " + string(j.State) + ": " + j.Error
	})
	return j
}

func join[T ~string](list []T) string {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}

func (n *node) attempts(id int64) []job.Attempt {
	n.t.Helper()
	return must[[]job.Attempt](n.t)(n.api.Attempts(n.t.Context(), "default", id))
}

func outcomes(as []job.Attempt) []job.Outcome {
	var list []job.Outcome
	for _, a := range as {
		list = append(list, a.Outcome)
	}
	return list
}

// allJobs reads every page of a list.
func allJobs(t testing.TB, api *client.Client, f job.Filter) (all []job.Job) {
	t.Helper()
	f.Limit = 1000
	for {
		p := must[core.Page[job.Job]](t)(api.Jobs(t.Context(), f))
		all = append(all, p.Items...)
		if f.Cursor = p.Next; p.Next == "" {
			return all
		}
	}
}

// allOccurrences reads every page of a list, oldest first.
func allOccurrences(t testing.TB, api *client.Client, s string) (all []schedule.Occurrence) {
	t.Helper()
	f := schedule.OccurrenceFilter{Namespace: "default", Schedule: s, Paging: core.Paging{Limit: 1000}}
	for {
		p := must[core.Page[schedule.Occurrence]](t)(api.Occurrences(t.Context(), f))
		all = append(all, p.Items...)
		if f.Cursor = p.Next; p.Next == "" {
			slices.Reverse(all)
			return all
		}
	}
}

var lastPort atomic.Int64

// freePort finds a port below the range of ephemeral ports, for nodes that must come
// back to their address.
func freePort(t testing.TB) string {
	t.Helper()
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.FormatInt(10000+(int64(os.Getpid())*37+lastPort.Add(1))%9000, 10))
		if ln, err := net.Listen("tcp", address); err == nil {
			_ = ln.Close()
			return address
		}
	}
	t.Fatal("found no free port")
	return ""
}

// write writes a file in the folder of the site.
func (s *site) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}
