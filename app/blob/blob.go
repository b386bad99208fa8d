// Package blob keeps artifacts: bytes that are named by their SHA-256, such as
// an uploaded program or the output of a job.
//
// A [Store] is a [Folder], which needs nothing to be installed, or a [Bucket]
// of an S3 service. [Open] takes either by its address. Bytes go straight
// between a client and the store, by links that are signed for exactly one
// artifact and one method and that expire; who holds a link needs no
// credential and learns none.
//
// # What it guarantees
//
// An artifact is there as a whole or not at all, and its bytes have the digest
// that it is called by. An upload that ends in the middle, or is of another length or
// another content, leaves nothing behind. An artifact never changes: a caller that
// sends it again is told that it is there.
//
// A digest is checked before it becomes part of a path or a key. No
// error and no log line holds a link or a credential.
//
// # What it relies on
//
// The folder is on a disk that renames atomically and honours fsync. An S3
// service compares the SHA-256 of what it is sent and honours If-None-Match,
// as AWS, MinIO and the others of note do; whether it did is in [Info], and
// [Verify] reads what it did not.
//
// # What it does not
//
// It does not know who needs an artifact. A caller that collects unreferenced bytes
// must make the reference first and ask whether it is there second: an
// artifact that was seen may be gone when nothing referred to it meanwhile.
package blob

import (
	"context"
	"io"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Store keeps artifacts. It may be used by many at once.
//
// A digest is the SHA-256 of the bytes in 64 lower-case hexadecimal digits. A
// wrong one is [core.Invalid], an artifact that is not there
// [core.NotFound], one over the limit [core.TooLarge], and a store that is
// full or out of reach [core.Unavailable].
type Store interface {
	// SignPut makes a link that takes exactly these bytes once. A use of it when
	// the artifact is there is answered 412, which is as good as taken.
	SignPut(ctx context.Context, up Upload, expires time.Duration) (SignedRequest, error)
	// SignGet makes a link that gives the artifact, also in parts (Range) and
	// its head alone. It does not look whether it is there.
	SignGet(ctx context.Context, digest string, expires time.Duration) (SignedRequest, error)
	// Stat says what is there.
	Stat(ctx context.Context, digest string) (Info, error)
	// Open reads an artifact. A caller that runs it hashes it again: a disk may rot.
	Open(ctx context.Context, digest string) (io.ReadCloser, error)
	// Put keeps what r gives, which must be exactly these bytes. If they are
	// there, r may not be read, and that is no error.
	Put(ctx context.Context, up Upload, r io.Reader) error
	// Delete removes an artifact. That it is not there is no error.
	Delete(ctx context.Context, digest string) error
	// List returns the next n artifacts in the order of their digests. The first
	// call has an empty after, the next ones the last digest that was seen; fewer
	// than n is the end. n is 1 to [MaxList].
	List(ctx context.Context, after string, n int) ([]Info, error)
	// Check says whether the store can be used now, for a person to read.
	Check(ctx context.Context) error
	// Close gives back what the store holds. Links stay valid.
	Close() error
}

// SignedRequest is a link. Package signed of internal carries it out.
type SignedRequest = task.SignedRequest

// Upload is what a client wants to send.
type Upload struct {
	Digest string // SHA-256, 64 lower-case hexadecimal digits
	Size   int64  // bytes
}

// Info is what a store knows of an artifact.
type Info struct {
	Digest  string
	Size    int64     // bytes
	Changed time.Time // when it came in
	// Verified says that the store itself compared the bytes with the digest
	// when they came in. [Verify] needs not read them then. List of a bucket
	// does not know it.
	Verified bool
}

// Limits that hold for every store.
const (
	// MaxExpires is the longest life of a link. S3 allows no more.
	MaxExpires = 7 * 24 * time.Hour
	// MaxList is how many artifacts a List returns at most.
	MaxList = 1000
	// DefaultMaxSize of an artifact, in bytes.
	DefaultMaxSize = 1 << 30
)

// Verify makes sure that the store holds exactly these bytes, and reads them if
// the store has not compared them itself. Another size or content is a
// [core.Conflict].
func Verify(ctx context.Context, st Store, up Upload) error {
	info, err := st.Stat(ctx, up.Digest)
	if err != nil {
		return err
	}
	if info.Size != up.Size {
		return notThese("the artifact has %d bytes, not %d", info.Size, up.Size)
	}
	if info.Verified {
		return nil
	}
	r, err := st.Open(ctx, up.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	if _, err := io.Copy(io.Discard, newExact(ctx, r, up)); err != nil {
		return asConflict(err)
	}
	return nil
}
