package scratch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Remove removes a folder that a program could write to, with its content. It
// follows no link, and handles removed permissions and trees that are deeper than
// the limit of descriptors. No process may still write there. A missing folder is
// no error.
func Remove(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	above, err := os.Open(filepath.Dir(dir))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = above.Close() }()
	r := &remover{}
	if err := r.remove(above, filepath.Base(dir), 0); err != nil {
		return fmt.Errorf("sandbox: remove %s: %w", dir, err)
	}
	return nil
}

// deepest is how many folders are open at the same time. Deeper folders are moved
// to the top first.
const deepest = 64

type remover struct{ top *os.File }

func (r *remover) remove(above *os.File, name string, depth int) error {
	at := int(above.Fd())
	err := unix.Unlinkat(at, name, 0)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR):
		return err
	case unix.Unlinkat(at, name, unix.AT_REMOVEDIR) == nil:
		return nil // it was empty
	}
	dir, err := openForced(at, name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if depth == 0 {
		r.top = dir
	}
	if depth == deepest {
		return unix.Renameat(at, name, int(r.top.Fd()), strings.ToLower(rand.Text()))
	}
	if err := r.empty(dir, depth); err != nil {
		return err
	}
	return unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
}

// empty reads the folder from the start until nothing is left: if names are
// deleted or added during a read, the file system may skip entries.
func (r *remover) empty(dir *os.File, depth int) error {
	for {
		if _, err := dir.Seek(0, 0); err != nil {
			return err
		}
		names, _ := dir.Readdirnames(1000)
		if len(names) == 0 {
			return nil
		}
		for _, name := range names {
			if err := r.remove(dir, name, depth+1); err != nil {
				return err
			}
		}
	}
}

// openForced opens a folder whose owner may have removed his own permissions.
func openForced(at int, name string) (*os.File, error) {
	place, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(place) }()
	var stat unix.Stat_t
	if err := unix.Fstat(place, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&0o700 != 0o700 {
		if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", place), 0o700); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Openat(place, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
