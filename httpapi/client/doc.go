// Package client calls the API of a Belfry server: a [Client] offers what the
// server serves, and an [AttemptClient] what an attempt may ask for by itself.
// A call that may not have arrived is asked again where that is safe; an outcome
// that is not known is an error of code [core.Unknown].
package client
