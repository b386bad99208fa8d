package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/kill"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// slot is the place of one run on this machine: a locked file that records the
// resources of the run before they are created. The lock ends with the worker. A
// free slot that is not empty belongs to a run that was not cleaned up.
type slot struct {
	file *os.File
	ids  *os.File // holds the user ids; nil without root
	base int      // the first of the two
	record
}

// record lists the resources that a run leaves without a cleanup.
type record struct {
	ID     string
	Users  bool     // every process of the slot's two users is the run's
	Groups []string // folders of control groups
	Dir    string   // its folder for temporary files
	Lent   []string // writable mounts that belong to its user during the run
}

// patience is how long the kernel may take to end a killed process.
const patience = 10 * time.Second

// takeSlot takes the first free slot, and removes the leftovers in it.
func (s *Sandbox) takeSlot() (*slot, error) {
	var broken error
	for n := range s.options.Slots {
		taken, err := s.slot(n)
		if taken != nil {
			return taken, nil
		}
		// A slot that cannot be cleaned must not block the others.
		broken = errors.Join(broken, err)
	}
	return nil, errors.Join(fmt.Errorf("sandbox: none of the %d slots of %s is free", s.options.Slots, s.options.StateDir), broken)
}

// slot takes a slot, or returns nil if another run has it.
func (s *Sandbox) slot(n int) (*slot, error) {
	f, err := os.OpenFile(filepath.Join(s.options.StateDir, fmt.Sprintf("slot-%d", n)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	t := &slot{file: f, base: s.options.UIDBase + 2*n}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = t.holdIDs()
		if strangers := errors.Is(err, unix.EWOULDBLOCK); strangers || err == nil {
			err = errors.Join(err, t.clearOld(strangers))
		}
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, t.free()
	case err != nil:
		return nil, errors.Join(err, t.free())
	}
	// 64 of the 130 bits are enough for a unique name.
	t.ID = strings.ToLower(rand.Text()[:13])
	return t, nil
}

// idsDir is the same for all workers of a machine, with any StateDir: two runs
// with the same user id would kill each other.
const idsDir = "/run/belfry-uids"

// holdIDs locks the slot's user ids on this machine.
func (t *slot) holdIDs() error {
	if os.Geteuid() != 0 {
		return nil
	}
	err := openState(idsDir)
	if err != nil {
		return err
	}
	t.ids, err = os.OpenFile(filepath.Join(idsDir, fmt.Sprint(t.base)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return unix.Flock(int(t.ids.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// clearOld removes the leftovers of a dead worker. An unreadable record was never
// written completely, so no resource was created. With strangers, other runs or
// the run's own init hold the slot's user ids, and their processes are not killed.
func (t *slot) clearOld(strangers bool) error {
	text, err := io.ReadAll(io.NewSectionReader(t.file, 0, 1<<20))
	if err != nil || json.Unmarshal(text, &t.record) != nil {
		return err
	}
	t.Users = t.Users && !strangers
	return t.clear()
}

// write writes the record. It must be called before the recorded resources are created.
func (t *slot) write() error {
	text, err := json.Marshal(t.record)
	if err != nil {
		return err
	}
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	if _, err = t.file.WriteAt(text, 0); err != nil {
		return err
	}
	return t.file.Sync() // otherwise a power cut could lose the record but leave the folder
}

// clear kills all processes of a run and removes its resources.
func (t *slot) clear() error {
	cgroup.KillAll(t.Groups)
	var err error
	if t.Users {
		err = errors.Join(kill.User(t.base+1, t.base), kill.User(t.base, t.base+1))
	}
	err = errors.Join(err, cgroup.Remove(t.Groups, patience))
	if t.Dir != "" {
		err = errors.Join(err, scratch.Unbound(t.Dir), scratch.Remove(t.Dir))
	}
	for _, path := range t.Lent {
		err = errors.Join(err, revokeMount(path))
	}
	if err != nil {
		return err // the record stays, for the next try
	}
	t.record = record{}
	return t.file.Truncate(0)
}

// free releases the slot.
func (t *slot) free() error {
	if t.ids == nil {
		return t.file.Close()
	}
	return errors.Join(t.ids.Close(), t.file.Close())
}

// grantMount makes the run's user the owner of a writable mount, but not of its content:
// a program may have created links to other places there.
func grantMount(path string, uid int) error { return setOwner(path, uid, 0) }

// revokeMount restores the owner of a mount, and removes access: the next run in the
// slot has the same user. A link was refused and never lent.
func revokeMount(path string) error {
	err := setOwner(path, os.Geteuid(), 0o077)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

func setOwner(path string, uid int, without uint32) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if kind := stat.Mode & unix.S_IFMT; kind != unix.S_IFDIR && (kind != unix.S_IFREG || stat.Nlink != 1) {
		return fmt.Errorf("%s is neither a folder nor a file with one name", path)
	}
	if err := unix.Fchown(fd, uid, uid); err != nil {
		return err
	}
	return unix.Fchmod(fd, stat.Mode&0o7777&^without)
}

// openState creates the folder of runs, and checks it: in a shared parent, another
// user could have created it first.
func openState(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(dir, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != os.Geteuid() || stat.Mode&0o022 != 0 {
		return fmt.Errorf("sandbox: %s must be a folder that only this user can write to", dir)
	}
	return nil
}

// sweep removes the leftovers of dead workers.
func (s *Sandbox) sweep() error {
	files, err := filepath.Glob(filepath.Join(s.options.StateDir, "slot-*"))
	for _, name := range files {
		var n int
		if _, e := fmt.Sscanf(filepath.Base(name), "slot-%d", &n); e != nil {
			continue
		}
		t, e := s.slot(n)
		if t != nil {
			e = t.free()
		}
		err = errors.Join(err, e)
	}
	return err
}
