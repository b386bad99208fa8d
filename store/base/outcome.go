package base

import (
	"github.com/belfry-run/belfry/core"
)

// OutcomeUnknown is the answer to a transition whose commit may have been carried
// out: it was sent, and the answer to it was lost.
func OutcomeUnknown(err error) error {
	return &core.Error{
		Code:    core.Unknown,
		Message: "the outcome is unknown: the database may have made this change",
		Hint:    "look whether it was made, or repeat the request with the same idempotency key",
		Err:     err,
	}
}
