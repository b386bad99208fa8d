package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// Artifacts stores uploaded programs and outputs. Each namespace has a blob store of its own, so that a namespace cannot find
// the bytes of another. The name of an artifact is namespace/digest. A blob store is opened on first use, so that a namespace
// without artifacts has no folder.
type Artifacts struct {
	*blob.Spool // for files whose digest is not known

	address string // in the syntax of package blob
	options blob.Options

	mu   sync.Mutex
	open map[string]blob.Store // by namespace

	trying chan struct{} // has one slot
	tried  tried
}

// tried is the last result of [Artifacts.Try].
type tried struct {
	namespace string
	at        time.Time
	err       error
}

var (
	_ store.Bytes  = (*Artifacts)(nil)
	_ engine.Bytes = (*Artifacts)(nil)
	_ http.Handler = (*Artifacts)(nil)
)

// NewArtifacts returns the artifacts of a configuration, or nil if it names no place for them. logger and now may be nil.
func NewArtifacts(c config.Config, logger *slog.Logger, now func() time.Time) *Artifacts {
	address := c.WithDefaults().ArtifactStore()
	if address == "" {
		return nil
	}
	a := &Artifacts{address: address, trying: make(chan struct{}, 1)}
	a.options = blob.Options{Logger: logger, MaxSize: task.MaxArtifact, Now: now}
	a.Spool = blob.NewSpool(c.UploadFolder(), a.options)
	return a
}

// folder returns the path of the folder that holds artifacts, or "".
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

// IsFolder reports whether artifacts are in a folder, whose links the node serves itself.
func (a *Artifacts) IsFolder() bool { return a.folder() != "" }

// Origin returns the scheme and host of links to an external service. It is empty if the node serves the links.
func (a *Artifacts) Origin(ctx context.Context) (string, error) {
	if a.IsFolder() {
		return "", nil
	}
	st, err := a.part(ctx, core.DefaultNamespace)
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

// part returns the blob store of a namespace.
func (a *Artifacts) part(ctx context.Context, namespace string) (blob.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if st := a.open[namespace]; st != nil {
		return st, nil
	}
	address, err := blob.Part(a.address, namespace)
	if err != nil {
		return nil, err
	}
	o := a.options
	o.URL = linksPath + namespace
	st, err := blob.Open(ctx, address, o)
	if err != nil {
		return nil, err
	}
	if a.open == nil {
		a.open = map[string]blob.Store{}
	}
	a.open[namespace] = st
	return st, nil
}

// linksPath is the path at which a node serves the links of its folder.
const linksPath = "/artifacts/"

// named returns the blob store and the digest of an artifact.
func (a *Artifacts) named(ctx context.Context, name string) (st blob.Store, digest string, err error) {
	namespace, digest, _ := strings.Cut(name, "/")
	st, err = a.part(ctx, namespace)
	return st, digest, err
}

// Close closes the opened blob stores.
func (a *Artifacts) Close() (err error) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, st := range a.open {
		err = errors.Join(err, st.Close())
	}
	a.open = nil
	return err
}

// SignPut implements [base.Bytes].
func (a *Artifacts) SignPut(ctx context.Context, name string, size int64, expires time.Duration) (task.SignedRequest, error) {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return task.SignedRequest{}, err
	}
	return st.SignPut(ctx, blob.Upload{Digest: digest, Size: size}, expires)
}

// SignGet implements [base.Bytes].
func (a *Artifacts) SignGet(ctx context.Context, name string, expires time.Duration) (task.SignedRequest, error) {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return task.SignedRequest{}, err
	}
	return st.SignGet(ctx, digest, expires)
}

// Has implements [base.Bytes].
func (a *Artifacts) Has(ctx context.Context, name string, size int64) (bool, error) {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return false, err
	}
	info, err := st.Stat(ctx, digest)
	if core.CodeOf(err) == core.NotFound {
		return false, nil
	}
	return err == nil && info.Size == size, err
}

// Verify implements [base.Bytes].
func (a *Artifacts) Verify(ctx context.Context, name string, size int64) error {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return err
	}
	return blob.Verify(ctx, st, blob.Upload{Digest: digest, Size: size})
}

