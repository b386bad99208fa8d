package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/belfry-run/belfry/core"
)

// exact reads exactly the bytes of an upload. It returns the last of them only
// if length and digest match, so that a receiver that counts bytes never takes a
// wrong artifact for a complete one.
type exact struct {
	ctx  context.Context
	r    io.Reader
	up   Upload
	left int64
	sum  hash.Hash
	err  error // io.EOF once all bytes are read and correct
}

// errWrong marks bytes that differ from the announced ones, which is a fault of
// the sender.
var errWrong = errors.New("not the announced bytes")

func newExact(ctx context.Context, r io.Reader, up Upload) *exact {
	return &exact{ctx: ctx, r: r, up: up, left: up.Size, sum: sha256.New()}
}

func (e *exact) Read(p []byte) (int, error) {
	if e.err == nil && e.left == 0 {
		e.err = e.ended()
	}
	if e.err != nil {
		return 0, e.err
	}
	if e.err = e.ctx.Err(); e.err != nil {
		return 0, e.err
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	e.sum.Write(p[:n]) // never fails
	if e.left == 0 {
		e.err = e.ended()
	} else if err != nil {
		e.err = e.short(err)
	}
	if e.err != nil && !errors.Is(e.err, io.EOF) {
		return 0, e.err
	}
	return n, e.err
}

// ended checks the end: no more bytes may follow, and the digest must match.
func (e *exact) ended() error {
	if n, err := io.ReadFull(e.r, make([]byte, 1)); n > 0 {
		return wrong("more than the announced %d bytes were sent", e.up.Size)
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read what is sent: %w", err)
	}
	if err := e.ctx.Err(); err != nil {
		return err
	}
	if got := hex.EncodeToString(e.sum.Sum(nil)); got != e.up.Digest {
		return wrong("what was sent has the SHA-256 %s, not %s", got, e.up.Digest)
	}
	return io.EOF
}

// short returns the error of an upload that ended early.
func (e *exact) short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return wrong("only %d of %d bytes were sent", e.up.Size-e.left, e.up.Size)
	}
	return fmt.Errorf("read what is sent: %w", err)
}

func wrong(format string, args ...any) error {
	return &core.Error{Code: core.Invalid, Message: fmt.Sprintf(format, args...), Err: errWrong}
}

func notThese(format string, args ...any) error {
	return &core.Error{Code: core.Conflict, Message: fmt.Sprintf(format, args...), Err: errWrong}
}

// asConflict turns an error of wrong bytes into one about stored bytes.
func asConflict(err error) error {
	if !errors.Is(err, errWrong) {
		return err
	}
	return notThese("the store holds other bytes under this digest")
}
