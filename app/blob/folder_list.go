package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/task"
)

// List returns artifacts in the order of their digests. It reads one shard
// after another, each with 1/256 of all artifacts.
func (f *Folder) List(ctx context.Context, after string, n int) ([]Info, error) {
	if err := checkPage(after, n); err != nil {
		return nil, err
	}
	var page []Info
	for i := firstShard(after); i < 256 && len(page) < n; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := f.listShard(i, after)
		if err != nil {
			return nil, fmt.Errorf("list artifacts: %w", err)
		}
		page = append(page, found[:min(len(found), n-len(page))]...)
	}
	return page, nil
}

// firstShard returns the shard that holds the next artifact after a digest.
func firstShard(after string) int {
	if after == "" {
		return 0
	}
	i, _ := strconv.ParseUint(after[:2], 16, 8) // the digest was checked before
	return int(i)
}

func (f *Folder) listShard(i int, after string) ([]Info, error) {
	entries, err := fs.ReadDir(f.root.FS(), shardDir(i)) // sorted by name
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() <= after || !task.IsDigest(e.Name()) || !e.Type().IsRegular()
	})
	infos := make([]Info, 0, len(entries))
	for _, entry := range entries {
		file, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, infoOf(file))
	}
	return infos, nil
}
