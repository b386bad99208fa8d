package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// taken is all that Outputs gives, as one text.
func taken(t *testing.T, dir string, l scratch.OutputLimits) (string, scratch.Left) {
	t.Helper()
	var all []string
	left, err := scratch.Outputs(dir, l, func(name string, size int64, content io.Reader) error {
		text, err := io.ReadAll(content)
		if err != nil || int64(len(text)) != size {
			t.Error(name, len(text), size, err)
		}
		all = append(all, name+"="+string(text))
		return nil
	})
	must(t, err)
	return strings.Join(all, " "), left
}

func TestOutputsAreFilesAndNothingElse(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "token")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t,
		os.WriteFile(secret, []byte("of the worker"), 0o600),
		os.MkdirAll(in("b/c"), 0o755),
		os.WriteFile(in("b/c/deep"), []byte("2"), 0o644),
		os.WriteFile(in("a"), []byte("1"), 0o644),
		os.WriteFile(in("empty"), nil, 0o644),
		os.WriteFile(in("ünï 猫"), []byte("3"), 0o644),
		os.Symlink(secret, in("link")),
		os.Symlink("/etc", in("folder-link")),
		os.Symlink("a", in("harmless-link")),
		os.Link(secret, in("name")),
		unix.Mkfifo(in("pipe"), 0o644),
		os.WriteFile(in("new\nline"), nil, 0o644),
		os.WriteFile(in("bad\xff"), nil, 0o644),
		os.WriteFile(in("\u202etxt.exe"), nil, 0o644),
		os.WriteFile(in(`back\slash`), nil, 0o644),
	)
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err, unix.Bind(socket, &unix.SockaddrUnix{Name: in("socket")}), unix.Close(socket))
	text, left := taken(t, dir, scratch.OutputLimits{})
	if want := "a=1 b/c/deep=2 empty= ünï 猫=3"; text != want || left.Files != 4 || left.Bytes != 3 || left.Truncated {
		t.Errorf("%q instead of %q, %+v", text, want, left)
	}
	reasons := map[string]string{}
	for _, s := range left.Skipped {
		reasons[s.Name] = s.Reason
	}
	badName := "its name has characters that cannot be shown"
	if want := map[string]string{
		"link": "it is a symbolic link", "folder-link": "it is a symbolic link", "harmless-link": "it is a symbolic link",
		"name": "it has another name (hard link)", "pipe": "it is a named pipe", "socket": "it is a socket",
		"new\nline": badName, "bad\uFFFD": badName, "\u202etxt.exe": badName, `back\slash`: badName,
	}; !reflect.DeepEqual(reasons, want) {
		t.Errorf("%q", reasons)
	}
}

func TestRootSkipsDevicesInOutput(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	must(t, unix.Mknod(filepath.Join(dir, "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	if text, left := taken(t, dir, scratch.OutputLimits{}); text != "" || len(left.Skipped) != 1 || left.Skipped[0].Reason != "it is a device" {
		t.Errorf("%q %+v", text, left)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 50 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d", i)), make([]byte, 100), 0o644))
	}
	if _, left := taken(t, dir, scratch.OutputLimits{Entries: 10}); left.Files != 10 || !left.Truncated {
		t.Errorf("%+v", left)
	}
	if _, left := taken(t, dir, scratch.OutputLimits{Bytes: 450}); left.Files != 4 || left.Bytes != 400 || !left.Truncated || len(left.Skipped) != 46 {
		t.Errorf("%+v", left)
	}
	must(t, os.Truncate(filepath.Join(dir, "00"), 1<<43)) // a hole, which takes no room
	if _, left := taken(t, dir, scratch.OutputLimits{}); left.Files != 49 || len(left.Skipped) != 1 {
		t.Errorf("%+v", left)
	}
	must(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 20)), 0o755))
	if _, left := taken(t, dir, scratch.OutputLimits{}); !left.Truncated || !strings.HasPrefix(left.Skipped[1].Name, "d/d/") {
		t.Errorf("%+v", left)
	}
}

func TestOutputThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644), os.Symlink(dir, filepath.Join(dir, "link")))
	full := errors.New("the store is full")
	if _, err := scratch.Outputs(dir, scratch.OutputLimits{}, func(string, int64, io.Reader) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	for _, name := range []string{"a", "link", "nothing"} {
		if _, err := scratch.Outputs(filepath.Join(dir, name), scratch.OutputLimits{}, nil); err == nil {
			t.Errorf("%s is no folder", name)
		}
	}
}

// Outputs of a real program that leaves tricky entries.
func TestTheWorkerReadsTheOutputsOfAProgram(t *testing.T) {
	alsoInGVisor(t, promised(), func(t *testing.T, w world) {
		token := secret(t)
		out := filepath.Join(public(t), "out")
		must(t, os.Mkdir(out, 0o755))
		a := w.attack("leave", token)
		a.Writable, a.Dir = []sandbox.Mount{{Source: out}}, out
		a.run(t, w)
		text, left := taken(t, out, scratch.OutputLimits{})
		if text != "result=the result" || len(left.Skipped) < 5 {
			t.Errorf("%q %+v\n%s", text, left, a.out.String())
		}
		must(t, scratch.Remove(out))
	})
}
