package blob

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func checkUpload(up Upload, limit int64) error {
	if err := task.CheckDigest(up.Digest); err != nil {
		return err
	}
	if up.Size < 0 {
		return core.InvalidField("size", "", "is negative", "")
	}
	if up.Size > limit {
		return core.Errorf(core.TooLarge, "the artifact has %d bytes, and %d are allowed", up.Size, limit)
	}
	return nil
}

func checkExpires(d time.Duration) error {
	if d >= time.Second && d <= MaxExpires {
		return nil
	}
	return core.InvalidField("expires", d.String(), "is not between 1s and "+MaxExpires.String(), "")
}

func checkPage(after string, n int) error {
	if n < 1 || n > MaxList {
		return core.InvalidField("n", "", "is not between 1 and 1000", "")
	}
	if after == "" {
		return nil
	}
	return task.CheckDigest(after)
}
