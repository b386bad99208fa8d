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

// List returns artifacts in the order of their digests. It reads one shelf
// after another, each a 256th of all.
func (f *Folder) List(ctx context.Context, after string, n int) ([]Info, error) {
	if err := checkPage(after, n); err != nil {
		return nil, err
	}
	var page []Info
	for i := firstShelf(after); i < 256 && len(page) < n; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := f.shelf(i, after)
		if err != nil {
			return nil, fmt.Errorf("list artifacts: %w", err)
		}
		page = append(page, found[:min(len(found), n-len(page))]...)
	}
	return page, nil
}

// firstShelf is where what follows a digest begins.
func firstShelf(after string) int {
	if after == "" {
		return 0
	}
	i, _ := strconv.ParseUint(after[:2], 16, 8) // a digest, which was checked
	return int(i)
}

func (f *Folder) shelf(i int, after string) ([]Info, error) {
	entries, err := fs.ReadDir(f.root.FS(), shelf(i)) // in the order of their names
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
