// Package home gives each process a folder of its own below a shared one, and
// finds those of processes that have ended without clearing up. The lock of a
// folder ends with its process, however that ends.
package home

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Home is the folder of one process.
type Home struct {
	Dir  string
	lock *flock.Flock
}

const lockSuffix = ".lock"

// Open makes a folder below dir, which is made as well, and takes over those
// whose processes have ended. All users may pass through them, and only
// this user can list or change them.
func Open(dir string) (own *Home, left []*Home, err error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, nil, err
	}
	// While this is held no process takes a folder for left whose lock is about to come.
	door := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if err := door.Lock(); err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	defer func() { _ = door.Close() }()
	if left, err = abandoned(dir); err != nil {
		return nil, nil, err
	}
	own, err = take(filepath.Join(dir, strings.ToLower(rand.Text())))
	if err == nil && own == nil {
		err = errors.New("a new folder already belongs to another user") // impossible but for a broken lock
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll(left))
	}
	return own, left, os.Mkdir(own.Dir, 0o711)
}

func abandoned(dir string) (left []*Home, err error) {
	locks, err := filepath.Glob(filepath.Join(dir, "*"+lockSuffix))
	if err != nil {
		return nil, err
	}
	for _, name := range locks {
		h, err := take(strings.TrimSuffix(name, lockSuffix))
		if err != nil {
			return nil, errors.Join(err, closeAll(left))
		}
		if h != nil {
			left = append(left, h)
		}
	}
	return left, nil
}

// take locks a folder, or returns nil when its process lives.
func take(dir string) (*Home, error) {
	lock := flock.New(dir+lockSuffix, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil || !locked {
		return nil, errors.Join(err, lock.Close())
	}
	return &Home{Dir: dir, lock: lock}, nil
}

func closeAll(homes []*Home) (err error) {
	for _, h := range homes {
		err = errors.Join(err, h.Close())
	}
	return err
}

// Close unlocks the folder and leaves its contents to a later process. An empty
// folder is removed.
func (h *Home) Close() error {
	if err := os.Remove(h.Dir); err == nil || errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(h.lock.Path())
	}
	return h.lock.Close()
}
