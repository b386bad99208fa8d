package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Try stores, reads and deletes an artifact of random bytes in a part of the store at an address. A part that does not exist is
// not created: a folder then gets a part with another name, which Try removes. The call leaves nothing behind, but for the old
// version in a bucket with versioning.
func Try(ctx context.Context, address, part string, o Options) error {
	address, remove, err := placeToTry(address, part)
	if err != nil {
		return err
	}
	return errors.Join(tryAt(ctx, address, o), remove())
}

// tryAt tries the store at an address.
func tryAt(ctx context.Context, address string, o Options) (err error) {
	st, err := Open(ctx, address, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	content := []byte("belfry doctor " + rand.Text())
	sum := sha256.Sum256(content)
	up := Upload{Digest: hex.EncodeToString(sum[:]), Size: int64(len(content))}
	if err := st.Put(ctx, up, bytes.NewReader(content)); err != nil {
		_ = st.Delete(ctx, up.Digest) // a failed Put may have stored them
		return err
	}
	return errors.Join(readBack(ctx, st, up, content), st.Delete(ctx, up.Digest))
}

func readBack(ctx context.Context, st Store, up Upload, want []byte) error {
	r, err := st.Open(ctx, up.Digest)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(io.LimitReader(r, up.Size+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return core.Errorf(core.Unavailable, "the store of artifacts returned other bytes than it was given")
	}
	return nil
}

// placeToTry returns the address to try, and a function that removes what was created for it.
func placeToTry(address, part string) (at string, remove func() error, err error) {
	at, err = Part(address, part)
	path, isFolder := strings.CutPrefix(at, "folder:")
	if err != nil || !isFolder {
		return at, func() error { return nil }, err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return at, func() error { return nil }, err
	}
	root := filepath.Dir(path)
	var made []string // the innermost first
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	clean := func() error { return nil }
	if err = os.MkdirAll(root, dirMode); err == nil {
		path, err = os.MkdirTemp(root, ".try-")
		clean = func() error { return os.RemoveAll(path) }
	}
	remove = func() error {
		err := clean()
		for _, dir := range made {
			_ = os.Remove(dir) // it has an artifact by now
		}
		return err
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("create a folder of artifacts: %w", err), remove())
	}
	return "folder:" + path, remove, nil
}
