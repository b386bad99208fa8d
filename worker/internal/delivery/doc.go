// Package delivery carries the results and logs of attempts to the server. A
// [Reporter] sends results in batches and repeats them until they are answered;
// a [Shipper] does the same for the [Log] of each attempt. They hold a bounded
// number of bytes: an attempt waits for a while, and then its log is cut. A
// result is never dropped before its session is lost.
package delivery
