package storetest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/seal"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// Shelf is a store of artifacts in memory, without their bytes: what is put
// there is right, and has a size.
type Shelf struct {
	mu    sync.Mutex
	sizes map[string]int64
}

var _ store.Bytes = (*Shelf)(nil)

// NewShelf makes an empty one.
func NewShelf() *Shelf { return &Shelf{sizes: map[string]int64{}} }

// named is a digest with its namespace, by default that of the same name.
func named(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return core.DefaultNamespace + "/" + name
}

// Put brings bytes of a name, or of a digest in the default namespace.
func (s *Shelf) Put(name string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[named(name)] = size
}

// Delete removes them.
func (s *Shelf) Delete(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, named(digest))
}

// Digests lists what is there.
func (s *Shelf) Digests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.sizes))
}

// SignPut implements [base.Bytes].
func (s *Shelf) SignPut(_ context.Context, digest string, _ int64, _ time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{Method: "PUT", URL: "/artifacts/" + digest}, nil
}

// SignGet implements [base.Bytes].
func (s *Shelf) SignGet(_ context.Context, digest string, _ time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{Method: "GET", URL: "/artifacts/" + digest}, nil
}

// Has implements [base.Bytes].
func (s *Shelf) Has(_ context.Context, digest string, size int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, there := s.sizes[named(digest)]
	return there && have == size, nil
}

// Verify implements [base.Bytes].
func (s *Shelf) Verify(_ context.Context, digest string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, there := s.sizes[named(digest)]
	switch {
	case !there:
		return core.Errorf(core.NotFound, "there is no artifact %s", digest)
	case have != size:
		return core.Errorf(core.Conflict, "the artifact has %d bytes, not %d", have, size)
	}
	return nil
}

func newSealer(t *testing.T) store.Sealer {
	t.Helper()
	return &seal.File{Path: filepath.Join(t.TempDir(), "belfry.key"), Own: true}
}
