package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// beHostile is a program that wants out. It prints "held: …" for what it could
// not do, and "ESCAPED: …" for what it could.
//
// It must be harmless where nothing holds it, and as root: what is tested here
// may be broken. It opens what it wants to write to and changes nothing, takes
// back what it made, and stops by itself at a number of processes, of bytes and
// of seconds that every machine survives.
func beHostile(attack string, args []string) {
	do, known := attacks[attack]
	if !known {
		fmt.Println("ESCAPED: there is no attack", attack)
		return
	}
	do(args)
}

func verdict(what string, err error) {
	if err != nil {
		fmt.Printf("held: %s: %v\n", what, err)
		return
	}
	fmt.Println("ESCAPED:", what)
}

var attacks = map[string]func([]string){
	"read":      each(func(path string) error { _, err := os.ReadFile(path); return err }),
	"list":      each(func(path string) error { _, err := os.ReadDir(path); return err }),
	"write":     each(openToWrite),
	"create-in": each(createIn),
	"signal":    each(func(pid string) error { return unix.Kill(atoi(pid), unix.SIGUSR1) }),
	"connect": each(func(address string) error {
		network, address, _ := strings.Cut(address, ":")
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	}),
	"reach":       allAtOnce(reach),
	"connections": findConnections,
	"run-setuid": each(func(path string) error {
		out, err := exec.Command(path, "hostile", "euid").CombinedOutput()
		if err == nil && strings.TrimSpace(string(out)) != strconv.Itoa(os.Geteuid()) {
			return nil
		}
		return fmt.Errorf("it is user %q %w", out, err)
	}),
	"euid":      func([]string) { fmt.Println(os.Geteuid()) },
	"processes": seeProcesses,
	"memory-of": readMemory,
	"syscalls":  forbiddenCalls,
	"escalate":  becomeRoot,
	"links":     makeLinks,
	"leaks":     func([]string) { findLeaks() },
	"forks":     func([]string) { forkBomb() },
	"memory":    func([]string) { memoryBomb() },
	"fill":      fill,
	"fill-and-stay": func(args []string) {
		fill(args)
		sleepOn()
	},
	"names":  manyNames,
	"orphan": orphan,
	"shut":   func([]string) { shut() },
	"leave":  leave,
	"flood":  func([]string) { flood() },
	"share":  func([]string) { share() },
	"sleep":  func([]string) { sleepOn() },
	"exit":   func(args []string) { os.Exit(atoi(args[0])) },
	"kill-self": func(args []string) {
		_ = unix.Kill(os.Getpid(), syscall.Signal(atoi(args[0])))
		time.Sleep(time.Minute)
	},
	"term": onTerm,
	"processor-time": func([]string) {
		var l unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_CPU, &l)
		fmt.Println(l.Cur, l.Max)
	},
	"burn": func([]string) { // a third of a second, tell, and stay
		for used := (syscall.Rusage{}); used.Utime.Nano()+used.Stime.Nano() < int64(burnt); {
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
		}
		fmt.Println("burnt")
		sleepOn()
	},
	"burn-unseen": func([]string) { // by a child that nobody waits for
		cmd := exec.Command("/proc/self/exe", "hostile", "burn")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _ = out.Read(make([]byte, 1))
	},
	"echo":      func(args []string) { fmt.Println(strings.Join(args, " ")) },
	"env":       func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
	"where":     func([]string) { dir, _ := os.Getwd(); fmt.Println(dir, os.Getuid(), os.Getgid()) },
	"loopback":  func([]string) { talkToMyself() },
	"kill-init": killInit,
}

func each(try func(string) error) func([]string) {
	return func(args []string) {
		for _, a := range args {
			verdict(a, try(a))
		}
	}
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// seeProcesses looks for processes other than its own family.
func seeProcesses([]string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		verdict("list processes", err)
		return
	}
	for _, e := range entries {
		if pid := atoi(e.Name()); pid > 0 && pid != os.Getpid() {
			fmt.Println("ESCAPED: sees process", pid)
		}
	}
	fmt.Println("held: sees only itself")
}

