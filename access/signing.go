package access

import (
	"time"
)

// SigningKey signs the tokens of attempts, with Ed25519. Every node has all of
// them: the newest signs, all of them check.
type SigningKey struct {
	ID        string
	Seed      []byte // 32 random bytes; a secret
	CreatedAt time.Time
}
