package blob

import (
	"time"

	"github.com/belfry-run/belfry"
)

// digestLen is the length of a SHA-256 in hexadecimal.
const digestLen = 64

// isDigest is what stands between a hostile name and a path.
func isDigest(s string) bool {
	if len(s) != digestLen {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func checkDigest(digest string) error {
	if isDigest(digest) {
		return nil
	}
	return belfry.InvalidField("sha256", digest, "is not a SHA-256", "64 lower-case hexadecimal digits, as sha256sum prints them")
}

func checkUpload(up Upload, limit int64) error {
	if err := checkDigest(up.Digest); err != nil {
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
	return checkDigest(after)
}
