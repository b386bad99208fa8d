// Package httpapi serves Belfry over HTTP.
//
// [Server] serves a [Service], which is the store, at versioned routes under
// /v1. It describes them in OpenAPI 3.1, generated from the Go types of requests
// and answers. Package httpapi/client implements the same [Service] over the
// network, so that a command or a worker works the same with either. Package
// httpapi/wire holds the parts that both sides share.
//
// # Authorization
//
// Every route except /healthz, /readyz, /docs, /openapi, /beat and /badge
// requires a bearer token with the scope of the route. A token is valid for one
// namespace, or for all. A request without a namespace uses the token's, or
// "default" with a token for all. Objects that belong to no namespace (queues,
// tokens, workers) are changed only with a token for all namespaces.
//
// A valid token is cached for ten seconds. So a revocation takes up to ten
// seconds to reach every node; the node that carried it out drops the token at
// once.
//
// Two kinds of routes need no token. A heartbeat's URL, /beat/ and its key, is
// called by GET, HEAD or POST from anywhere; the key is the authorization. And
// badges, /badge/NAMESPACE/MONITOR/status.svg, uptime.svg and latency.svg, show
// public monitors.
//
// # Secrets
//
// No answer contains a secret: secrets of tasks, monitors and channels can be
// written and not read. The key of a heartbeat is shown to tokens with the scope
// operate. Only a worker's claim has all data of a job. Calls that send something
// to another system (a trial of a check, a test of a channel) are limited for the
// whole server.
//
// # Errors
//
// Every error is answered as application/problem+json (RFC 9457) with the
// [core.Code], the faulty fields and a hint. The client turns it back into the
// same [core.Error]. Causes are logged under the request id of the answer, and
// never sent.
//
// # Waiting
//
// A claim waits up to 30 s for jobs. Events and followed logs are server-sent
// events. Each has an id, and a client that resumes from it loses nothing.
// Streams have no buffer: a reader is disconnected when a write has waited 10 s.
// [Server.Close] ends waiting calls and streams, so that [http.Server.Shutdown]
// can finish.
package httpapi
