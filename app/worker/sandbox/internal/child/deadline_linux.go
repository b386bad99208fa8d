package child

import (
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/belfry-run/belfry/internal/monotime"
)

// UntilMessage is what the worker writes to the control pipe. It is short enough to be written whole or not at all.
func UntilMessage(t time.Time) []byte {
	return binary.LittleEndian.AppendUint64([]byte{controlUntil}, uint64(monotime.At(t)))
}

// readUntil is what follows controlUntil. Of a message that is cut off the time is long past.
func readUntil(from io.Reader) int64 {
	var text [8]byte
	if _, err := io.ReadFull(from, text[:]); err != nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(text[:]))
}

// deadline is when the init of a run kills all of it. It stands in the init and
// not in the worker, because a worker that hangs kills nothing.
type deadline struct {
	setting sync.Mutex
	until   int64
	timer   *time.Timer
	expired bool
}

// keepUntil sets the time, the first or another.
func (r *reaper) keepUntil(until int64) {
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

// again is how soon everything is killed once more: a copy that was killed around, because it had not yet become the
// program's user, or was born meanwhile, does not outlive the time.
const again = 50 * time.Millisecond

// expire is the timer's. It may have been set off just before the time was put off.
func (r *reaper) expire() {
	r.setting.Lock()
	defer r.setting.Unlock()
	if left := r.left(); left > 0 && !r.expired {
		r.timer.Reset(left)
		return
	}
	r.expired = true
	r.killAll()
	r.timer.Reset(again)
}

func (d *deadline) hasExpired() bool {
	d.setting.Lock()
	defer d.setting.Unlock()
	return d.expired
}
