package blob

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

const keyFile = "key"

// loadKey reads the key of the folder, or makes it. It is kept with what it
// guards: who can read it can read and write the artifacts anyway. To end all
// links at once, remove it and start again.
func (f *Folder) loadKey() error {
	key, err := f.root.ReadFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.makeKey(); err == nil {
			key, err = f.root.ReadFile(keyFile)
		}
	}
	if err != nil {
		return err
	}
	if len(key) != sha256.Size {
		return fmt.Errorf("%s/%s has %d bytes instead of %d: remove it, and links that were given out end", f.path, keyFile, len(key), sha256.Size)
	}
	f.key = key
	return nil
}

// makeKey links a whole file to its name, which fails if another node was
// first: then the other's key is the key.
func (f *Folder) makeKey() (err error) {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	name := coming + "/" + rand.Text()
	if err := f.root.WriteFile(name, key, fileMode); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.root.Remove(name)) }()
	if err := f.sync(name); err != nil {
		return err
	}
	if err := f.root.Link(name, keyFile); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.syncDir(".")
}

func (f *Folder) sync(name string) error {
	file, err := f.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// SignPut makes a link for these bytes.
func (f *Folder) SignPut(ctx context.Context, up Upload, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(ctx.Err(), checkUpload(up, f.options.MaxSize), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	q := f.sign(link{method: http.MethodPut, digest: up.Digest, size: up.Size}, expires)
	q.Headers = map[string]string{"Content-Length": strconv.FormatInt(up.Size, 10)}
	return q, nil
}

// SignGet makes a link that gives the artifact.
func (f *Folder) SignGet(ctx context.Context, digest string, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(ctx.Err(), task.CheckDigest(digest), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	return f.sign(link{method: http.MethodGet, digest: digest}, expires), nil
}

// link is what a signature covers: all of it.
type link struct {
	method  string
	digest  string
	size    int64 // of PUT
	expires int64 // Unix seconds
}

func (f *Folder) sign(l link, expires time.Duration) SignedRequest {
	until := time.Now().Add(expires)
	l.expires = until.Unix()
	query := url.Values{"expires": {strconv.FormatInt(l.expires, 10)}, "signature": {hex.EncodeToString(f.mac(l))}}
	if l.method == http.MethodPut {
		query.Set("size", strconv.FormatInt(l.size, 10))
	}
	to := strings.TrimSuffix(f.options.URL, "/") + "/" + l.digest + "?" + query.Encode()
	return SignedRequest{Method: l.method, URL: to, Expires: time.Unix(l.expires, 0)}
}

// mac signs a link. None of its parts can hold the line feed between them.
func (f *Folder) mac(l link) []byte {
	m := hmac.New(sha256.New, f.key)
	fmt.Fprintf(m, "belfry artifact link 1\n%s\n%s\n%d\n%d", l.method, l.digest, l.size, l.expires)
	return m.Sum(nil)
}

// permitted reads the link of a request. Every fault of it is answered alike,
// but its age only to who holds a valid one.
func (f *Folder) permitted(r *http.Request) (link, error) {
	l, mac, err := readLink(r)
	if err != nil || !hmac.Equal(mac, f.mac(l)) {
		return link{}, core.Errorf(core.Forbidden, "this link is not valid for this request")
	}
	if time.Now().Unix() >= l.expires {
		return link{}, core.Errorf(core.Forbidden, "this link has expired: ask for a new one")
	}
	return l, nil
}

// readLink takes the digest from the end of the path: what is before it is the
// business of the handler that it is mounted below.
func readLink(r *http.Request) (l link, mac []byte, err error) {
	query := r.URL.Query()
	l = link{method: r.Method, digest: r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]}
	if !task.IsDigest(l.digest) {
		return l, nil, errors.New("no digest in the path")
	}
	if l.method == http.MethodHead {
		l.method = http.MethodGet
	}
	if l.method == http.MethodPut {
		if l.size, err = strconv.ParseInt(query.Get("size"), 10, 64); err != nil {
			return l, nil, err
		}
	}
	if l.expires, err = strconv.ParseInt(query.Get("expires"), 10, 64); err != nil {
		return l, nil, err
	}
	mac, err = hex.DecodeString(query.Get("signature"))
	return l, mac, err
}
