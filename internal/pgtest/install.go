//go:build linux || darwin

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// binEnv names the only folder to take the binaries from.
const binEnv = "BELFRY_PG_BIN"

// install is how to install a missing PostgreSQL.
const install = `These tests need PostgreSQL 15 or newer and are never skipped. They start a throwaway server
themselves; only the programs must be installed:

	apt-get install -y --no-install-recommends postgresql

or "make setup", or set ` + binEnv + ` to the folder that holds postgres and initdb.`

// MissingError is the error if no PostgreSQL is found. It names the searched folders and the way to install it.
type MissingError struct {
	Looked []string // folders that do not hold both programs
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("pgtest: found no postgres and initdb in %s\n\n%s",
		strings.Join(e.Looked, ", "), install)
}

// findBinaries returns the folder that holds postgres and initdb.
func findBinaries() (string, error) {
	folders := binFolders()
	for _, dir := range folders {
		if executable(filepath.Join(dir, "postgres")) && executable(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	return "", &MissingError{Looked: folders}
}

// binFolders lists the folders to search, in order: the one that the user names, else PATH, else
// Debian's folders (outside PATH, one per version, newest first).
func binFolders() []string {
	if dir := os.Getenv(binEnv); dir != "" {
		return []string{dir}
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // fails only for a malformed pattern
	slices.SortFunc(debian, func(a, b string) int { return debianVersion(b) - debianVersion(a) })
	if len(debian) == 0 {
		debian = []string{"/usr/lib/postgresql/*/bin"} // for the message
	}
	var folders []string
	for _, dir := range slices.Concat(filepath.SplitList(os.Getenv("PATH")), debian, []string{"/usr/local/bin"}) {
		if filepath.IsAbs(dir) && !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	return folders
}

func debianVersion(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // other names sort last
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// serverUser returns the user for PostgreSQL: nil means the present user. PostgreSQL refuses to run as
// root, so root runs it under another account.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if errUID == nil && errGID == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("pgtest: PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
}

// makeFolder creates the folder of one server.
func makeFolder(who *syscall.Credential, durable bool) (string, error) {
	dir, err := os.MkdirTemp(folderBase(who, durable), "belfry-pg-")
	if err != nil {
		return "", fmt.Errorf("pgtest: make a folder for PostgreSQL: %w", err)
	}
	if who == nil {
		return dir, nil
	}
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		return "", errors.Join(fmt.Errorf("pgtest: give the folder to PostgreSQL's user: %w", err), os.Remove(dir))
	}
	return dir, nil
}

// folderBase chooses the parent of the folder: TMPDIR, else memory, else the disk. A database is 300
// files, which memory creates in 10 ms, and a slow disk in 250 ms. The server's user must be able to
// enter the folder, and the name of a unix socket must still fit.
func folderBase(who *syscall.Credential, durable bool) string {
	const (
		memory  = "/dev/shm"
		enough  = 2 << 30                                           // a container without --shm-size has 64 MB
		longest = 103 - len("/belfry-pg-4294967295/.s.PGSQL.65535") // a socket's path: 104 bytes on macOS, 108 on Linux
	)
	if os.Getenv("TMPDIR") == "" && !durable && freeBytes(memory) >= enough {
		return memory
	}
	if base := os.TempDir(); len(base) <= longest && (who == nil || reachable(base)) {
		return base
	}
	return "/tmp"
}

// freeBytes returns the free space in the file system of dir, 0 if dir does not exist.
func freeBytes(dir string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}

// reachable reports whether every user may enter dir and the folders above it.
func reachable(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
