package base

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Expect refuses a change of an object that has changed since the caller read it. Call it when the row is locked.
func (c *Change) Expect(noun, name, present string, changed time.Time) error {
	return core.CheckVersion(c.Ctx, noun, name, present, changed, c.Now)
}
