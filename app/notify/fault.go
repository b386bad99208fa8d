package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/guard"
)

// fault is how a try ended that did not end well.
type fault struct {
	host  string // where, not a secret
	text  string
	said  string // by the receiver
	open  bool   // it ends in the middle of something, which may be a secret
	final bool
	gone  bool // the receiver wants no more
	after time.Duration
	cause error // only what holds no secret: a context's end or the guard's no
}

func (f *fault) Error() string { return joined(": ", f.host, f.text, f.said) }

func (f *fault) Unwrap() error { return f.cause }

// Permanent says that trying again will end the same way until the
// channel changes: its address or its secret is wrong, the receiver refused
// the message, or a policy of this node forbids it.
func Permanent(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.final
}

// Gone says that the receiver answered 410: it wants no more messages.
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

// maxRetryAfter bounds what a receiver may ask for.
const maxRetryAfter = time.Hour

func bounded(after time.Duration) time.Duration { return min(max(after, 0), maxRetryAfter) }

func permanent(format string, args ...any) *fault {
	return &fault{text: fmt.Sprintf(format, args...), final: true}
}

func passing(format string, args ...any) *fault {
	return &fault{text: fmt.Sprintf(format, args...)}
}

// broken is a fault of the way to host, which may pass unless it is the
// guard's.
func broken(ctx context.Context, host, doing string, err error) *fault {
	var denied *guard.Denied
	switch {
	case errors.As(err, &denied):
		return &fault{host: host, text: denied.Error(), final: true, cause: denied}
	case ctx.Err() != nil:
		f := ended(ctx, doing)
		f.host = host
		return f
	}
	return &fault{host: host, text: fmt.Sprintf("%s: %v", doing, err)}
}
