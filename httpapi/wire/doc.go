// Package wire has the definitions that server and client of the API share: bodies
// of requests and answers, errors as problem documents, and timeouts.
package wire
