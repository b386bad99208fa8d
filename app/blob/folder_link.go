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

// loadKey reads the key of the folder, or creates it. The key is in the folder
// itself: a process that can read it can read and write the artifacts anyway. To
// revoke all links at once, delete the key and restart the nodes.
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

// makeKey writes a complete file and links it to its name. If another node was
// first, the link fails, and that node's key is used.
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

// SignPut returns a link for these bytes.
func (f *Folder) SignPut(ctx context.Context, up Upload, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(ctx.Err(), checkUpload(up, f.options.MaxSize), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	q := f.sign(link{method: http.MethodPut, digest: up.Digest, size: up.Size}, expires)
	q.Headers = map[string]string{"Content-Length": strconv.FormatInt(up.Size, 10)}
	return q, nil
}

// SignGet returns a link to the artifact.
func (f *Folder) SignGet(ctx context.Context, digest string, expires time.Duration) (SignedRequest, error) {
	if err := cmp.Or(ctx.Err(), task.CheckDigest(digest), checkExpires(expires)); err != nil {
		return SignedRequest{}, err
	}
	return f.sign(link{method: http.MethodGet, digest: digest}, expires), nil
}

// link is a link to an artifact. The signature covers all fields.
type link struct {
	method  string
	digest  string
	size    int64 // of PUT
	expires int64 // Unix seconds
}

func (f *Folder) sign(l link, expires time.Duration) SignedRequest {
	until := f.options.Now().Add(expires)
	l.expires = until.Unix()
	query := url.Values{"expires": {strconv.FormatInt(l.expires, 10)}, "signature": {hex.EncodeToString(f.mac(l))}}
	if l.method == http.MethodPut {
		query.Set("size", strconv.FormatInt(l.size, 10))
	}
	to := strings.TrimSuffix(f.options.URL, "/") + "/" + l.digest + "?" + query.Encode()
	return SignedRequest{Method: l.method, URL: to, Expires: time.Unix(l.expires, 0)}
}

// mac signs a link. No field can contain the line feed that separates them.
func (f *Folder) mac(l link) []byte {
	m := hmac.New(sha256.New, f.key)
	fmt.Fprintf(m, "belfry artifact link 1\n%s\n%s\n%d\n%d", l.method, l.digest, l.size, l.expires)
	return m.Sum(nil)
}

// permitted reads and verifies the link of a request. All faults have the same
// answer, except the expiry of a link with a valid signature.
func (f *Folder) permitted(r *http.Request) (link, error) {
	l, mac, err := readLink(r)
	if err != nil || !hmac.Equal(mac, f.mac(l)) {
		return link{}, core.Errorf(core.Forbidden, "this link is not valid for this request")
	}
	if f.options.Now().Unix() >= l.expires {
		return link{}, core.Errorf(core.Forbidden, "this link has expired: ask for a new one")
	}
	return l, nil
}

// readLink takes the digest from the end of the path. The path before it depends
// on where the handler is mounted.
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