// readMemory wants what is in another process: its environment, files and memory.
func readMemory(pids []string) {
	for _, pid := range pids {
		for _, name := range []string{"environ", "mem", "maps", "root/etc/shadow", "cwd/.", "fd/0"} {
			path := "/proc/" + pid + "/" + name
			f, err := os.Open(path)
			if err == nil {
				_, err = f.Read(make([]byte, 1))
				_ = f.Close()
			}
			verdict(path, err)
		}
		verdict("ptrace "+pid, unix.PtraceAttach(atoi(pid)))
		local := []unix.Iovec{{Base: new(byte), Len: 1}}
		_, err := unix.ProcessVMReadv(atoi(pid), local, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
		verdict("read the memory of "+pid, err)
	}
}

// forbiddenCalls tries what the filter is for, with arguments that are refused
// for another reason if the filter lets them through.
func forbiddenCalls([]string) {
	for name, call := range map[string][]uintptr{
		"unshare user":    {unix.SYS_UNSHARE, unix.CLONE_NEWUSER},
		"clone user":      {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)},
		"clone3":          {unix.SYS_CLONE3, 0, 0},
		"setns":           {unix.SYS_SETNS, ^uintptr(0), 0},
		"mount":           {unix.SYS_MOUNT},
		"umount":          {unix.SYS_UMOUNT2},
		"pivot_root":      {unix.SYS_PIVOT_ROOT},
		"chroot":          {unix.SYS_CHROOT},
		"open_tree":       {unix.SYS_OPEN_TREE, ^uintptr(0)},
		"fsopen":          {unix.SYS_FSOPEN},
		"open_by_handle":  {unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(0)},
		"ptrace traceme":  {unix.SYS_PTRACE, unix.PTRACE_TRACEME},
		"bpf":             {unix.SYS_BPF, 0, 0, 0},
		"perf_event_open": {unix.SYS_PERF_EVENT_OPEN},
		"userfaultfd":     {unix.SYS_USERFAULTFD, 1}, // UFFD_USER_MODE_ONLY
		"io_uring_setup":  {unix.SYS_IO_URING_SETUP, 1, 0},
		"keyctl":          {unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0},
		"add_key":         {unix.SYS_ADD_KEY},
		"init_module":     {unix.SYS_INIT_MODULE},
		"kexec_load":      {unix.SYS_KEXEC_LOAD, 0, ^uintptr(0), 0, ^uintptr(0)},
		"reboot":          {unix.SYS_REBOOT, 0, 0, 0}, // without its magic it cannot
		"syslog":          {unix.SYS_SYSLOG, 10},
		"settimeofday":    {unix.SYS_SETTIMEOFDAY, 0, 0},
		"sethostname":     {unix.SYS_SETHOSTNAME, 0, ^uintptr(0)},
		"swapon":          {unix.SYS_SWAPON},
		"acct":            {unix.SYS_ACCT, ^uintptr(0)},
		"vsock":           {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"packet":          {unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0},
		"alg":             {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		"inject keys":     {unix.SYS_IOCTL, 0, unix.TIOCSTI, 0},
		"inject, high":    {unix.SYS_IOCTL, 0, unix.TIOCSTI | upperHalf, 0}, // which the kernel ignores
	} {
		args := append(call, make([]uintptr, 7-len(call))...)
		_, _, e := unix.RawSyscall6(args[0], args[1], args[2], args[3], args[4], args[5], args[6])
		want := unix.EPERM
		if name == "clone3" {
			want = unix.ENOSYS
		}
		if e == want {
			fmt.Printf("held: %s: %v\n", name, e)
		} else {
			fmt.Printf("ESCAPED: %s answers %v\n", name, e)
		}
	}
	const x32 = 0x40000000
	if pid, _, e := unix.RawSyscall(x32|unix.SYS_GETPID, 0, 0, 0); e == unix.ENOSYS {
		fmt.Println("held: x32")
	} else {
		fmt.Println("ESCAPED: x32 answers", pid, e)
	}
}

// becomeRoot tries each id and each capability.
func becomeRoot([]string) {
	raw := func(what string, call, a, b, c uintptr) {
		_, _, e := unix.RawSyscall(call, a, b, c)
		if e == 0 {
			fmt.Println("ESCAPED:", what)
		} else {
			fmt.Println("held:", what, e)
		}
	}
	raw("setuid 0", unix.SYS_SETRESUID, 0, 0, 0)
	raw("setuid of the init", unix.SYS_SETRESUID, uintptr(os.Getuid()-1), uintptr(os.Getuid()-1), uintptr(os.Getuid()-1))
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	all := [2]unix.CapUserData{{Effective: 1, Permitted: 1}, {}}
	raw("capset", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&all)), 0)
	if nnp, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); nnp != 1 {
		fmt.Println("ESCAPED: may get new privileges")
	}
	if groups, _ := os.Getgroups(); len(groups) > 1 || len(groups) == 1 && groups[0] != os.Getgid() {
		fmt.Println("ESCAPED: has groups", groups)
	}
	for _, limit := range []int{unix.RLIMIT_CORE, unix.RLIMIT_NOFILE} {
		var l unix.Rlimit
		_ = unix.Getrlimit(limit, &l)
		l.Max++
		verdict(fmt.Sprint("raise limit ", limit), unix.Setrlimit(limit, &l))
	}
}

