package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/internal/signed"
	"github.com/belfry-run/belfry/task"
)

// fetchName is what the child is called. No person starts belfry by it.
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
		defer func() { _ = answer.Close() }() // only read
		content = answer
	}
	return o.store(content)
}

func refused(err error) fetched {
	code := core.CodeOf(err)
	return fetched{Error: err.Error(), Final: code == core.NotFound || code == core.Forbidden || code == core.Invalid}
}

// get opens a signed link.
func get(ctx context.Context, link task.SignedRequest) (io.ReadCloser, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerWait
	return signed.Open(ctx, &http.Client{
		Transport:     exchange.Transport{RoundTripper: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, link)
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

func (o order) copy(f *os.File, content io.Reader) fetched {
	if err := signed.Copy(f, content, o.Digest, o.Size); err != nil {
		return fetched{Error: err.Error(), Other: errors.Is(err, signed.ErrOther)}
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
