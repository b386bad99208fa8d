package signed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// Open makes a signed GET. The caller must verify the bytes: see [Copy]. The client
// should not follow redirects.
func Open(ctx context.Context, client *http.Client, link task.SignedRequest) (io.ReadCloser, error) {
	request, err := Request(ctx, link, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) {
			err = outer.Err
		}
		return nil, core.Errorf(core.Unavailable, "its store does not answer: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	_ = answer.Body.Close() // the body is not needed
	code := core.Unavailable
	switch answer.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		code = core.NotFound
	case http.StatusForbidden, http.StatusUnauthorized:
		code = core.Forbidden
	}
	return nil, core.Errorf(code, "its store answers %s", answer.Status)
}

// ErrOther means that the bytes differ from the expected ones. Fetching them again
// does not help.
var ErrOther = errors.New("other bytes than were meant")

// Copy copies exactly the bytes of a digest and size, or fails. It tries to read
// one byte more, to detect longer content.
func Copy(into io.Writer, from io.Reader, digest string, size int64) error {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(into, hash), io.LimitReader(from, size))
	if err != nil {
		return fmt.Errorf("it broke off after %d of %d bytes: %w", n, size, err)
	}
	if n < size {
		return fmt.Errorf("it ended after %d of %d bytes", n, size)
	}
	if more, _ := io.ReadFull(from, make([]byte, 1)); more > 0 {
		return other{fmt.Sprintf("it has more than the %d bytes that it should have", size)}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != digest {
		return other{fmt.Sprintf("its SHA-256 is %s and not %s", got, digest)}
	}
	return nil
}

// other is an [ErrOther] with its reason.
type other struct{ why string }

func (o other) Error() string        { return o.why }
func (o other) Is(target error) bool { return target == ErrOther }
