package sandbox_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

// world is a machine that allows so much and no more.
type world struct {
	name    string
	without []sandbox.Layer
	tier    sandbox.Tier
}

var (
	noNamespaces = []sandbox.Layer{sandbox.LayerUserNS, sandbox.LayerNamespaces}
	noLocks      = []sandbox.Layer{sandbox.LayerLandlock, sandbox.LayerScope, sandbox.LayerSeccomp}
	noGroups     = []sandbox.Layer{sandbox.LayerMemory, sandbox.LayerPIDs, sandbox.LayerCPU, sandbox.LayerKill}
)

func list(parts ...[]sandbox.Layer) (all []sandbox.Layer) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// gvisor is the world of a worker whose operator pointed to runsc.
var gvisor = world{"gvisor", nil, sandbox.GVisor}

// worlds are those that this user can make on this machine.
func worlds() []world {
	if os.Geteuid() != 0 {
		return []world{
			{"namespaces", nil, sandbox.Namespaces},
			{"confined", noNamespaces, sandbox.Confined},
			{"none", list(noNamespaces, noLocks), sandbox.None},
		}
	}
	return []world{
		{"namespaces", nil, sandbox.Namespaces},
		{"namespaces of the machine's root", []sandbox.Layer{sandbox.LayerUserNS}, sandbox.Namespaces},
		{"namespaces without Landlock", []sandbox.Layer{sandbox.LayerLandlock, sandbox.LayerScope}, sandbox.Namespaces},
		{"namespaces without groups", noGroups, sandbox.Namespaces},
		{"confined", noNamespaces, sandbox.Confined},
		{"confined without groups", list(noNamespaces, noGroups), sandbox.Confined},
		{"confined without scope", list(noNamespaces, []sandbox.Layer{sandbox.LayerScope}), sandbox.Confined},
		{"user", list(noNamespaces, noLocks), sandbox.User},
		{"user without groups", list(noNamespaces, noLocks, noGroups), sandbox.User},
	}
}

func (w world) lacks(l sandbox.Layer) bool {
	for _, without := range w.without {
		if l == without {
			return true
		}
	}
	return false
}

// grouped tells if control groups hold the limits: only root has them here.
func (w world) grouped() bool { return os.Geteuid() == 0 && !w.lacks(sandbox.LayerMemory) }

var (
	opened   = map[string]*sandbox.Sandbox{}
	openedMu sync.Mutex
)

// open is a sandbox in the world, the same for every test.
func (w world) open(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	openedMu.Lock()
	defer openedMu.Unlock()
	if s := opened[w.name]; s != nil {
		return s
	}
	s, err := sandbox.Open(context.Background(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	opened[w.name] = s
	return s
}

func (w world) options() sandbox.Options {
	return sandbox.Options{
		StateDir: filepath.Join(filepath.Dir(hostile), "state-"+strings.ReplaceAll(w.name, " ", "-")),
		// Not the ids of a worker that may be running here, and other ones for each world.
		UIDBase: 1_910_000_000 + 1000*len(w.without),
		Without: w.without,
		Cgroup:  top(),
		Runsc:   w.runsc(),
	}
}

// runsc is where the operator points to: only in the world that is about it.
func (w world) runsc() string {
	if w.tier == sandbox.GVisor {
		return "runsc"
	}
	return ""
}

// top is the top of the tree where there is one for all. The group that the
// tests find themselves in has other processes, and so cannot limit children.
func top() string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil || os.Geteuid() != 0 {
		return ""
	}
	return "/"
}

// inEach runs a test in each world of at least a tier, in all of them at a
// time, and returns when it has ended in all.
func inEach(t *testing.T, least sandbox.Tier, test func(t *testing.T, w world)) {
	t.Helper()
	in(t, slices.DeleteFunc(worlds(), func(w world) bool { return w.tier < least }), test)
}

// alsoInGVisor is inEach, and in gVisor where it can be: there programs have a
// kernel of their own, and each takes longer to start.
func alsoInGVisor(t *testing.T, least sandbox.Tier, test func(t *testing.T, w world)) {
	t.Helper()
	all := slices.DeleteFunc(worlds(), func(w world) bool { return w.tier < least })
	if os.Geteuid() == 0 {
		all = append(all, gvisor)
	}
	in(t, all, test)
}

func in(t *testing.T, worlds []world, test func(t *testing.T, w world)) {
	t.Helper()
	t.Run("in", func(t *testing.T) {
		for _, w := range worlds {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.works(t)
				test(t, w)
			})
		}
	})
}

func (w world) works(t *testing.T) {
	t.Helper()
	report := w.open(t).Report()
	if report.Tier >= w.tier {
		return
	}
	how := ""
	if w.tier == sandbox.GVisor {
		how = " (make setup installs runsc; else https://gvisor.dev/docs/user_guide/install)"
	}
	t.Fatalf("isolation %s does not work here%s: %s", w.tier, how, report.Why(w.tier))
}

// asRoot is how to run all of the tests.
const asRoot = "run as root: sudo env PATH=$PATH go test ./app/worker/sandbox"

// attack is a run of the hostile program.
type attack struct {
	sandbox.Spec
	out bytes.Buffer
}

func (w world) attack(name string, args ...string) *attack {
	a := &attack{Spec: sandbox.Spec{
		Argv:     append([]string{hostile, "hostile", name}, args...),
		Env:      []string{"GOMAXPROCS=2"},
		ReadOnly: append(sandbox.System(), sandbox.Mount{Source: hostile}),
		Network:  w.lacks(sandbox.LayerSeccomp), // where it cannot be withheld
		// What it reaches is tested for itself, and takes root.
		Unguarded: true,
		Limits:    sandbox.Limits{PIDs: 64, Memory: 128 << 20},
	}}
	a.Stdout, a.Stderr = &a.out, &a.out
	return a
}

func (a *attack) start(t *testing.T, w world) *sandbox.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // far more than the busiest machine takes to start a kernel
	t.Cleanup(cancel)
	r, err := w.open(t).Start(ctx, a.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if in, is := a.Stdout.(*io.PipeWriter); is {
		// A read of a line from a killed program would wait forever.
		go func() {
			<-r.Done()
			_ = in.Close()
		}()
	}
	return r
}

// run sees it to its end.
func (a *attack) run(t *testing.T, w world) sandbox.Result {
	t.Helper()
	result, err := a.start(t, w).Wait()
	if err != nil {
		t.Fatal(err)
	}
	if result.Applied.Tier != w.tier {
		t.Errorf("isolation %s instead of %s: %+v", result.Applied.Tier, w.tier, result.Applied.Missing)
	}
	return result
}

// holds wants that everything was tried and nothing came through.
func (a *attack) holds(t *testing.T, w world, least int) sandbox.Result {
	t.Helper()
	result := a.run(t, w)
	out := a.out.String()
	if strings.Contains(out, "ESCAPED") || strings.Count(out, "held:") < least || result.ExitCode != 0 {
		t.Errorf("%d %s\n%s", result.ExitCode, result.Signal, out)
	}
	return result
}

// public is a folder of the worker that others may enter.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(hostile), "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// secret is a file like the worker's token.
func secret(t *testing.T) string {
	t.Helper()
	name := filepath.Join(public(t), "token")
	if err := os.WriteFile(name, []byte("of the worker"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRootRunsTheTestsAsAnUnprivilegedUser runs all of this again as a user without any rights, but
// for the tests of what only root does: they are called TestRoot.
func TestRootRunsTheTestsAsAnUnprivilegedUser(t *testing.T) {
	needsRoot(t)
	dir := public(t)
	const nobody = 65534
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	timeout := 5 * time.Minute
	if deadline, has := t.Deadline(); has { // its stacks are wanted, not those of waiting for it
		timeout = time.Until(deadline) * 9 / 10
	}
	cmd := exec.Command(hostile, "-test.count=1", "-test.timeout="+timeout.String(), "-test.skip=^TestRoot")
	if testing.Verbose() {
		cmd.Args = append(cmd.Args, "-test.v")
	}
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
}