// makeLinks puts links to the given files into its folder, and reads and
// writes through them.
func makeLinks(files []string) {
	for i, f := range files {
		link := fmt.Sprint("link-", i)
		if err := os.Symlink(f, link); err != nil {
			fmt.Println("a link is harmless and should be possible:", err)
			os.Exit(3)
		}
		_, err := os.ReadFile(link)
		verdict("read through a link to "+f, err)
		verdict("write through a link to "+f, openToWrite(link))
		verdict("a second name of "+f, os.Link(f, fmt.Sprint("name-", i)))
	}
}

// findLeaks looks for what the worker left open, or in the environment.
func findLeaks() {
	for fd := 3; fd < 4096; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && !ofRuntime(fd) {
			name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			fmt.Println("ESCAPED: descriptor", fd, "is open:", name, err)
		}
	}
	if sid, _ := unix.Getsid(0); sid != os.Getpid() {
		fmt.Println("ESCAPED: it is in the session of somebody else")
	}
	if _, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		fmt.Println("ESCAPED: it has a terminal")
	}
	fmt.Println("held: nothing is open")
}

// ofRuntime: what Go's runtime opens in this program itself, which is its
// poller and, where it can be seen, the control group.
func ofRuntime(fd int) bool {
	name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if strings.HasPrefix(name, "anon_inode:") || strings.HasPrefix(filepath.Base(name), "cpu.") {
		return true
	}
	// Where /proc is not: an epoll can be waited for, an eventfd gives back the
	// eight bytes that it takes.
	if _, err := unix.EpollWait(fd, make([]unix.EpollEvent, 1), 0); err == nil {
		return true
	}
	_, taken := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	_, given := unix.Read(fd, make([]byte, 8))
	return taken == nil && given == nil
}

// The bounds of what it does when nothing else bounds it.
const (
	mostProcesses = 2000
	mostMiB       = 1024
	longest       = 2 * time.Minute
)

// openToWrite opens a file for writing, and writes nothing.
func openToWrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = os.Remove(path)
		}
	}
	if err == nil {
		_ = f.Close()
	}
	return err
}

func createIn(dir string) error {
	name := filepath.Join(dir, "hostile")
	err := os.Mkdir(name, 0o777)
	if err == nil {
		_ = os.Remove(name)
	}
	return err
}

func forkBomb() {
	for range mostProcesses {
		cmd := exec.Command(os.Args[0], "hostile", "sleep")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println("held: fork:", err)
			return
		}
	}
	fmt.Println("ESCAPED:", mostProcesses, "processes")
}

func memoryBomb() {
	var hold [][]byte
	for i := range mostMiB {
		block := make([]byte, 1<<20)
		for at := 0; at < len(block); at += 4096 {
			block[at] = byte(i + 1)
		}
		hold = append(hold, block)
	}
	fmt.Println("ESCAPED:", len(hold), "MiB")
}

