package wire

import (
	"github.com/belfry-run/belfry/core"
)

// SecretValue is the body that sets a secret. No answer contains one.
type SecretValue struct {
	Value core.Secret `json:"value" doc:"At most 32 KiB, without NUL bytes"`
}
