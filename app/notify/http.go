package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxAnswer limits the bytes that are read of an answer.
const maxAnswer = 16 << 10

// bodyTime is the longest time that the body of an answer takes of a try, once its status is known.
const bodyTime = 5 * time.Second

// answer is the answer of a receiver, with at most maxAnswer bytes of the body.
type answer struct {
	host   string
	status int
	header http.Header
	body   []byte
	whole  bool // body is not cut
}

// post sends one request and turns a failing status into an error. With an error
// it still returns the answer, if there was one.
func (s *Sender) post(ctx context.Context, address string, header http.Header, body []byte) (*answer, error) {
	return s.request(ctx, http.MethodPost, address, header, body)
}

func (s *Sender) request(ctx context.Context, method, address string, header http.Header, body []byte) (*answer, error) {
	ctx, cancel := withDeadline(ctx, DefaultTimeout)
	defer cancel()
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &fault{host: u.Host, text: "the request cannot be made", permanent: true}
	}
	if header != nil {
		req.Header = header
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	req.Header.Set("User-Agent", s.agent)
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, broken(ctx, u.Host, "posting", withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	a := &answer{host: u.Host, status: resp.StatusCode, header: resp.Header}
	// The status decides, whatever becomes of the body.
	defer time.AfterFunc(s.bodyTime, cancel).Stop()
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	a.whole = err == nil && len(a.body) <= maxAnswer
	a.body = a.body[:min(len(a.body), maxAnswer)]
	return a, a.fault()
}

// postJSON posts v.
func (s *Sender) postJSON(ctx context.Context, address string, header http.Header, v any) (*answer, error) {
	return s.post(ctx, address, header, encode(v))
}

// encode writes v as JSON without escaping < > &, which would use up room of the
// channel.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // cannot fail: values are texts and numbers
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// parse parses an address. Its error does not contain the address.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return nil, permanent("its address is not one of http or https (it is kept secret, so it is not shown)")
	}
	return u, nil
}

// withoutURL returns the error within a [url.Error], whose text contains the address.
func withoutURL(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// fault is nil if the receiver accepted the message.
func (a *answer) fault() error {
	if a.status >= 200 && a.status < 300 {
		return nil
	}
	f := &fault{host: a.host, text: "answered " + strconv.Itoa(a.status) + " " + http.StatusText(a.status), after: retryAfter(a.header)}
	switch {
	case a.status >= 300 && a.status < 400:
		f.text += ": redirects are not followed, because a channel's address is where its message and its secret belong; give the final one"
		f.permanent, f.after = true, 0
		return f
	case a.status >= 400 && a.status < 500:
		f.gone = a.status == http.StatusGone
		f.permanent = a.status != http.StatusRequestTimeout && a.status != http.StatusTooEarly && a.status != http.StatusTooManyRequests
	}
	if f.permanent {
		f.after = 0
	}
	a.quote(f)
	return f
}

var pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// quote adds the text of the answer to a fault. Of an HTML page, such as that of a proxy, it adds the title alone.
func (a *answer) quote(f *fault) {
	f.said, f.open = string(a.body), !a.whole
	if kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); kind == "text/html" {
		f.said, f.open = "", false
		if title := pageTitle.FindSubmatch(a.body); title != nil {
			f.said = html.UnescapeString(string(title[1]))
		}
	}
}

// retryAfter reads the header Retry-After, in seconds or as a date.
func retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return secondsOf(seconds)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now := time.Now()
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs // the date in Retry-After is by the same clock
	}
	return bounded(at.Sub(now))
}

func secondsOf(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN too
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// waits raises the delay of a fault if the body asks for a longer one.
func waits(err error, seconds float64) error {
	var f *fault
	if errors.As(err, &f) && !f.permanent {
		f.after = max(f.after, secondsOf(seconds))
	}
	return err
}
