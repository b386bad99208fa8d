package base

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Expect refuses a change of what is not any more as whoever asks has read it.
// It is asked when the row is locked.
func (c *Change) Expect(noun, name, present string, changed time.Time) error {
	return core.CheckVersion(c.Ctx, noun, name, present, changed, c.Now)
}

// expect is that of a document. One that is not there has no version.
func (k DocKind[T]) expect(c *Change, name string, old T) error {
	present := ""
	if v, is := any(old).(interface{ Version() string }); is {
		present = v.Version()
	}
	return c.Expect(Spoken(k.Noun), name, present, *k.Head(&old).UpdatedAt)
}
