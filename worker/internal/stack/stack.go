// Package stack shortens stack traces. The error of a panic leaves out the
// frames of its recovery.
package stack

import "strings"

// OfPanic returns a stack trace without the frames of the recovery above the panic.
func OfPanic(stack []byte) string {
	text := string(stack)
	if _, after, found := strings.Cut(text, "\npanic("); found {
		if _, after, found = strings.Cut(after, "\n"); found { // its arguments
			if _, after, found = strings.Cut(after, "\n"); found { // its file
				return strings.TrimSpace(after)
			}
		}
	}
	return text
}
