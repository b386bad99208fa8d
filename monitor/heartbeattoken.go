package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// BeatDigestSize is the length of a digest of a token. The key of a heartbeat's
// URL is shorter.
const BeatDigestSize = 2 * sha256.Size

// PushDigest returns the [Heartbeat.TokenDigest] of a push monitor of Uptime
// Kuma, which is called at /api/push/TOKEN.
func PushDigest(token string) string { return tokenDigest("push", token) }

// ExternalDigest returns the [Heartbeat.TokenDigest] of an external endpoint of
// Gatus, which is called at /api/v1/endpoints/KEY/external with a token. Several
// endpoints may share a token.
func ExternalDigest(key, token string) string {
	return tokenDigest("external", strings.ToLower(key), token)
}

func tokenDigest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func isDigest(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && text == strings.ToLower(text)
}
