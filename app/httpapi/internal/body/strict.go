package body

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// encoding/json accepts faults that two readers of one body may read differently:
// names in another case, duplicate names in an object, and invalid text. A body
// with any of them is refused.

// checkText refuses invalid UTF-8 and escapes of unpaired surrogates. The decoder
// would replace both.
func checkText(data []byte) error {
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return notText(i, "is not UTF-8")
			}
			i += n
		case c != '\\' || i+1 == len(data):
			i++
		default:
			n := escaped(data[i:])
			if n == 0 {
				return notText(i, "escapes half of a surrogate pair")
			}
			i += n
		}
	}
	return nil
}

func notText(at int, message string) error {
	return core.InvalidField("body", "", fmt.Sprintf("byte %d %s", at, message), "send JSON in UTF-8")
}

// escaped returns the length of an escape, or 0 for an unpaired surrogate.
func escaped(data []byte) int {
	r, ok := unit(data)
	if !ok || !utf16.IsSurrogate(r) {
		return 2
	}
	if second, ok := unit(data[6:]); ok && utf16.DecodeRune(r, second) != utf8.RuneError {
		return 12
	}
	return 0
}

// unit reads \uXXXX.
func unit(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}
