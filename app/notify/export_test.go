package notify

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/belfry-run/belfry/alert"
)

// Trust lets mail go to servers whose certificates pool knows.
func (s *Sender) Trust(pool *x509.CertPool) { s.tls.RootCAs = pool }

// BodyTime changes how long the body of an answer may take.
func (s *Sender) BodyTime(most time.Duration) { s.bodyTime = most }

// Hide applies the channel's veil to a text.
func Hide(c alert.Channel, text string) string { return newVeil(c).replacer.Replace(text) }

// Inner parts that are tested with foreign texts.
var (
	Plain    = plain
	Fit      = fit
	AsIs     = asIs
	Bytes    = bytesOf
	Units    = unitsOf
	Telegram = telegramStyle.text
	Slack    = slackStyle.text
	Discord  = discordStyle.text
)

// Sign makes a signature as a webhook's.
var Sign = sign

// Broken makes the fault of a connection.
func Broken(ctx context.Context, err error) error { return broken(ctx, "host", "posting", err) }
