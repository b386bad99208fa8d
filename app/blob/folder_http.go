package blob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/belfry-run/belfry/core"
)

// ServeHTTP serves the folder's links. Mount it at Options.URL, for all paths
// below; a link needs no other authorization. A wrapper of the ResponseWriter
// must have an Unwrap method, or nothing is served: without it, deadlines cannot
// be set, and a slow client could hold a connection forever.
//
// Like S3 it answers 412 to a PUT of an existing artifact, and 403 to an invalid
// link.
func (f *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	err := f.hurry(w, r)
	switch {
	case err != nil:
	case r.Method == http.MethodPut:
		err = f.take(w, r)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		err = f.give(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, "an artifact is sent with PUT and fetched with GET", http.StatusMethodNotAllowed)
	}
	if err != nil {
		f.refuse(w, r, err)
	}
}

// hurry limits the wait for the body of a refused request: net/http reads some
// of it before it sends the answer.
func (f *Folder) hurry(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(f.pace.Patience)); err != nil {
		return fmt.Errorf("limit the time of a request: %w", err)
	}
	return nil
}

// take receives an artifact.
func (f *Folder) take(w http.ResponseWriter, r *http.Request) error {
	l, err := f.permitted(r)
	if err != nil {
		return err
	}
	up := Upload{Digest: l.digest, Size: l.size}
	if err := checkUpload(up, f.options.MaxSize); err != nil { // the limit may have been lowered
		return err
	}
	if r.ContentLength < 0 {
		return errNoLength
	}
	if r.ContentLength != up.Size {
		return wrong("the link is for %d bytes, and %d are announced", up.Size, r.ContentLength)
	}
	if f.has(r.Context(), up) {
		return errThere
	}
	select {
	case f.coming <- struct{}{}:
		defer func() { <-f.coming }()
	default:
		return errBusy
	}
	body, err := f.pace.Body(w, r.Body, up.Size)
	if err != nil {
		return err
	}
	if err := f.receive(r.Context(), up, body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// give sends an artifact.
func (f *Folder) give(w http.ResponseWriter, r *http.Request) error {
	l, err := f.permitted(r)
	if err != nil {
		return err
	}
	file, err := f.open(r.Context(), l.digest)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return missing(l.digest, err)
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(f.pace.Longest(info.Size()))); err != nil {
		return fmt.Errorf("limit the time of an answer: %w", err)
	}
	// An uploaded file may not act as a page of this server.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.Header().Set("ETag", `"`+l.digest+`"`)
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}

// Errors of HTTP alone.
var (
	errThere    = errors.New("the artifact is there")
	errBusy     = errors.New("too many artifacts are being sent: try again")
	errNoLength = errors.New("say the length of the artifact: Content-Length")
)

// refuse answers with the text of an error. It logs only faults of the server,
// and never a link.
func (f *Folder) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	message := http.StatusText(status)
	var ours *core.Error
	switch {
	case r.Context().Err() != nil: // the client has disconnected
		f.log.Debug("serve an artifact", "method", r.Method, "error", err)
	case status == http.StatusInternalServerError:
		f.log.Error("serve an artifact", "method", r.Method, "error", err)
	case errors.Is(err, errFull):
		message = err.Error()
	case errors.As(err, &ours):
		message = ours.Error()
	case status != http.StatusRequestTimeout:
		message = err.Error()
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	http.Error(w, message, status)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errThere):
		return http.StatusPreconditionFailed
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, errNoLength):
		return http.StatusLengthRequired
	case errors.Is(err, errFull):
		return http.StatusInsufficientStorage
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	case errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed): // the client has disconnected
		return http.StatusBadRequest
	}
	switch core.CodeOf(err) {
	case core.Invalid:
		return http.StatusBadRequest
	case core.Forbidden:
		return http.StatusForbidden
	case core.NotFound:
		return http.StatusNotFound
	case core.TooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}