// Put stores bytes without a link.
func (a *Artifacts) Put(ctx context.Context, name string, size int64, r io.Reader) error {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return err
	}
	return st.Put(ctx, blob.Upload{Digest: digest, Size: size}, r)
}

// Open reads an artifact, for a worker of this node.
func (a *Artifacts) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return nil, err
	}
	return st.Open(ctx, digest)
}

// tryWithin limits a try, such as the pause that a person bears.
const tryWithin = 10 * time.Second

// Try stores, reads and deletes an artifact of a namespace. One try runs at a time, and ends also if its caller leaves. Callers
// within a second share its result.
func (a *Artifacts) Try(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	silent := func() error {
		return core.Errorf(core.Unavailable, "the place of artifacts did not answer within %s", core.Duration(tryWithin)).WithHint("see whether its disk or service works")
	}
	select {
	case a.trying <- struct{}{}:
	case <-ctx.Done():
		return silent()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-a.trying }()
		if last := a.tried; last.namespace != namespace || time.Since(last.at) > time.Second {
			trying, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryWithin)
			defer cancel()
			err := blob.Try(trying, a.address, namespace, a.options)
			a.tried = tried{namespace, time.Now(), err}
		}
		done <- a.tried.err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return silent()
	}
}

// Settled implements [engine.Bytes]. It reads one namespace after another.
func (a *Artifacts) Settled(ctx context.Context, after string, n int, before time.Time) (names []string, next string, err error) {
	namespaces, err := blob.Parts(ctx, a.address)
	if err != nil || len(namespaces) == 0 {
		return nil, "", err
	}
	slices.Sort(namespaces)
	namespace, digest, _ := strings.Cut(after, "/")
	i, there := slices.BinarySearch(namespaces, namespace)
	if !there { // the namespace is gone, or this is the first call
		digest = ""
	}
	if i == len(namespaces) {
		return nil, "", nil
	}
	st, err := a.part(ctx, namespaces[i])
	if err != nil {
		return nil, "", err
	}
	infos, err := st.List(ctx, digest, n)
	if err != nil {
		return nil, "", err
	}
	for _, info := range infos {
		if info.Changed.Before(before) {
			names = append(names, namespaces[i]+"/"+info.Digest)
		}
	}
	switch {
	case len(infos) == n:
		next = namespaces[i] + "/" + infos[n-1].Digest
	case i+1 < len(namespaces):
		next = namespaces[i+1] + "/"
	}
	return names, next, nil
}

// Delete implements [engine.Bytes].
func (a *Artifacts) Delete(ctx context.Context, name string) error {
	st, digest, err := a.named(ctx, name)
	if err != nil {
		return err
	}
	return st.Delete(ctx, digest)
}

// ServeHTTP serves the links of a folder. A namespace without a folder is not opened, because opening creates the folder.
func (a *Artifacts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, linksPath), "/")
	address, err := blob.Part(a.address, namespace)
	if err == nil {
		_, err = os.Stat(strings.TrimPrefix(address, "folder:"))
	}
	if err != nil {
		http.Error(w, "this link is not valid for this request", http.StatusForbidden)
		return
	}
	st, err := a.part(r.Context(), namespace)
	h, serves := st.(http.Handler)
	if err != nil || !serves {
		http.Error(w, "the artifacts of this node cannot be reached now", http.StatusServiceUnavailable)
		return
	}
	h.ServeHTTP(w, r)
}

// reachWithin is how long a start waits for the place of artifacts to answer.
const reachWithin = 3 * time.Second

// checkArtifacts opens the configured place, so that a fault of its address fails the start. A place that cannot be used now,
// such as a bucket that refuses the credentials, is logged. It also logs what further nodes need.
func (a *App) checkArtifacts(ctx context.Context) error {
	if a.opt.Artifacts == "" {
		return nil
	}
	st, err := a.artifacts.part(ctx, core.DefaultNamespace)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	if err := st.Check(within); err != nil && ctx.Err() == nil {
		a.log.Warn("artifacts cannot be used now: uploads fail, and output files wait", "error", err)
	}
	if a.artifacts.IsFolder() && a.opt.SQLitePath() == "" {
		a.log.Warn("artifacts are stored in a folder; every node of this database must use the same folder", "artifacts", a.artifacts.folder(),
			"way_out", "a shared file system, or artifacts: s3://BUCKET")
	}
	return nil
}
