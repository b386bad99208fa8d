// Package signed carries out signed requests: links to artifacts, as a client, a
// worker and the store itself use them. No error of it holds a link.
package signed

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// At makes a link whole that is a path alone: it belongs to the server that
// gave it, whose address is base.
func At(base string, q task.SignedRequest) (task.SignedRequest, error) {
	if !strings.HasPrefix(q.URL, "/") {
		return q, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return q, core.Errorf(core.Invalid, "the link to the artifact is a path, and its server is not known")
	}
	q.URL = strings.TrimRight(base, "/") + q.URL
	return q, nil
}

// expectAbove is the size from which a client asks before it sends a body, so
// that one which is there already is not sent for nothing. A server of Go's
// reads as much before it gives up a connection, and then its answer is lost.
const expectAbove = 256 << 10

// Request is the request of a link, with a body for PUT. A link that is a path
// alone must have been made whole before: see [At].
func Request(ctx context.Context, q task.SignedRequest, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, q.Method, q.URL, body)
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the link to the artifact is not a URL")
	}
	for name, value := range q.Headers {
		// net/http ignores these two among the headers and has fields for them.
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length":
			if r.ContentLength, err = strconv.ParseInt(value, 10, 64); err != nil {
				return nil, core.Errorf(core.Invalid, "the link to the artifact has no valid length")
			}
		case "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	if body != nil && r.ContentLength == 0 {
		r.Body = http.NoBody // otherwise it would be sent in chunks, without a length
	}
	if r.ContentLength > expectAbove {
		r.Header.Set("Expect", "100-continue")
	}
	return r, nil
}

// Send carries out a signed PUT. That the artifact is there already is no
// error. The client should not follow redirects: a body is sent once.
//
// A service that answers before it has read the body may close the connection
// under its own answer. So [core.Unavailable] may also be of an artifact that
// is there; its confirmation tells.
func Send(ctx context.Context, client *http.Client, to task.SignedRequest, body io.Reader) error {
	r, err := Request(ctx, to, body)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return unsent(err)
	}
	defer func() { _ = answer.Body.Close() }() // all that matters was read
	if answer.StatusCode/100 == 2 || answer.StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return refusal(answer)
}

// unsent is why there is no answer, without the link, which [url.Error] repeats.
func unsent(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var ours *core.Error
	if errors.As(err, &ours) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return core.Errorf(core.Unavailable, "the artifact cannot be sent: %w", err)
}

// refusal is the answer of a store that did not take an artifact.
func refusal(answer *http.Response) error {
	code := core.Unavailable // 5xx, and 409 of S3: another upload of the same is on its way
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusLengthRequired:
		code = core.Invalid
	case http.StatusUnauthorized, http.StatusForbidden:
		code = core.Forbidden
	case http.StatusNotFound:
		code = core.NotFound
	case http.StatusRequestEntityTooLarge:
		code = core.TooLarge
	}
	err := core.Errorf(code, "the artifact store answers %d: %s", answer.StatusCode, said(answer))
	if code == core.Forbidden {
		return err.WithHint("the link may have expired: ask for a new one")
	}
	return err
}

// saidMax bounds what is read of an answer, and saidShown what is repeated of it.
const (
	saidMax   = 16 << 10
	saidShown = 300
)

// said is what a store answered, in one line. Of S3's XML it takes code and
// message only: the rest repeats what was signed.
func said(answer *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, saidMax)) // as far as it got
	var fault struct{ Code, Message string }
	text := ""
	switch {
	case xml.Unmarshal(body, &fault) == nil && fault.Code != "":
		text = fault.Code + ": " + fault.Message
	case strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain"):
		text = string(body)
	}
	text, _ = core.CleanText(strings.Join(strings.FieldsFunc(text, isSpaceOrControl), " "), saidShown)
	if text == "" {
		return http.StatusText(answer.StatusCode)
	}
	return text
}

func isSpaceOrControl(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }
