// Package public has the words and rules of what everyone sees: status pages, announcements, and subscribers.
package public
