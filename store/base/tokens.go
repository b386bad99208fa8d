package base

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/belfry-run/belfry/core"
)

// SecretPrefix lets people and scanners recognize a leaked secret.
const SecretPrefix = "belfry_"

// HashSecret returns the stored hash of a secret. Secrets are 256 random bits, so a fast hash is as safe as a slow one.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewSecret returns a random secret of 256 bits, after a prefix.
func NewSecret(prefix string) string {
	raw := make([]byte, 32)
	rand.Read(raw) //nolint:errcheck // never fails, by its documentation
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

// OwnedBy returns the namespace in whose audit a token is recorded; empty for a token of all namespaces.
func OwnedBy(namespace string) string {
	if namespace == core.AnyNamespace {
		return ""
	}
	return namespace
}
