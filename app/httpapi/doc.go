// Package httpapi serves Belfry over HTTP.
//
// [Server] puts a [Service], which is the store, behind versioned routes under
// /v1. It describes them in OpenAPI 3.1, generated from the same Go types that
// it reads and writes. Package httpapi/client has the same [Service] on the other
// side of the network, so that a command or a worker cannot tell which of the two
// it has, and package httpapi/wire what both sides agree on.
//
// # Who may do what
//
// Every route but /healthz, /readyz, /docs, /openapi, /beat and /badge wants a
// bearer token with the scope that the route names. A token is good for one namespace, or
// for all. A request that names no namespace means the token's, or "default"
// for a token that is good for all. Objects that belong to no namespace (queues,
// tokens, workers) are changed only with a token for all of them.
//
// A token that was found good is believed for ten seconds without asking
// again. So a revocation takes up to ten seconds to reach every node; the node
// that carried it out forgets at once.
//
// Two things are open to everybody. A heartbeat's URL, /beat/ and its key, is
// called by GET, HEAD or POST from anywhere; who has the key needs no token.
// And badges, /badge/NAMESPACE/MONITOR/status.svg, uptime.svg and latency.svg,
// show monitors that are public.
//
// # Secrets
//
// No answer has a secret: those of tasks, monitors and channels are written and
// never read, and the key of a heartbeat is shown to those who may operate. A
// worker's claim alone has all that is needed to do the work. A call that sends
// something out on request (a check that is tried, a channel that is
// tested) is rare, and is bounded for the whole server.
//
// # Errors
//
// Whatever goes wrong is answered as application/problem+json (RFC 9457) with
// the [belfry.Code], the fields at fault and the next thing to try. The client
// turns it back into the same [belfry.Error]. Causes are logged, under the
// request id that the answer names, and never sent.
//
// # Waiting
//
// A claim waits up to 30 s for jobs. Events and followed logs are server-sent
// events; each piece carries an id, and a client that comes back with it loses
// nothing. Streams hold no buffer: a reader that does not read is cut off when
// a write has waited 10 s. [Server.Close] ends all that waits, which is what
// lets [http.Server.Shutdown] finish.
package httpapi
