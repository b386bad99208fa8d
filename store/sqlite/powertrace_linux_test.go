package sqlite_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// call is a system call of the traced process. Its times are lines of the trace:
// of its begin and of its end.
type call struct {
	begin, end int
	name       string
	args       []string
	result     int64
}

// tracedCalls are all that change files. Some machines lack those with a mark.
const tracedCalls = "write,writev,pwrite64,pwritev,?pwritev2,fsync,fdatasync,sync_file_range,ftruncate,fallocate,?truncate,?creat,?open,openat,?link,linkat,?unlink,unlinkat,?rename,?renameat,?renameat2,?mkdir,mkdirat"

// traceEnv names a trace that a failed test has kept, to be used in place of a new one.
const traceEnv = "BELFRY_TEST_POWER_TRACE"

// loaded is the disk of a load that ran under strace.
func loaded(t *testing.T, synchronous string, clients int) *disk {
	t.Helper()
	text, folder := record(t, synchronous, clients)
	calls, err := parseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := readDisk(folder, calls)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.acks) < 100 || len(d.points) < 100 {
		t.Fatalf("the load has acknowledged %d transitions around %d points, which are too few", len(d.acks), len(d.points))
	}
	return d
}

// record answers a trace and the folder of its load.
func record(t *testing.T, synchronous string, clients int) (text []byte, folder string) {
	t.Helper()
	if kept := os.Getenv(traceEnv); kept != "" {
		text, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		first, text, _ := bytes.Cut(text, []byte("\n"))
		return text, string(first)
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("strace records the writes of the store and is missing: run make setup, or install the package strace: %v", err)
	}
	folder = t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "--seccomp-bpf", "-y", "-xx", "-s", "1048576", "-e", "trace="+tracedCalls, "-o", trace, os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%d,%d", loadEnv, folder, synchronous, powerSeed, clients))
	var said bytes.Buffer
	cmd.Stderr = &said
	if _, err := cmd.Output(); err != nil {
		t.Fatalf("the load under strace, which needs the right to trace its child: %v\n%s", err, said.String())
	}
	if text, err = os.ReadFile(trace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		kept := filepath.Join(os.TempDir(), "belfry-"+t.Name()+".trace")
		if err := os.WriteFile(kept, append([]byte(folder+"\n"), text...), 0o600); err != nil {
			t.Log(err)
		}
		t.Logf("the trace is kept; %s=%s repeats the cuts", traceEnv, kept)
	})
	return text, folder
}

var resultOf = regexp.MustCompile(`\)\s+= ([-?\w]+)`)

// parseTrace reads what strace -f -xx wrote, in the order of begins. Calls that
// failed have done nothing and are left out; so are those that have no end.
func parseTrace(text []byte) (calls []call, err error) {
	open := map[string]call{} // by thread
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 8<<20)
	for n := 1; lines.Scan(); n++ {
		thread, what, _ := strings.Cut(lines.Text(), " ")
		what = strings.TrimLeft(what, " ")
		if strings.HasPrefix(what, "---") || strings.HasPrefix(what, "+++") {
			continue
		}
		c := call{begin: n, end: n}
		rest := ""
		if resumed, found := strings.CutPrefix(what, "<... "); found {
			begun, known := open[thread]
			if !known {
				return nil, fmt.Errorf("line %d of the trace ends a call that has no begin", n)
			}
			delete(open, thread)
			c.begin, c.name, c.args = begun.begin, begun.name, begun.args
			_, rest, _ = strings.Cut(resumed, " resumed>")
		} else {
			var found bool
			if c.name, rest, found = strings.Cut(what, "("); !found {
				return nil, fmt.Errorf("line %d of the trace is no call", n)
			}
		}
		if begun, found := strings.CutSuffix(rest, "<unfinished ...>"); found {
			c.args = append(c.args, arguments(begun)...)
			open[thread] = c
			continue
		}
		found := resultOf.FindStringSubmatchIndex(rest)
		if found == nil {
			return nil, fmt.Errorf("line %d of the trace has no result", n)
		}
		c.args = append(c.args, arguments(rest[:found[0]])...)
		if c.result, err = strconv.ParseInt(rest[found[2]:found[3]], 0, 64); err != nil {
			continue // "?": the process ended meanwhile
		}
		if c.result >= 0 {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b call) int { return a.begin - b.begin })
	return calls, lines.Err()
}

// arguments are parted by commas. With -xx no text contains one.
func arguments(text string) (args []string) {
	for a := range strings.SplitSeq(text, ",") {
		if a = strings.TrimSpace(a); a != "" {
			args = append(args, a)
		}
	}
	return args
}

// unhex is the bytes of "\x61\x62" or of a descriptor, 5<\x2f\x61>.
func unhex(arg string) ([]byte, error) {
	if _, path, found := strings.Cut(arg, "<"); found {
		arg = path
	}
	return hex.DecodeString(strings.NewReplacer(`\x`, "", `"`, "", ">", "").Replace(arg))
}

func TestTracesAreRead(t *testing.T) {
	calls, err := parseTrace([]byte(`7 openat(AT_FDCWD<\x2f\x64>, "\x2f\x64\x2f\x61", O_RDWR|O_CREAT, 0600) = 3<\x2f\x64\x2f\x61>
7 pwrite64(3<\x2f\x64\x2f\x61>, "\x01\x02", 2, 4096 <unfinished ...>
8 fsync(3<\x2f\x64\x2f\x61>)        = 0
8 --- SIGURG {si_signo=SIGURG} ---
7 <... pwrite64 resumed>)           = 2
8 unlink("\x2f\x64\x2f\x61")        = -1 ENOENT (No such file or directory)
8 +++ exited with 0 +++
`))
	if err != nil || len(calls) != 3 {
		t.Fatalf("%+v, %v", calls, err)
	}
	w := calls[1]
	if data, err := unhex(w.args[1]); err != nil || string(data) != "\x01\x02" {
		t.Errorf("%x, %v", data, err)
	}
	if path, err := unhex(w.args[0]); err != nil || string(path) != "/d/a" {
		t.Errorf("%s, %v", path, err)
	}
	if w.name != "pwrite64" || w.begin != 2 || w.end != 5 || w.args[3] != "4096" || w.result != 2 || calls[2].name != "fsync" {
		t.Errorf("%+v", calls)
	}
	if _, err := parseTrace([]byte("7 <... fsync resumed>) = 0\n")); err == nil {
		t.Error("a trace that lacks a begin is read")
	}
}
