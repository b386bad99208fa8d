package child

import (
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/belfry-run/belfry/internal/monotime"
)

// UntilMessage returns the message about a deadline for the control pipe. It is short enough for an atomic write.
func UntilMessage(t time.Time) []byte {
	return binary.LittleEndian.AppendUint64([]byte{controlUntil}, uint64(monotime.At(t)))
}

// readUntil reads the time after controlUntil. For a truncated message, the time is in the past.
func readUntil(from io.Reader) int64 {
	var text [8]byte
	if _, err := io.ReadFull(from, text[:]); err != nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(text[:]))
}

// deadline is the time at which the init of a run kills all its processes. The
// init enforces it, because a worker that hangs cannot.
type deadline struct {
	setting sync.Mutex
	until   int64
	timer   *time.Timer
	expired bool
}

// setDeadline sets or replaces the deadline.
func (r *reaper) setDeadline(until int64) {
	r.setting.Lock()
	defer r.setting.Unlock()
	if r.expired {
		return
	}
	r.until = until
	if r.timer == nil {
		r.timer = time.AfterFunc(r.left(), r.expire)
		return
	}
	r.timer.Reset(r.left())
}

func (d *deadline) left() time.Duration { return time.Duration(d.until - monotime.Now()) }

// killRetry is the interval at which killing is repeated. A set-up copy that had not yet become the program's user, or a process
// that was started meanwhile, may survive the first kill.
const killRetry = 50 * time.Millisecond

// expire is called by the timer. The deadline may have been extended at the same time.
func (r *reaper) expire() {
	r.setting.Lock()
	defer r.setting.Unlock()
	if left := r.left(); left > 0 && !r.expired {
		r.timer.Reset(left)
		return
	}
	r.expired = true
	r.killAll()
	r.timer.Reset(killRetry)
}

func (d *deadline) hasExpired() bool {
	d.setting.Lock()
	defer d.setting.Unlock()
	return d.expired
}
