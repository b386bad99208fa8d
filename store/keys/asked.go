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

// AskedFor names what a request with an idempotency key is for. A time to start
// is left out: a client that repeats it may have computed it anew. Inputs that differ in spaces and in the order of names are
// the same.
func AskedFor(n job.NewJob) string {
	if n.Key == "" {
		return ""
	}
	n.Key, n.KeyWindow, n.DueAt, n.Delay = "", 0, base.Instant(0), 0
	n.Input = plain(n.Input)
	sum := sha256.Sum256([]byte(base.Text(n)))
	return hex.EncodeToString(sum[:16])
}

// plain is a value as it is written without spaces, with names in order.
func plain(input json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber() // as it is written: large ones are not rounded
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
