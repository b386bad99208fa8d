// Package delivery carries the results and logs of attempts to the broker.
package delivery
