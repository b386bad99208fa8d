// Package signed makes signed requests: links to artifacts, for clients, workers and
// the store. Its errors never contain a link.
package signed

import (
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// At completes a link that is only a path with base, the address of the server that
// returned it.
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

// expectAbove is the size from which a client sends Expect: 100-continue, so that
// it does not send a body that is stored already. A Go server reads as many bytes
// before it drops a connection, and then its answer is lost.
const expectAbove = 256 << 10

// Request returns the HTTP request of a link, with a body for PUT. Complete a link
// that is only a path before: see [At].
func Request(ctx context.Context, q task.SignedRequest, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, q.Method, q.URL, body)
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the link to the artifact is not a URL")
	}
	for name, value := range q.Headers {
		// net/http ignores these two headers and has fields for them.
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
		r.Body = http.NoBody // any other empty body would be sent in chunks, without a length
	}
	if r.ContentLength > expectAbove {
		r.Header.Set("Expect", "100-continue")
	}
	return r, nil
}

// Send makes a signed PUT. It is not an error if the artifact is stored already. The
// client should not follow redirects: a body is sent once.
//
// A service that answers before it has read the body may close the connection
// before its answer arrives. So the artifact may be stored even if the error is
// [core.Unavailable]; its confirmation reveals that.
func Send(ctx context.Context, client *http.Client, to task.SignedRequest, body io.Reader) error {
	r, err := Request(ctx, to, body)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return unsent(err)
	}
	defer func() { _ = answer.Body.Close() }() // all needed bytes were read
	if answer.StatusCode/100 == 2 || answer.StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return refusal(answer)
}

// unsent returns why there is no answer, without the link, which [url.Error] contains.
func unsent(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var ours *core.Error
	if errors.As(err, &ours) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	cannot := core.Errorf(core.Unavailable, "the artifact cannot be sent: %w", err)
	if IsUntrusted(err) {
		return cannot.WithHint("name the authority of its certificate with ca_file, or add it to those of the system")
	}
	return cannot.WithHint("check the network, and whether a proxy between limits the size or the time of uploads")
}

// IsUntrusted reports that the certificate of a storage was not trusted.
func IsUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// refusal returns the error of a storage that did not accept an artifact.
func refusal(answer *http.Response) error {
	code := core.Unavailable // 5xx, and 409 of S3: another upload of the same artifact is under way
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
	text := said(answer)
	err := core.Errorf(code, "the artifact store answers %d: %s", answer.StatusCode, text)
	switch named, _, _ := strings.Cut(text, ":"); {
	case slices.Contains([]string{"SignatureDoesNotMatch", "InvalidAccessKeyId", "NoSuchBucket"}, named):
		return err.WithHint("the operator must check the bucket of artifacts, and the credentials that nodes have for it")
	case code == core.Forbidden:
		return err.WithHint("the link may have expired: ask for a new one")
	}
	return err
}

// saidMax is the most bytes that are read of an answer, and saidShown the most that are shown.
const (
	saidMax   = 16 << 10
	saidShown = 300
)

// said returns the answer of a storage in one line. From the XML of S3 it takes only
// code and message, because the rest contains the signed request.
func said(answer *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, saidMax)) // an incomplete answer is used as well
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
