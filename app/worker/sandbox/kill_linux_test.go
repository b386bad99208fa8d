package sandbox_test

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
)

const (
	victimUID = 1_920_000_001
	otherUID  = 1_920_000_000
)

// beKiller has a process of the run's user and one of root, and kills the former.
func beKiller() {
	user := start(&syscall.Credential{Uid: victimUID, Gid: victimUID})
	root := start(nil)
	fmt.Println("error:", sandbox.KillUser(victimUID, otherUID))
	state, _ := user.Process.Wait()
	fmt.Println("user:", state)
	// A second call finds no process, and runs in a new thread.
	fmt.Println("error:", sandbox.KillUser(victimUID, otherUID))
	fmt.Println("root answers:", root.answers())
	fmt.Println("still root:", os.Geteuid() == 0)
	os.Exit(0)
}

type echo struct {
	*exec.Cmd
	in  *os.File
	out *bufio.Reader
}

func start(as *syscall.Credential) *echo {
	r, w, _ := os.Pipe()
	cmd := exec.Command("cat")
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
	}
	return &echo{cmd, w, bufio.NewReader(out)}
}

func (e *echo) answers() bool {
	_, _ = e.in.WriteString("hello\n")
	line, _ := e.out.ReadString('\n')
	return line == "hello\n"
}

// kill(-1) of root reaches the whole machine. This is the test that it is not
// root who calls it; so it runs in a pid namespace, whatever is around.
func TestRootKillsOnlyTheUser(t *testing.T) {
	needsRoot(t)
	cmd := inNamespace(exec.Command(hostile, "killer"))
	cmd.Env = append(os.Environ(), guarded+"=1")
	out, err := cmd.CombinedOutput()
	if want := "error: <nil>\nuser: signal: killed\nerror: <nil>\nroot answers: true\nstill root: true\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	for _, uid := range []int{0, -1, 1, 1000, 65534, 65535} {
		if sandbox.KillUser(uid, otherUID) == nil || sandbox.KillUser(victimUID, uid) == nil {
			t.Errorf("user %d is somebody", uid)
		}
	}
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("what a worker does that is root can only be tested as root; " + asRoot)
	}
}

// Each kind of group is killed with its own mechanism.
func TestRootKillsGroups(t *testing.T) {
	needsRoot(t)
	trees := map[string]string{
		"freezer":   "/sys/fs/cgroup/freezer",
		"neither":   "/sys/fs/cgroup/pids",
		"hybrid":    "/sys/fs/cgroup/unified",
		"version 2": "/sys/fs/cgroup",
	}
	maps.DeleteFunc(trees, func(_, root string) bool {
		_, err := os.Stat(filepath.Join(root, "cgroup.procs"))
		return err != nil
	})
	if len(trees) == 0 {
		t.Fatal("no tree of control groups is mounted below /sys/fs/cgroup")
	}
	for kind, root := range trees {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(root, "belfry-test-"+rand.Text())
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			bystander, member := start(nil), start(nil)
			defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(member.Process.Pid)), 0); err != nil {
				t.Error(err)
			}
			sandbox.KillGroup(dir)
			_ = member.Wait()
			if member.ProcessState.String() != "signal: killed" || !bystander.answers() {
				t.Error(member.ProcessState)
			}
			remove(t, dir)
		})
	}
}

func remove(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// In version 2 a group that limits its children has no processes. A worker
// finds itself in such a group, and moves into a child.
func TestRootMovesOutOfItsGroup(t *testing.T) {
	needsRoot(t)
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/cgroup.controllers"); err != nil {
		root += "/unified"
	}
	text, err := os.ReadFile(root + "/cgroup.controllers")
	if err != nil || len(strings.Fields(string(text))) == 0 {
		t.Fatal("this needs control groups of version 2 with at least one controller: ", err)
	}
	controllers := strings.Fields(string(text))
	for _, c := range controllers {
		lend(t, root, c)
	}
	own := filepath.Join(root, "belfry-test-own-"+rand.Text())
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	defer remove(t, own)
	defer remove(t, filepath.Join(own, "belfry-supervisor"))
	dir, err := os.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	in := func() []string {
		cmd := exec.Command(hostile, append([]string{"make-ready", own}, controllers...)...)
		cmd.Env = append(os.Environ(), guarded+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	// Somebody else is there too, so moving out does not help.
	other := exec.Command("sleep", "120")
	other.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	for _, said := range in() {
		if !strings.Contains(said, "other processes share the worker's control group") {
			t.Error(said)
		}
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	for _, said := range in() {
		if strings.TrimSpace(said) != own {
			t.Error(said)
		}
	}
	enabled, err := os.ReadFile(filepath.Join(own, "cgroup.subtree_control"))
	if err != nil || !slices.Equal(strings.Fields(string(enabled)), controllers) {
		t.Errorf("%s %v", enabled, err)
	}
	joins(t, filepath.Join(own, "run"))
	// A worker that was restarted by its former self is in the child already.
	if where, why := sandbox.Ready(filepath.Join(own, "belfry-supervisor"), controllers[0]); where != own || why != "" {
		t.Error(where, why)
	}
}

// joins has a process start in a new group.
func joins(t *testing.T, group string) {
	t.Helper()
	must(t, os.Mkdir(group, 0o755))
	defer remove(t, group)
	dir, err := os.Open(group)
	must(t, err)
	defer func() { _ = dir.Close() }()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	must(t, cmd.Run())
}

// lend lets the children of the tree's top have a controller while the test lasts.
func lend(t *testing.T, root, controller string) {
	t.Helper()
	control := filepath.Join(root, "cgroup.subtree_control")
	have, err := os.ReadFile(control)
	if err != nil || slices.Contains(strings.Fields(string(have)), controller) {
		return
	}
	if err := os.WriteFile(control, []byte("+"+controller), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(control, []byte("-"+controller), 0) })
}

// The user ids of a dead run may be another's by now: then its groups and
// folder are cleared away, and nobody is killed for his user.
func TestRootClearsAwayBesideStrangers(t *testing.T) {
	needsRoot(t)
	const base = 1_940_000_000
	state := filepath.Join(public(t), "state")
	o := sandbox.Options{StateDir: state, UIDBase: base, Slots: 1}
	must(t, sandbox.Sweep(o)) // makes the folders
	dir := filepath.Join(state, "belfry-run-of-the-dead")
	must(t, os.Mkdir(dir, 0o700), os.MkdirAll("/run/belfry-uids", 0o711))
	must(t, os.WriteFile(filepath.Join(state, "slot-0"), fmt.Appendf(nil, `{"ID":"dead","Users":true,"Dir":%q}`, dir), 0o600))
	ids, err := os.OpenFile(fmt.Sprintf("/run/belfry-uids/%d", base), os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	defer func() { _ = ids.Close() }()
	must(t, syscall.Flock(int(ids.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	stranger := start(&syscall.Credential{Uid: base + 1, Gid: base + 1})
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	must(t, sandbox.Sweep(o))
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || !stranger.answers() {
		t.Error("the folder is there, or the stranger is not:", err)
	}
}
