package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
)

// fetchName is the argument zero of the child. No user starts belfry with it.
const fetchName = "belfry-fetch"

// initFetch does not return in the child.
func initFetch() {
	if len(os.Args) != 1 || os.Args[0] != fetchName {
		return
	}
	hardenChild()
	answer := serveFetch(context.Background(), os.Stdin)
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// headerWait is the time limit for a store to begin its answer. The worker
// limits the whole fetch, and kills this process at the limit.
const headerWait = time.Minute

// serveFetch executes the order on the input.
func serveFetch(ctx context.Context, in io.Reader) fetchResponse {
	input := bufio.NewReader(in)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fetchResponse{Error: "the worker ended"}
	}
	var o fetchRequest
	if err := json.Unmarshal(line, &o); err != nil {
		return fetchResponse{Error: err.Error(), Final: true}
	}
	limitFile(o.Size)
	var content io.Reader = input
	if o.Link != nil {
		answer, err := get(ctx, *o.Link, o.CAFile)
		if err != nil {
			return refused(err)
		}
		defer func() { _ = answer.Close() }() // only read
		content = answer
	}
	return o.store(content)
}

func refused(err error) fetchResponse {
	code := core.CodeOf(err)
	return fetchResponse{Error: err.Error(), Final: code == core.NotFound || code == core.Forbidden || code == core.Invalid}
}

// get opens a signed link.
func get(ctx context.Context, link task.SignedRequest, caFile string) (io.ReadCloser, error) {
	roots, err := signed.Authorities(caFile)
	if err != nil {
		return nil, err
	}
	transport := signed.Transport(roots)
	transport.ResponseHeaderTimeout = headerWait
	return signed.Open(ctx, signed.Client(transport), link)
}

// store writes exactly the bytes of the order, or nothing.
func (o fetchRequest) store(content io.Reader) fetchResponse {
	temp := o.Into + ".coming"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fetchResponse{Error: err.Error()}
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
		return fetchResponse{Error: err.Error()}
	}
	return fetchResponse{}
}

func (o fetchRequest) copy(f *os.File, content io.Reader) fetchResponse {
	if err := signed.Copy(f, content, o.Digest, o.Size); err != nil {
		return fetchResponse{Error: err.Error(), Other: errors.Is(err, signed.ErrOther)}
	}
	if err := f.Sync(); err != nil {
		return fetchResponse{Error: err.Error()}
	}
	return fetchResponse{}
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
