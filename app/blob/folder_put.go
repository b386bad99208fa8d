package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Put stores the bytes of r. The context does not interrupt a read of r.
func (f *Folder) Put(ctx context.Context, up Upload, r io.Reader) error {
	if err := cmp.Or(ctx.Err(), checkUpload(up, f.options.MaxSize)); err != nil {
		return err
	}
	if f.has(ctx, up) {
		return nil
	}
	return f.receive(ctx, up, r)
}

// has reports whether the artifact exists with the right size. A file of another
// size was damaged from outside; the next upload replaces it.
func (f *Folder) has(ctx context.Context, up Upload) bool {
	info, err := f.Stat(ctx, up.Digest)
	return err == nil && info.Size == up.Size
}

// receive writes to a temporary file, and renames it once its content is correct
// and on the disk. Two uploads of the same bytes replace each other's file, which
// is harmless: both match the digest.
func (f *Folder) receive(ctx context.Context, up Upload, r io.Reader) (err error) {
	defer func() {
		if errors.Is(err, errFull) {
			f.log.Error("no space left for artifacts", "error", errors.Unwrap(err))
		}
	}()
	f.sweepSometimes(time.Now())
	if err := room(f.path, f.options.KeepFree, up.Size); err != nil {
		return err
	}
	name := coming + "/" + rand.Text()
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return kept(err)
	}
	defer func() {
		if err != nil {
			_ = f.root.Remove(name) // a remaining file is swept later
		}
	}()
	from := newExact(ctx, r, up)
	_, err = io.Copy(file, from)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return kept(err)
	}
	// The bytes must be on the disk before the name, or a power cut could leave
	// the name with other bytes.
	if err := f.root.Rename(name, place(up.Digest)); err != nil {
		return kept(err)
	}
	return kept(f.syncDir(shardRoot + "/" + up.Digest[:2]))
}

// room refuses an upload that would fill the disk of a folder, which may have the database too.
func room(dir string, keepFree, size int64) error {
	if keepFree < 0 {
		return nil
	}
	free, known := freeBytes(dir)
	if !known || free-size >= keepFree {
		return nil
	}
	return full(fmt.Errorf("%d bytes are free, %d are to stay free: %w", free, keepFree, errFull))
}

// errFull is the error of a full disk.
var errFull = errors.New("no space left")

func full(cause error) error {
	return &core.Error{
		Code: core.Unavailable, Message: "there is no space left for artifacts",
		Hint: "the operator must make room on the disk of the folder of artifacts", Err: cause,
	}
}

// kept explains an error of the disk. It returns errors of the sender unchanged.
func kept(err error) error {
	var ours *core.Error
	switch {
	case err == nil || errors.As(err, &ours):
		return err
	case isFull(err):
		return full(fmt.Errorf("%w: %w", errFull, err))
	}
	return fmt.Errorf("keep artifact: %w", err)
}

// abandoned is the age since the last write at which a file in tmp is deleted.
// No connection may be silent for so long.
const abandoned = time.Hour

// sweepSometimes sweeps once in a while. It is called by uploads, because only they leave files to sweep.
func (f *Folder) sweepSometimes(now time.Time) {
	last := f.swept.Load()
	if now.Unix()-last >= int64(abandoned/time.Second) && f.swept.CompareAndSwap(last, now.Unix()) {
		f.sweep(now)
	}
}

// sweep deletes the files of uploads whose process has died.
func (f *Folder) sweep(now time.Time) {
	f.swept.Store(now.Unix())
	dir, err := f.root.Open(coming)
	if err != nil {
		f.log.Warn("cannot remove unfinished uploads", "error", err)
		return
	}
	defer func() { _ = dir.Close() }() // only read
	files, err := dir.ReadDir(-1)
	if err != nil {
		f.log.Warn("cannot remove unfinished uploads", "error", err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil || now.Sub(info.ModTime()) < abandoned {
			continue
		}
		if err := f.root.Remove(coming + "/" + file.Name()); err == nil {
			f.log.Info("removed an unfinished upload", "bytes", info.Size())
		}
	}
}
