package scratch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Outputs reads a program's folder after its end. It calls take for each regular
// file with one name, in the order of paths, with the path below the folder and
// exactly size bytes. It skips and reports other entries: symbolic links, which
// lead elsewhere; hard links, which may be files of another user; pipes, sockets
// and devices; and names that a person or a program could misread. An error is
// that of the folder itself or of take.
func Outputs(dir string, limits OutputLimits, take func(name string, size int64, content io.Reader) error) (Left, error) {
	h := &outputReader{limits: limits.withDefaults(), take: take}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return h.left, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	top := os.NewFile(uintptr(fd), dir)
	defer func() { _ = top.Close() }()
	return h.left, h.folder(top, "", 1)
}

type outputReader struct {
	limits OutputLimits
	take   func(string, int64, io.Reader) error
	seen   int
	left   Left
}

func (h *outputReader) skip(name, reason string, args ...any) error {
	h.left.Skipped = append(h.left.Skipped, Skipped{strings.ToValidUTF8(name, "\uFFFD"), fmt.Sprintf(reason, args...)})
	return nil
}

// folder reads at most as many names as the limit still allows.
func (h *outputReader) folder(dir *os.File, prefix string, depth int) error {
	names, err := dir.Readdirnames(h.limits.Entries - h.seen + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return h.skip(prefix, "%v", err)
	}
	if more := h.limits.Entries - h.seen; len(names) > more {
		names, h.left.Truncated = names[:more], true
	}
	h.seen += len(names)
	slices.Sort(names)
	for _, name := range names {
		if err := h.entry(dir, name, path.Join(prefix, name), depth); err != nil {
			return err
		}
	}
	return nil
}

// entry checks the type of a name before it opens it, and again afterwards:
// opening a device may have effects, and opening a pipe could block.
func (h *outputReader) entry(dir *os.File, name, full string, depth int) error {
	if !readable(name) {
		return h.skip(full, "its name has characters that cannot be shown")
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return h.skip(full, "%v", err)
	}
	kind := stat.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFDIR && depth >= h.limits.Depth:
		h.left.Truncated = true
		return h.skip(full, "it is deeper than %d folders", h.limits.Depth)
	case kind == unix.S_IFREG && stat.Nlink != 1:
		return h.skip(full, "it has another name (hard link)")
	case kind != unix.S_IFREG && kind != unix.S_IFDIR:
		return h.skip(full, "it is %s", kindName(kind))
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return h.skip(full, "%v", err)
	}
	file := os.NewFile(uintptr(fd), filepath.Base(full))
	defer func() { _ = file.Close() }()
	var again unix.Stat_t
	if err := unix.Fstat(fd, &again); err != nil || again.Dev != stat.Dev || again.Ino != stat.Ino || again.Mode != stat.Mode || again.Nlink != stat.Nlink && kind == unix.S_IFREG {
		return h.skip(full, "it changed while it was looked at")
	}
	if kind == unix.S_IFDIR {
		return h.folder(file, full, depth+1)
	}
	return h.file(file, full, again.Size)
}

func (h *outputReader) file(file *os.File, full string, size int64) error {
	if size > h.limits.Bytes-h.left.Bytes {
		h.left.Truncated = true
		return h.skip(full, "with its %d bytes it is more than the %d that output may have", size, h.limits.Bytes)
	}
	content := &exactly{from: file, left: size}
	if err := h.take(full, size, content); err != nil {
		return err
	}
	h.left.Files++
	h.left.Bytes += size
	return nil
}

// exactly reads the announced number of bytes, or fails: a file that was truncated
// meanwhile must not look complete.
type exactly struct {
	from io.Reader
	left int64
}

func (e *exactly) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.from.Read(b[:min(int64(len(b)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func readable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c == '\\' || !unicode.IsPrint(c) })
}

func kindName(kind uint32) string {
	switch kind {
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}
