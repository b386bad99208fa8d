package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/blob"
	"github.com/belfry-run/belfry/config"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/store"
)

// Artifacts is where uploaded programs lie. It is opened when it is first
// needed, so that who keeps none has no folder for them.
type Artifacts struct {
	address string // as package blob has it
	options blob.Options

	mu sync.Mutex
	st blob.Store
}

var (
	_ store.Bytes  = (*Artifacts)(nil)
	_ engine.Bytes = (*Artifacts)(nil)
	_ http.Handler = (*Artifacts)(nil)
)

// NewArtifacts finds the place that a configuration names, or nil if there is
// none. logger may be nil.
func NewArtifacts(c config.Config, logger *slog.Logger) *Artifacts {
	address := c.WithDefaults().ArtifactStore()
	if address == "" {
		return nil
	}
	return &Artifacts{address: address, options: blob.Options{Logger: logger, MaxSize: belfry.MaxArtifact}}
}

// folder is the path of a folder, or empty.
func (a *Artifacts) folder() string {
	if a == nil {
		return ""
	}
	path, is := strings.CutPrefix(a.address, "folder:")
	if !is {
		return ""
	}
	return path
}

// IsFolder reports whether the node has to serve the links itself.
func (a *Artifacts) IsFolder() bool { return a.folder() != "" }

// Origin is the scheme and host of links, if they lead to a service beside the
// node; empty if the node serves them, or keeps no artifacts.
func (a *Artifacts) Origin(ctx context.Context) (string, error) {
	if a == nil || a.IsFolder() {
		return "", nil
	}
	st, err := a.open(ctx)
	if err != nil {
		return "", err
	}
	if elsewhere, is := st.(interface {
		Origin(ctx context.Context) (string, error)
	}); is {
		return elsewhere.Origin(ctx)
	}
	return "", nil
}

func (a *Artifacts) open(ctx context.Context) (blob.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.st != nil {
		return a.st, nil
	}
	st, err := blob.Open(ctx, a.address, a.options)
	if err == nil {
		a.st = st
	}
	return st, err
}

// Close gives back what was opened.
func (a *Artifacts) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.st == nil {
		return nil
	}
	err := a.st.Close()
	a.st = nil
	return err
}

// SignPut implements [store.Bytes].
func (a *Artifacts) SignPut(ctx context.Context, digest string, size int64, expires time.Duration) (belfry.SignedRequest, error) {
	st, err := a.open(ctx)
	if err != nil {
		return belfry.SignedRequest{}, err
	}
	return st.SignPut(ctx, blob.Upload{Digest: digest, Size: size}, expires)
}

// SignGet implements [store.Bytes].
func (a *Artifacts) SignGet(ctx context.Context, digest string, expires time.Duration) (belfry.SignedRequest, error) {
	st, err := a.open(ctx)
	if err != nil {
		return belfry.SignedRequest{}, err
	}
	return st.SignGet(ctx, digest, expires)
}

// Has implements [store.Bytes].
func (a *Artifacts) Has(ctx context.Context, digest string, size int64) (bool, error) {
	st, err := a.open(ctx)
	if err != nil {
		return false, err
	}
	info, err := st.Stat(ctx, digest)
	if belfry.CodeOf(err) == belfry.NotFound {
		return false, nil
	}
	return err == nil && info.Size == size, err
}

// Verify implements [store.Bytes].
func (a *Artifacts) Verify(ctx context.Context, digest string, size int64) error {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	return blob.Verify(ctx, st, blob.Upload{Digest: digest, Size: size})
}

// Put keeps bytes without a link, for a command that works on the database
// itself.
func (a *Artifacts) Put(ctx context.Context, digest string, size int64, r io.Reader) error {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	return st.Put(ctx, blob.Upload{Digest: digest, Size: size}, r)
}

// Open reads an artifact, for a worker of this node.
func (a *Artifacts) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	st, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	return st.Open(ctx, digest)
}

// Settled implements [engine.Bytes]. A folder that was never needed is not made
// to look into it.
func (a *Artifacts) Settled(ctx context.Context, after string, n int, before time.Time) (digests []string, next string, err error) {
	if path := a.folder(); path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, "", nil
		}
	}
	st, err := a.open(ctx)
	if err != nil {
		return nil, "", err
	}
	infos, err := st.List(ctx, after, n)
	if err != nil {
		return nil, "", err
	}
	for _, info := range infos {
		if info.Changed.Before(before) {
			digests = append(digests, info.Digest)
		}
	}
	if len(infos) == n {
		next = infos[n-1].Digest
	}
	return digests, next, nil
}

// Delete implements [engine.Bytes].
func (a *Artifacts) Delete(ctx context.Context, digest string) error {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	return st.Delete(ctx, digest)
}

// ServeHTTP serves the links of a folder.
func (a *Artifacts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	st, err := a.open(r.Context())
	h, serves := st.(http.Handler)
	if err != nil || !serves {
		http.Error(w, "the artifacts of this node cannot be reached now", http.StatusServiceUnavailable)
		return
	}
	h.ServeHTTP(w, r)
}

// checkArtifacts opens what somebody has named, so that a fault shows at the
// start, and says what nodes beside this one need.
func (a *App) checkArtifacts(ctx context.Context) error {
	if a.opt.Artifacts == "" {
		return nil
	}
	if _, err := a.artifacts.open(ctx); err != nil {
		return err
	}
	if a.artifacts.IsFolder() && a.opt.SQLitePath() == "" {
		a.log.Warn("artifacts lie in a folder; every node of this database must see the same one", "artifacts", a.artifacts.folder(),
			"way_out", "a shared file system, or artifacts: s3://BUCKET")
	}
	return nil
}
