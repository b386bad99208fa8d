package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Headers of a webhook.
const (
	HeaderEvent     = "Belfry-Event"
	HeaderDelivery  = "Belfry-Delivery"
	HeaderSignature = "Belfry-Signature"
)

// Errors of [Verify].
var (
	ErrNotSigned    = errors.New("the request has no Belfry-Signature of the form t=UNIX,v1=HEX")
	ErrBadSignature = errors.New("the signature is not of this body and this secret")
	ErrTooOld       = errors.New("the signature is from another time: a request replayed by another sender, or a clock that is off")
)

// DefaultTolerance is the maximum age of a signature, and its maximum distance in the future.
const DefaultTolerance = 5 * time.Minute

// Verify checks that a webhook request is from Belfry: header is its
// Belfry-Signature, body its unchanged bytes. The time of the signature may
// differ from now by at most tolerance; 0 means [DefaultTolerance]. A receiver
// that remembers Belfry-Delivery for that time is safe from replays.
func Verify(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	at, macs := readSignature(header)
	if at == "" || len(macs) == 0 || secret == "" {
		return ErrNotSigned
	}
	unix, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return ErrNotSigned
	}
	want := mac(secret, at, body)
	genuine := false
	for _, got := range macs {
		genuine = hmac.Equal(got, want) || genuine
	}
	if !genuine {
		return ErrBadSignature
	}
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	if age := now.Sub(time.Unix(unix, 0)); age > tolerance || age < -tolerance {
		return ErrTooOld
	}
	return nil
}

// sign returns the value of Belfry-Signature.
func sign(secret string, body []byte, now time.Time) string {
	at := strconv.FormatInt(now.Unix(), 10)
	return "t=" + at + ",v1=" + hex.EncodeToString(mac(secret, at, body))
}

func mac(secret, at string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write([]byte(at + "."))
	_, _ = h.Write(body)
	return h.Sum(nil)
}

// readSignature ignores unknown parts, so that a later v2 can stand beside v1.
// Several v1 are from several secrets, of which one must match.
func readSignature(header string) (at string, macs [][]byte) {
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			if at != "" {
				return "", nil
			}
			at = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil && len(sum) == sha256.Size {
				macs = append(macs, sum)
			}
		}
	}
	return at, macs
}
