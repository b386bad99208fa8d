// Package lease keeps the time until which a session may act, and says when it is over.
package lease
