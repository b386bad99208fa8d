// Package stack shortens stack traces.
package stack

import "strings"

// OfPanic leaves out the frames of the recovery itself, above the panic.
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
