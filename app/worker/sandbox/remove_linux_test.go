package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

func TestFoldersThatAProgramBuiltAreRemoved(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(t *testing.T, dir int){
		"nothing": func(*testing.T, int) {},
		"a folder that nobody may enter": func(t *testing.T, dir int) {
			must(t, unix.Mkdirat(dir, "shut", 0o700), unix.Mkdirat(dir, "shut/in", 0o700), unix.Fchmodat(dir, "shut/in", 0, 0), unix.Fchmodat(dir, "shut", 0, 0))
		},
		"a tree deeper than there are descriptors, and than a path is long": func(t *testing.T, dir int) {
			deep(t, dir, 3000)
		},
		"more names than are read at once": func(t *testing.T, dir int) {
			for i := range 2500 {
				must(t, unix.Mkdirat(dir, string(rune(0x4e00+i)), 0o700))
			}
		},
		"a pipe that nobody writes to": func(t *testing.T, dir int) { must(t, unix.Mkfifoat(dir, "pipe", 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "of a run")
			must(t, os.Mkdir(dir, 0o700))
			fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			must(t, err)
			build(t, fd)
			must(t, unix.Close(fd))
			must(t, os.Chmod(dir, 0), scratch.Remove(dir), scratch.Remove(dir))
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}

func TestRemovingFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	must(t, os.Mkdir(kept, 0o755), os.WriteFile(filepath.Join(kept, "file"), nil, 0o644))
	work := filepath.Join(dir, "work")
	must(t, os.Mkdir(work, 0o700), os.Symlink(kept, filepath.Join(work, "link")), os.Link(filepath.Join(kept, "file"), filepath.Join(work, "name")))
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(kept, link), scratch.Remove(work), scratch.Remove(link))
	if _, err := os.Stat(filepath.Join(kept, "file")); err != nil {
		t.Error(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Error(names, err)
	}
}

// deep makes a folder in a folder in a folder.
func deep(t *testing.T, dir, levels int) {
	t.Helper()
	at, err := unix.Dup(dir)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(at, "d", 0o700))
		below, err := unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err, unix.Close(at))
		at = below
	}
	must(t, unix.Close(at))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A run that shuts its own folder must not keep the slot from the next.
func TestAFolderWithoutPermissionsIsRemoved(t *testing.T) {
	inEach(t, sandbox.None, func(t *testing.T, w world) {
		w.attack("shut").run(t, w)
		nothingIsLeft(t, w)
	})
}
