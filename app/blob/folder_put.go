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

// Put keeps what r gives. Where it waits for r, the context does not end it.
func (f *Folder) Put(ctx context.Context, up Upload, r io.Reader) error {
	if err := cmp.Or(ctx.Err(), checkUpload(up, f.options.MaxSize)); err != nil {
		return err
	}
	if f.has(ctx, up) {
		return nil
	}
	return f.receive(ctx, up, r)
}

// has says that nothing needs to be sent. A file of another size was damaged
// from outside; it is replaced when its bytes come again.
func (f *Folder) has(ctx context.Context, up Upload) bool {
	info, err := f.Stat(ctx, up.Digest)
	return err == nil && info.Size == up.Size
}

// receive writes to a file apart and renames it when all of it is right and on
// the disk. Two that bring the same bytes rename over each other, which changes
// nothing: both were compared with the digest.
func (f *Folder) receive(ctx context.Context, up Upload, r io.Reader) (err error) {
	f.sweepSometimes(time.Now())
	if err := f.room(up.Size); err != nil {
		return err
	}
	name := coming + "/" + rand.Text()
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return kept(err)
	}
	defer func() {
		if err != nil {
			_ = f.root.Remove(name) // what stays is swept
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
	// The bytes are on the disk before the name is, or a power cut could leave
	// the name with other bytes.
	if err := f.root.Rename(name, place(up.Digest)); err != nil {
		return kept(err)
	}
	return kept(f.syncDir(shelves + "/" + up.Digest[:2]))
}

// room refuses what would fill the disk, which the folder may share with the
// database.
func (f *Folder) room(size int64) error {
	if f.options.KeepFree < 0 {
		return nil
	}
	free, known := freeBytes(f.path)
	if !known || free-size >= f.options.KeepFree {
		return nil
	}
	return full(fmt.Errorf("%d bytes are free, %d are to stay free: %w", free, f.options.KeepFree, errFull))
}

// errFull is what the operating system says when a disk has no room.
var errFull = errors.New("no space left")

func full(cause error) error {
	return &core.Error{
		Code: core.Unavailable, Message: "there is no space left for artifacts",
		Hint: "the operator must make room on the disk of the folder of artifacts", Err: cause,
	}
}

// kept explains an error of the disk. An error of the sender stays as it is.
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

// abandoned is the age from which a file in tmp is abandoned. It counts from
// the last write, and no connection may be silent for so long.
const abandoned = time.Hour

// sweepSometimes needs no caller of its own: only uploads leave anything to sweep.
func (f *Folder) sweepSometimes(now time.Time) {
	last := f.swept.Load()
	if now.Unix()-last >= int64(abandoned/time.Second) && f.swept.CompareAndSwap(last, now.Unix()) {
		f.sweep(now)
	}
}

// sweep removes what uploads left behind that died with their process.
func (f *Folder) sweep(now time.Time) {
	f.swept.Store(now.Unix())
	dir, err := f.root.Open(coming)
	if err != nil {
		f.log.Warn("sweep unfinished uploads", "error", err)
		return
	}
	defer func() { _ = dir.Close() }() // only read
	files, err := dir.ReadDir(-1)
	if err != nil {
		f.log.Warn("sweep unfinished uploads", "error", err)
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
