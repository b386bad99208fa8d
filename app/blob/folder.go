package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/app/internal/pace"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Folder stores artifacts as files:
//
//	key            signs its links; created by the first node that opens the folder
//	sha256/ab/ab…  an artifact, under the first two digits of its digest
//	tmp/…          uploads in progress
//
// Several nodes may share one folder. A folder serves its own links: see
// [Folder.ServeHTTP].
type Folder struct {
	root    *os.Root // gives no access outside of the folder
	path    string
	key     []byte
	options Options
	log     *slog.Logger
	coming  chan struct{} // one slot for each upload in progress
	swept   atomic.Int64  // when tmp was last swept, in Unix seconds

	pace pace.Limits // of a connection; tests lower them
}

const (
	shardRoot = "sha256" // folder of artifacts
	coming    = "tmp"    // folder of uploads in progress

	dirMode  = 0o700
	fileMode = 0o600

	// maxComing is the maximum number of concurrent uploads through links of a node.
	maxComing = 64
)

var _ Store = (*Folder)(nil)

// OpenFolder opens or creates a folder.
func OpenFolder(path string, o Options) (*Folder, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, core.InvalidField("artifacts", "", "the address names no folder", addressHint)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find the folder of artifacts: %w", err)
	}
	if err := os.MkdirAll(path, dirMode); err != nil {
		return nil, core.InvalidField("artifacts", path, "cannot be made: "+err.Error(), "name a folder that this user may write to")
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder of artifacts: %w", err)
	}
	f := &Folder{
		root: root, path: path, options: o, log: o.Logger, coming: make(chan struct{}, maxComing),
		pace: pace.Default,
	}
	if err := f.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the folder of artifacts: %w", err), root.Close())
	}
	return f, nil
}

// prepare creates missing folders. It creates and syncs all shards, so that an
// upload syncs one folder, not two.
func (f *Folder) prepare() error {
	for _, dir := range []string{shardRoot, coming} {
		if err := f.mkdir(dir); err != nil {
			return err
		}
	}
	for i := range 256 {
		if err := f.mkdir(shardDir(i)); err != nil {
			return err
		}
	}
	if err := errors.Join(f.syncDir(shardRoot), f.syncDir(".")); err != nil {
		return err
	}
	f.sweep(time.Now())
	return f.loadKey()
}

func (f *Folder) mkdir(dir string) error {
	if err := f.root.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func shardDir(i int) string { return fmt.Sprintf("%s/%02x", shardRoot, i) }

// place returns the file of a checked digest.
func place(digest string) string { return shardRoot + "/" + digest[:2] + "/" + digest }

// syncDir makes the names in a folder survive a power cut.
func (f *Folder) syncDir(dir string) error {
	if runtime.GOOS == "windows" { // cannot sync a folder
		return nil
	}
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Stat returns the metadata of an artifact.
func (f *Folder) Stat(ctx context.Context, digest string) (Info, error) {
	if err := cmp.Or(ctx.Err(), task.CheckDigest(digest)); err != nil {
		return Info{}, err
	}
	file, err := f.root.Lstat(place(digest))
	if err == nil && !file.Mode().IsRegular() {
		err = fs.ErrNotExist // not an artifact
	}
	if err != nil {
		return Info{}, missing(digest, err)
	}
	return infoOf(file), nil
}

func infoOf(file fs.FileInfo) Info {
	return Info{Digest: file.Name(), Size: file.Size(), Changed: file.ModTime(), Verified: true}
}

func missing(digest string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return notThere(digest)
	}
	return fmt.Errorf("read artifact %s: %w", digest, err)
}

func notThere(digest string) error {
	return core.Errorf(core.NotFound, "there is no artifact %s", digest)
}

// Open reads an artifact.
func (f *Folder) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	return f.open(ctx, digest)
}

func (f *Folder) open(ctx context.Context, digest string) (*os.File, error) {
	// Stat refuses a pipe at this path, whose open would block.
	if _, err := f.Stat(ctx, digest); err != nil {
		return nil, err
	}
	file, err := f.root.Open(place(digest))
	if err != nil {
		return nil, missing(digest, err)
	}
	return file, nil
}

// Delete deletes an artifact. Reads in progress go on to the end.
func (f *Folder) Delete(ctx context.Context, digest string) error {
	if err := cmp.Or(ctx.Err(), task.CheckDigest(digest)); err != nil {
		return err
	}
	// Not synced: a file that a power cut brings back is collected again.
	if err := f.root.Remove(place(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove artifact %s: %w", digest, err)
	}
	return nil
}

// Check reports whether the folder can be used now.
func (f *Folder) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := f.root.Stat(shardRoot); err != nil {
		return core.Errorf(core.Unavailable, "the folder of artifacts cannot be read: %w", err)
	}
	return room(f.path, f.options.KeepFree, 0)
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }
