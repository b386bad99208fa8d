package keys

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// AskedFor returns a fingerprint of a request with an idempotency key. The due time is left out: a client that repeats the request
// may have computed it again. Inputs that differ only in spaces and the order of names are equal.
func AskedFor(n job.NewJob) string {
	if n.Key == "" {
		return ""
	}
	n.Key, n.KeyWindow, n.DueAt, n.Delay = "", 0, base.Instant(0), 0
	n.Input = plain(n.Input)
	sum := sha256.Sum256([]byte(base.Text(n)))
	return hex.EncodeToString(sum[:16])
}

// plain returns a JSON value without spaces, with names in order.
func plain(input json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber() // keeps numbers as they are written: large numbers are not rounded
	var v any
	if d.Decode(&v) != nil {
		return input
	}
	return json.RawMessage(base.Text(v))
}

func errOtherRequest(key string, job int64) error {
	return core.Errorf(core.Conflict, "idempotency key %q belongs to job %d, which was asked for with another task, input or setting", key, job).
		WithHint("use another key for another job, or repeat the first request")
}
