// Package client calls the API of a Belfry server. A [Client] has all calls of the
// API, and an [AttemptClient] the calls of a single attempt. Calls that may not
// have arrived are repeated if that is safe. An unknown outcome is an error with
// the code [core.Unknown].
package client
