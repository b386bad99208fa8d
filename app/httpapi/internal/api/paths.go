package api

import (
	"strings"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/public"
)

// Where callers that were made for another tool call: push monitors of Uptime
// Kuma, and external endpoints of Gatus. The token is part of the path of the
// first, and a header of the second.
const (
	PushPrefix     = "/api/push/"
	ExternalPrefix = "/api/v1/endpoints/"
)

// isBeat reports that a path is one of heartbeats, which bring a key and nothing
// that a browser adds by itself.
func isBeat(path string) bool {
	return strings.HasPrefix(path, wire.BeatPrefix) || strings.HasPrefix(path, PushPrefix) || strings.HasPrefix(path, ExternalPrefix)
}

// withoutKey is a path as it may be logged.
func withoutKey(path string) string {
	for _, prefix := range []string{wire.BeatPrefix, PushPrefix, job.AnswerPath, public.SubscriptionPath} {
		if strings.HasPrefix(path, prefix) {
			return prefix + "…" // the rest is a key
		}
	}
	return path
}
