package frame

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Uploads is the store of uploaded bytes.
type Uploads interface {
	// Origin answers the origin that scripts send bytes to, such as https://bucket.s3.eu-central-1.amazonaws.com, or nothing
	// if that is the node's own.
	Origin(ctx context.Context) (string, error)
	// Receive reads r to its end, and calls use with its bytes, their digest and their size. Nothing of them is left
	// when it returns.
	Receive(ctx context.Context, r io.Reader, use func(file io.ReaderAt, a task.Artifact) error) error
	// Put stores the bytes of an artifact, which was created before, under namespace/digest.
	Put(ctx context.Context, name string, size int64, r io.Reader) error
}

// NoUploads is the store of a node without one.
type NoUploads struct{}

// Origin implements [Uploads].
func (NoUploads) Origin(context.Context) (string, error) { return "", nil }

// Receive implements [Uploads].
func (NoUploads) Receive(context.Context, io.Reader, func(io.ReaderAt, task.Artifact) error) error {
	return core.Errorf(core.Unavailable, "this installation keeps no artifacts").WithHint("the operator must set artifacts to a bucket, or to a folder that all nodes share")
}

// Put implements [Uploads].
func (n NoUploads) Put(ctx context.Context, _ string, _ int64, r io.Reader) error {
	return n.Receive(ctx, r, nil)
}

// HasFiles reports whether a form was sent in the encoding that forms with files have.
func HasFiles(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
}
