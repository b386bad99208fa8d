package blob_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestSpoolReceivesBytesOfAnUnknownDigest(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "uploads")
	s := blob.NewSpool(dir, blob.Options{MaxSize: 20 << 20})
	for _, size := range []int{0, 1, 16 << 20, 16<<20 + 1, 20 << 20} {
		body := bytes.Repeat([]byte{'a'}, size)
		sum := sha256.Sum256(body)
		err := s.Receive(t.Context(), bytes.NewReader(body), func(file io.ReaderAt, a task.Artifact) error {
			got, err := io.ReadAll(io.NewSectionReader(file, 0, a.Size))
			if err != nil || a.Size != int64(size) || a.SHA256 != hex.EncodeToString(sum[:]) || !bytes.Equal(got, body) {
				t.Errorf("%d bytes: %+v, %d are there, %v", size, a, len(got), err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	isEmpty(t, dir)
}

// What cannot be received is not used, and leaves nothing behind.
func TestSpoolRefuses(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	broke := errors.New("the client has left")
	for name, c := range map[string]struct {
		dir  string
		o    blob.Options
		from io.Reader
		code core.Code
		says string
	}{
		"too many bytes":    {dir, blob.Options{MaxSize: 10}, strings.NewReader("12345678901"), core.TooLarge, "over the limit of 10 B"},
		"a full disk":       {dir, blob.Options{KeepFree: 1 << 60}, strings.NewReader("a"), core.Unavailable, "no space left"},
		"no folder":         {filepath.Join(file, "uploads"), blob.Options{}, strings.NewReader("a"), core.Unavailable, "cannot keep what is uploaded"},
		"a broken transfer": {dir, blob.Options{}, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broke)), core.Internal, broke.Error()},
	} {
		err := blob.NewSpool(c.dir, c.o).Receive(t.Context(), c.from, func(io.ReaderAt, task.Artifact) error {
			t.Errorf("%s: it is used", name)
			return nil
		})
		if core.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	isEmpty(t, dir)
}

func TestSpoolBoundsItsUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := blob.NewSpool(dir, blob.Options{})
	depth := 0
	var again func(io.ReaderAt, task.Artifact) error
	again = func(io.ReaderAt, task.Artifact) error {
		depth++
		return s.Receive(t.Context(), strings.NewReader("x"), again)
	}
	for range 2 { // an ended use gives its slot back
		depth = 0
		if err := again(nil, task.Artifact{}); core.CodeOf(err) != core.Unavailable || depth != blob.MaxSpools+1 {
			t.Errorf("%d uses: %v", depth-1, err)
		}
	}
	isEmpty(t, dir)
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
