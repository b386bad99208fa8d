package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/task"
)

// cache keeps fetched artifacts, named by their digests. A run gets a hard link
// to the file in its own folder, so that it survives an eviction from the cache.
// A file that a program could write to is never in the cache.
type cache struct {
	dir  string
	most int64

	mu   sync.Mutex
	busy map[string]chan struct{} // digests that are being fetched
}

func openCache(dir string, most int64) (*cache, error) {
	c := &cache{dir: dir, most: most, busy: map[string]chan struct{}{}}
	return c, errors.Join(os.MkdirAll(dir, 0o711), c.shrink())
}

// place puts an artifact at the path into. If it is not in the cache, fetch puts
// it there. Of several concurrent runs of one artifact, one fetches it.
func (c *cache) place(ctx context.Context, digest string, size int64, into string, fetch func() error) error {
	if c.most < 0 {
		return fetch()
	}
	free, err := c.take(ctx, digest)
	if err != nil {
		return err
	}
	defer free()
	held := filepath.Join(c.dir, digest)
	if c.use(held, digest, size, into) {
		return nil
	}
	if err := fetch(); err != nil {
		return err
	}
	if size <= c.most {
		_ = os.Link(into, held) // a full cache must not fail this run
	}
	_ = c.shrink()
	return nil
}

// use links a cached artifact to into, and compares it with its digest: the disk
// or another process may have changed it.
func (c *cache) use(held, digest string, size int64, into string) bool {
	if os.Link(held, into) != nil {
		return false
	}
	if !holds(into, digest, size) {
		_, _ = os.Remove(held), os.Remove(into)
		return false
	}
	now := time.Now()
	_ = os.Chtimes(held, now, now)
	return true
}

// holds reports whether a file has exactly these bytes.
func holds(file, digest string, size int64) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(f, size+1))
	return err == nil && n == size && hex.EncodeToString(hash.Sum(nil)) == digest
}

// take locks an artifact: it waits until no other run fetches it.
func (c *cache) take(ctx context.Context, digest string) (free func(), err error) {
	for {
		c.mu.Lock()
		other := c.busy[digest]
		if other == nil {
			done := make(chan struct{})
			c.busy[digest] = done
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.busy, digest)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// shrink deletes the least recently used artifacts until the rest fits. Other
// processes may do so at the same time.
func (c *cache) shrink() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var held []fs.FileInfo
	var sum int64
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && task.IsDigest(info.Name()) {
			held = append(held, info)
			sum += info.Size()
		}
	}
	slices.SortFunc(held, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range held {
		if sum <= max(c.most, 0) {
			break
		}
		if err := os.Remove(filepath.Join(c.dir, info.Name())); err == nil || errors.Is(err, fs.ErrNotExist) {
			sum -= info.Size()
		}
	}
	return nil
}
