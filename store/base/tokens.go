package base

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/belfry-run/belfry/core"
)

// SecretPrefix lets people and scanners see what a leaked string is.
const SecretPrefix = "belfry_"

// HashSecret is what is kept of a secret. Secrets are 256 random bits, so a
// plain hash is as good as a slow one and costs a request nothing.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewSecret is a secret that cannot be guessed.
func NewSecret(prefix string) string {
	raw := make([]byte, 32)
	rand.Read(raw) //nolint:errcheck // never fails, by its documentation
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

// OwnedBy is the namespace in whose audit a token stands, or none.
func OwnedBy(namespace string) string {
	if namespace == core.AnyNamespace {
		return ""
	}
	return namespace
}
