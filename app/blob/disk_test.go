//go:build linux

package blob_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
)

// smallDisk is set in the process that sees a small disk at its value.
const smallDisk = "BELFRY_BLOB_SMALL_DISK"

// TestAFullDisk runs itself again in a mount namespace of its own, which takes
// the disk with it when it ends.
func TestAFullDisk(t *testing.T) {
	if dir := os.Getenv(smallDisk); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	t.Parallel()
	again := exec.Command(os.Args[0], "-test.run=^TestAFullDisk$", "-test.v")
	again.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		again.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\nIf the disk cannot be mounted: run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0)", err, out)
	}
}

func onSmallDisk(t *testing.T, dir string) {
	must(t, syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700"))
	s := serve(t, dir, blob.Options{KeepFree: -1})
	big, small := make([]byte, 3<<20), make([]byte, 1<<20)
	_, _ = rand.Read(big) // never fails
	err := s.Put(t.Context(), announce(big), bytes.NewReader(big))
	wantCode(t, err, core.Unavailable)
	err = blob.NewSpool(dir, blob.Options{KeepFree: -1}).Receive(t.Context(), bytes.NewReader(big), func(io.ReaderAt, task.Artifact) error { return nil })
	wantCode(t, err, core.Unavailable)
	to, err := s.SignPut(t.Context(), announce(big), time.Minute)
	must(t, err)
	r, err := signed.Request(t.Context(), to, bytes.NewReader(big))
	must(t, err)
	answer := ask(t, r)
	if answer.StatusCode != http.StatusInsufficientStorage {
		t.Errorf("%s", answer.Status)
	}
	if left := s.tmp(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if all, err := s.List(t.Context(), "", 1); err != nil || len(all) != 0 {
		t.Errorf("kept: %v %v", all, err)
	}
	s.put(t, small) // the room came back
	s.stop()
	if log := s.log.String(); !strings.Contains(log, "no space left") {
		t.Errorf("log: %s", log)
	}
}
