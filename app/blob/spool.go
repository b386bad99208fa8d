package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Spool receives bytes whose digest is known only after the last of them, such as the file of a form. They are in a file of its
// folder meanwhile. A process that dies leaves none of them behind, except on Windows.
type Spool struct {
	dir     string
	options Options
	busy    chan struct{} // one slot for each use in progress
}

const (
	// maxSpools is the maximum number of concurrent uses of a spool.
	maxSpools = 8
	// spoolPiece is how many bytes are received between two looks at the free space.
	spoolPiece = 16 << 20
)

// NewSpool returns a spool in a folder, which it creates at the first use. Of the options it has MaxSize, KeepFree and Logger.
func NewSpool(dir string, o Options) *Spool {
	return &Spool{dir: dir, options: o.withDefaults(), busy: make(chan struct{}, maxSpools)}
}

// Receive reads r to its end, and calls use with the bytes, their digest and their size. The file is deleted when it returns. More
// bytes than MaxSize are [core.TooLarge], and the rest of r is not read. A full disk, and too many uses at once, are
// [core.Unavailable].
func (s *Spool) Receive(ctx context.Context, r io.Reader, use func(file io.ReaderAt, a task.Artifact) error) (err error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		return core.Errorf(core.Unavailable, "%d files are being uploaded to this node", maxSpools).WithHint("try again later")
	}
	file, err := s.create()
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()           // nothing in it is needed
		_ = os.Remove(file.Name()) // on systems that do not remove an open file
	}()
	a, err := s.fill(ctx, file, r)
	if err != nil {
		if errors.Is(err, errFull) {
			s.options.Logger.Error("no space left for uploads", "folder", s.dir, "error", errors.Unwrap(err))
		}
		return err
	}
	return use(file, a)
}

// create creates a file, and removes its name.
func (s *Spool) create() (*os.File, error) {
	err := os.MkdirAll(s.dir, dirMode)
	var file *os.File
	if err == nil {
		file, err = os.CreateTemp(s.dir, "upload-*")
	}
	if err != nil {
		if isFull(err) {
			return nil, kept(err)
		}
		s.options.Logger.Error("uploads cannot be received", "error", err)
		return nil, &core.Error{
			Code: core.Unavailable, Message: "this node cannot keep what is uploaded",
			Hint: "the operator must set state_dir to a folder that the node may write to", Err: err,
		}
	}
	_ = os.Remove(file.Name()) // fails on Windows
	return file, nil
}

// fill copies r to a file.
func (s *Spool) fill(ctx context.Context, file *os.File, r io.Reader) (a task.Artifact, err error) {
	sum := sha256.New()
	from := io.TeeReader(io.LimitReader(r, s.options.MaxSize+1), sum)
	for {
		if err := errors.Join(ctx.Err(), room(s.dir, s.options.KeepFree, spoolPiece)); err != nil {
			return a, err
		}
		n, err := io.CopyN(file, from, spoolPiece)
		a.Size += n
		switch {
		case a.Size > s.options.MaxSize:
			return a, core.Errorf(core.TooLarge, "the file is over the limit of %s", core.SizeText(s.options.MaxSize))
		case errors.Is(err, io.EOF):
			a.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return a, nil
		case isFull(err):
			return a, kept(err)
		case err != nil:
			return a, fmt.Errorf("receive a file: %w", err)
		}
	}
}
