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

// MemoryArtifacts is a store of artifacts in memory, without their bytes: each stored name counts as correct, and has a size.
type MemoryArtifacts struct {
	mu    sync.Mutex
	sizes map[string]int64
}

var _ store.Bytes = (*MemoryArtifacts)(nil)

// NewMemoryArtifacts returns an empty store.
func NewMemoryArtifacts() *MemoryArtifacts { return &MemoryArtifacts{sizes: map[string]int64{}} }

// named adds the default namespace to a digest without one.
func named(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return core.DefaultNamespace + "/" + name
}

// Put stores bytes under a name, or under a digest in the default namespace.
func (s *MemoryArtifacts) Put(name string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[named(name)] = size
}

// Delete removes bytes.
func (s *MemoryArtifacts) Delete(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, named(digest))
}

// Digests lists the stored digests.
func (s *MemoryArtifacts) Digests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.sizes))
}

// SignPut implements [base.Bytes].
func (s *MemoryArtifacts) SignPut(_ context.Context, digest string, _ int64, _ time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{Method: "PUT", URL: "/artifacts/" + digest}, nil
}

// SignGet implements [base.Bytes].
func (s *MemoryArtifacts) SignGet(_ context.Context, digest string, _ time.Duration) (task.SignedRequest, error) {
	return task.SignedRequest{Method: "GET", URL: "/artifacts/" + digest}, nil
}

// Has implements [base.Bytes].
func (s *MemoryArtifacts) Has(_ context.Context, digest string, size int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, there := s.sizes[named(digest)]
	return there && have == size, nil
}

// Verify implements [base.Bytes].
func (s *MemoryArtifacts) Verify(_ context.Context, digest string, size int64) error {
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
