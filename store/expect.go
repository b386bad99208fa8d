package store

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// expect refuses a change of what is not any more as whoever asks has read it.
// It is asked when the row is locked.
func (c *change) expect(noun, name, present string, changed time.Time) error {
	return core.CheckVersion(c.ctx, noun, name, present, changed, c.now)
}

// expect is that of a document. One that is not there has no version.
func (k docKind[T]) expect(c *change, name string, old T) error {
	present := ""
	if v, is := any(old).(interface{ Version() string }); is {
		present = v.Version()
	}
	return c.expect(spoken(k.noun), name, present, *k.head(&old).updatedAt)
}
