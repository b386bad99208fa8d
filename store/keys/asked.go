package keys

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// AskedFor names what a request with an idempotency key is for. A time to start
// is left out: who asks again may have computed it anew.
func AskedFor(n job.NewJob) string {
	if n.Key == "" {
		return ""
	}
	n.Key, n.KeyWindow, n.DueAt, n.Delay = "", 0, base.Instant(0), 0
	sum := sha256.Sum256([]byte(base.Text(n)))
	return hex.EncodeToString(sum[:16])
}

func errOtherRequest(key string, job int64) error {
	return core.Errorf(core.Conflict, "idempotency key %q belongs to job %d, which was asked for with another task, input or setting", key, job).
		WithHint("use another key for another job, or repeat the first request")
}
