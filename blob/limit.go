package blob

import (
	"time"

	"github.com/belfry-run/belfry"
)

func checkUpload(up Upload, limit int64) error {
	if err := belfry.CheckDigest(up.Digest); err != nil {
		return err
	}
	if up.Size < 0 {
		return belfry.InvalidField("size", "", "is negative", "")
	}
	if up.Size > limit {
		return belfry.Errorf(belfry.TooLarge, "the artifact has %d bytes, and %d are allowed", up.Size, limit)
	}
	return nil
}

func checkExpires(d time.Duration) error {
	if d >= time.Second && d <= MaxExpires {
		return nil
	}
	return belfry.InvalidField("expires", d.String(), "is not between 1s and "+MaxExpires.String(), "")
}

func checkPage(after string, n int) error {
	if n < 1 || n > MaxList {
		return belfry.InvalidField("n", "", "is not between 1 and 1000", "")
	}
	if after == "" {
		return nil
	}
	return belfry.CheckDigest(after)
}
