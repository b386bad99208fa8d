// Package blob stores artifacts: bytes that are named by their SHA-256, such as
// an uploaded program or the output of a job.
//
// A [Store] is a [Folder], which needs no other service, or a [Bucket] of an S3
// service. [Open] opens either by its address. Clients send bytes to the store
// and receive them from it directly, through signed links. A link is valid for
// one artifact and one method, and expires; its holder needs no credentials and
// learns none.
//
// # Guarantees
//
// An artifact exists as a whole or not at all, and its bytes match its digest.
// An upload that breaks off, or has another length or content, leaves nothing
// behind. An artifact never changes: another upload of it is answered that it
// exists.
//
// A digest is checked before it becomes part of a path or a key. No
// error and no log line holds a link or a credential.
//
// # Requirements
//
// The folder is on a disk that renames atomically and honours fsync. An S3
// service compares the SHA-256 of an upload and honours If-None-Match, as AWS,
// MinIO and other common services do. [Info] says whether the service compared
// the digest; if not, [Verify] reads the bytes.
//
// # Limits
//
// The package does not know references to artifacts. A caller that deletes
// unreferenced bytes must create a reference first, and then check that the
// artifact exists: without a reference it may be deleted at any time.
package blob

import (
	"context"
	"io"
	"time"

	"github.com/belfry-run/belfry/task"
)

// Store stores artifacts. It is safe for concurrent use.
//
// A digest is the SHA-256 of the bytes in 64 lower-case hexadecimal digits. An
// invalid digest is [core.Invalid], a missing artifact [core.NotFound], an
// artifact over the limit [core.TooLarge], and a store that is full or
// unreachable [core.Unavailable].
type Store interface {
	// SignPut returns a link that accepts exactly these bytes once. If the
	// artifact already exists, a use of the link is answered 412, which counts as
	// success.
	SignPut(ctx context.Context, up Upload, expires time.Duration) (SignedRequest, error)
	// SignGet returns a link to the artifact, which also serves ranges and HEAD.
	// It does not check that the artifact exists.
	SignGet(ctx context.Context, digest string, expires time.Duration) (SignedRequest, error)
	// Stat returns the metadata of an artifact.
	Stat(ctx context.Context, digest string) (Info, error)
	// Open reads an artifact. Before running it, hash it again: a disk may corrupt data.
	Open(ctx context.Context, digest string) (io.ReadCloser, error)
	// Put stores the bytes of r, which must match up. If the artifact already
	// exists, Put may leave r unread and returns nil.
	Put(ctx context.Context, up Upload, r io.Reader) error
	// Delete deletes an artifact. A missing artifact is no error.
	Delete(ctx context.Context, digest string) error
	// List returns the next n artifacts in the order of their digests. after is
	// empty in the first call, and then the last returned digest. Fewer than n
	// artifacts mark the end. n is 1 to [MaxList].
	List(ctx context.Context, after string, n int) ([]Info, error)
	// Check reports whether the store can be used now, for a person to read.
	Check(ctx context.Context) error
	// Close releases the resources of the store. Links stay valid.
	Close() error
}

// SignedRequest is a link. Package internal/signed sends it.
type SignedRequest = task.SignedRequest

// Upload describes the bytes of an upload.
type Upload struct {
	Digest string // SHA-256, 64 lower-case hexadecimal digits
	Size   int64  // bytes
}

// Info is the metadata of an artifact.
type Info struct {
	Digest  string
	Size    int64     // bytes
	Changed time.Time // time of the upload
	// Verified reports that the store compared the bytes with the digest at the
	// upload; [Verify] then does not read them. List of a bucket does not set it.
	Verified bool
}

// Limits that hold for every store.
const (
	// MaxExpires is the longest life of a link. S3 allows no more.
	MaxExpires = 7 * 24 * time.Hour
	// MaxList is the maximum number of artifacts that List returns.
	MaxList = 1000
	// DefaultMaxSize is the default maximum size of an artifact, in bytes.
	DefaultMaxSize = 1 << 30
)

// Verify checks that the store holds exactly these bytes. It reads them if the
// store did not compare them at the upload. Another size or content is
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
