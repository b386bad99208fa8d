package api

import (
	"strings"

	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/public"
)

// Path prefixes of heartbeat calls that were made for another tool: push
// monitors of Uptime Kuma, with the token in the path, and external endpoints of
// Gatus, with the token in a header.
const (
	PushPrefix     = "/api/push/"
	ExternalPrefix = "/api/v1/endpoints/"
)

// isBeat reports whether a path is for heartbeats. They are authenticated by a
// key alone; a browser adds no credentials to them.
func isBeat(path string) bool {
	return strings.HasPrefix(path, wire.BeatPrefix) || strings.HasPrefix(path, PushPrefix) || strings.HasPrefix(path, ExternalPrefix)
}

// withoutKey returns a path for the log, without a secret key.
func withoutKey(path string) string {
	for _, prefix := range []string{wire.BeatPrefix, PushPrefix, job.AnswerPath, public.SubscriptionPath} {
		if strings.HasPrefix(path, prefix) {
			return prefix + "…" // the rest is a key
		}
	}
	return path
}