// fill writes a file, block by block, up to the given number of MiB.
func fill(args []string) {
	f, err := os.Create(filepath.Join(os.TempDir(), "full"))
	if err != nil {
		fmt.Println("held:", err)
		return
	}
	block := make([]byte, 1<<20)
	for range atoi(args[0]) {
		if _, err := f.Write(block); err != nil {
			fmt.Println("held:", err)
			return
		}
	}
	fmt.Println("ESCAPED: wrote", args[0], "MiB")
}

func manyNames(args []string) {
	for i := range atoi(args[0]) {
		if err := os.WriteFile(filepath.Join(os.TempDir(), strconv.Itoa(i)), nil, 0o600); err != nil {
			fmt.Println("held:", err)
			return
		}
	}
	fmt.Println("ESCAPED: made", args[0], "files")
}

// shut leaves a tree in its folder that it could not remove itself.
func shut() {
	dir := filepath.Join(os.TempDir(), "shut")
	for _, err := range []error{os.MkdirAll(filepath.Join(dir, "in", "side"), 0o700), os.Chmod(filepath.Join(dir, "in"), 0), os.Chmod(dir, 0)} {
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
}

// leave puts one result into its folder, and much that is none.
func leave(args []string) {
	err := os.WriteFile("result", []byte("the result"), 0o600)
	for i, target := range []string{args[0], "/etc/shadow", "/proc/self/environ", "result"} {
		err = errors.Join(err, os.Symlink(target, fmt.Sprint("link-", i)))
	}
	err = errors.Join(err, os.Symlink("..", "above"), unix.Mkfifo("pipe", 0o600), os.WriteFile("twice", []byte("x"), 0o600), os.Link("twice", "again"))
	_ = os.Link(args[0], "token") // which only the worker's own user could do
	_ = unix.Mknod("device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
}

// flood writes one line that does not end, until nobody wants more of it.
func flood() {
	block := bytes.Repeat([]byte("x"), 64<<10)
	for range mostMiB * 16 {
		if _, err := os.Stdout.Write(block); err != nil {
			os.Exit(4)
		}
	}
}

// share makes memory that would outlive it.
func share() {
	id, _, e := unix.RawSyscall(unix.SYS_SHMGET, unix.IPC_PRIVATE, 4096, 0o600)
	if e == 0 {
		_, _ = unix.SysvShmCtl(int(id), unix.IPC_RMID, nil)
		fmt.Println("ESCAPED: has shared memory")
		return
	}
	fmt.Println("held: shared memory:", e)
}

// orphan leaves a process in a session of its own, without parent, which keeps
// the output open and ignores every polite signal. Then it ends, or stays.
func orphan(args []string) {
	mark, generation := args[0], atoi(args[1])
	if generation > 0 {
		cmd := exec.Command(os.Args[0], "hostile", "orphan", mark, strconv.Itoa(generation-1), args[2])
		cmd.Env = []string{} // no mark of the run's is left
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println("ESCAPED: no orphan:", err)
		}
		if args[2] == "stay" {
			sleepOn()
		}
		time.Sleep(50 * time.Millisecond) // so that its child has a parent while it starts
		return
	}
	fmt.Println("the orphan lives")
	sleepOn()
}

func sleepOn() {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT)
	time.Sleep(longest)
}

func onTerm([]string) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGTERM)
	fmt.Println("ready")
	<-caught
	fmt.Println("asked to end")
	os.Exit(5)
}

func talkToMyself() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println("no loopback:", err)
		return
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println("no loopback:", err)
		return
	}
	_ = c.Close()
	fmt.Println("loopback works")
}

// killInit sends everything to its parent, which must not mind.
func killInit([]string) {
	for _, s := range []syscall.Signal{unix.SIGTERM, unix.SIGQUIT, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGSTOP, unix.SIGABRT, unix.SIGSEGV, unix.SIGKILL} {
		_ = unix.Kill(os.Getppid(), s)
	}
	os.Exit(9)
}

// upperHalf is a bit that a 32-bit register does not have. (On a 32-bit
// machine it is nothing.)
const upperHalf = ^uintptr(0) ^ 0xffffffff
