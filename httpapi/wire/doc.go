// Package wire has what server and client of the API agree on: bodies of
// questions and answers, errors as a problem document, and bounds of time.
package wire
