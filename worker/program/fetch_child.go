package program

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/signed"
)

// fetchName is what the child is called. Nobody starts belfry by it.
const fetchName = "belfry-fetch"

// initFetch does not return in the child.
func initFetch() {
	if len(os.Args) != 1 || os.Args[0] != fetchName {
		return
	}
	hardenChild()
	answer := obey(context.Background(), os.Stdin)
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// headerWait is how long a store may take to begin its answer. How long the
// rest may take is the worker's to say, which kills this process.
const headerWait = time.Minute

// obey does what the order on its input says.
func obey(ctx context.Context, in io.Reader) fetched {
	input := bufio.NewReader(in)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fetched{Error: "the worker ended"}
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return fetched{Error: err.Error(), Final: true}
	}
	limitFile(o.Size)
	var content io.Reader = input
	if o.Link != nil {
		answer, err := get(ctx, *o.Link)
		if err != nil {
			return refused(err)
		}
		defer func() { _ = answer.Body.Close() }() // only read
		content = answer.Body
	}
	return o.store(content)
}

func refused(err error) fetched {
	code := belfry.CodeOf(err)
	return fetched{Error: err.Error(), Final: code == belfry.NotFound || code == belfry.Forbidden || code == belfry.Invalid}
}

// get opens a signed link. No error of it holds the link.
func get(ctx context.Context, link belfry.SignedRequest) (*http.Response, error) {
	request, err := signed.Request(ctx, link, nil)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerWait
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) {
			err = outer.Err
		}
		return nil, belfry.Errorf(belfry.Unavailable, "its store does not answer: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	_ = answer.Body.Close() // it is not wanted
	code := belfry.Unavailable
	switch answer.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		code = belfry.NotFound
	case http.StatusForbidden, http.StatusUnauthorized:
		code = belfry.Forbidden
	}
	return nil, belfry.Errorf(code, "its store answers %s", answer.Status)
}

// store writes exactly the bytes that were ordered, or nothing.
func (o order) store(content io.Reader) fetched {
	temp := o.Into + ".coming"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fetched{Error: err.Error()}
	}
	answer := o.copy(f, content)
	if err := f.Close(); err != nil && answer.Error == "" {
		answer.Error = err.Error()
	}
	if answer.Error != "" {
		_ = os.Remove(temp)
		return answer
	}
	if err := errors.Join(os.Chmod(temp, 0o555), os.Rename(temp, o.Into), syncDir(filepath.Dir(o.Into))); err != nil {
		return fetched{Error: err.Error()}
	}
	return fetched{}
}

// copy reads one byte more than it takes, to know that there is none.
func (o order) copy(f *os.File, content io.Reader) fetched {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, hash), io.LimitReader(content, o.Size))
	if err != nil {
		return fetched{Error: fmt.Sprintf("it broke off after %d of %d bytes: %v", n, o.Size, err)}
	}
	if n < o.Size {
		return fetched{Error: fmt.Sprintf("it ended after %d of %d bytes", n, o.Size)}
	}
	if more, _ := content.Read(make([]byte, 1)); more > 0 {
		return fetched{Error: fmt.Sprintf("it has more than the %d bytes that it should have", o.Size), Other: true}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != o.Digest {
		return fetched{Error: fmt.Sprintf("its SHA-256 is %s and not %s", got, o.Digest), Other: true}
	}
	if err := f.Sync(); err != nil {
		return fetched{Error: err.Error()}
	}
	return fetched{}
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
