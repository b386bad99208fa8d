package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/belfry-run/belfry/internal/guard"
)

// fault is the error of a failed try.
type fault struct {
	host      string // of the receiver; not a secret
	text      string
	said      string // answer of the receiver
	open      bool   // text was cut, and may end within a secret
	permanent bool
	gone      bool // the receiver wants no more messages
	after     time.Duration
	cause     error // without secrets: the error of a context or of the guard
}

func (f *fault) Error() string { return joined(": ", f.host, f.text, f.said) }

func (f *fault) Unwrap() error { return f.cause }

// Permanent reports whether another try will fail until the channel changes: its
// address or its secret is wrong, the receiver refused the message, or a policy
// of this node forbids it.
func Permanent(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.permanent
}

// Gone reports whether the receiver answered 410: it wants no more messages.
func Gone(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.gone
}

// RetryAfter is how long the receiver asked to wait, at most an hour; 0 if it
// did not ask.
func RetryAfter(err error) time.Duration {
	var f *fault
	if !errors.As(err, &f) {
		return 0
	}
	return f.after
}

// maxRetryAfter limits the delay that a receiver may ask for.
const maxRetryAfter = time.Hour

func bounded(after time.Duration) time.Duration { return min(max(after, 0), maxRetryAfter) }

func permanent(format string, args ...any) *fault {
	return &fault{text: fmt.Sprintf(format, args...), permanent: true}
}

func passing(format string, args ...any) *fault {
	return &fault{text: fmt.Sprintf(format, args...)}
}

// isOver reports whether the deadline of a context has passed. On a machine that stood still, a connection may learn of it
// before the context does.
func isOver(ctx context.Context) bool {
	deadline, set := ctx.Deadline()
	return set && !time.Now().Before(deadline)
}

// broken is a fault of the connection to host. It is temporary, unless the guard
// refused the host.
func broken(ctx context.Context, host, doing string, err error) *fault {
	var denied *guard.Denied
	switch {
	case errors.As(err, &denied):
		return &fault{host: host, text: denied.Error(), permanent: true, cause: denied}
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded) && isOver(ctx):
		f := ended(ctx, doing)
		f.host = host
		return f
	}
	return &fault{host: host, text: fmt.Sprintf("%s: %v", doing, err)}
}
