package body

import (
	"reflect"
	"strconv"
	"strings"
)

// JSON knows numbers alone (RFC 8259, section 6): 10, 10.0 and 1e1 are the same. The decoder takes only the first for an
// integer, so the others are written as the first.

// span is a part of a body, and the text that replaces it.
type span struct {
	from, to int
	text     string
}

// asIntegers returns a body in which each number of an integer field with a zero fraction is written as an integer. Free-form
// documents stay as written. The data must be JSON.
func asIntegers(data []byte, t reflect.Type) []byte {
	n := strictWalk{data: data, sizes: true}
	n.value(t)
	if len(n.whole) == 0 {
		return data
	}
	out, at := make([]byte, 0, len(data)), 0
	for _, s := range n.whole {
		out = append(append(out, data[at:s.from]...), s.text...)
		at = s.to
	}
	return append(out, data[at:]...)
}

func (n *strictWalk) noteWhole(s span) {
	var is bool
	if s.text, is = integerOf(string(n.data[s.from:s.to])); is {
		n.whole = append(n.whole, s)
	}
}

func isInteger(t reflect.Type) bool {
	plain := plainType(t)
	return plain != nil && reflect.Int <= plain.Kind() && plain.Kind() <= reflect.Uint64
}

// maxIntegerDigits is more than any integer field holds. A longer number stays as it is, and is refused.
const maxIntegerDigits = 40

// integerOf returns the integer that a number with a fraction or an exponent is, if it is one.
func integerOf(number string) (string, bool) {
	digits, minus := strings.CutPrefix(number, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(digits), "e")
	units, fraction, _ := strings.Cut(mantissa, ".")
	if len(units) == len(digits) {
		return "", false // it has neither
	}
	shift := 0
	if power != "" {
		var err error
		if shift, err = strconv.Atoi(power); err != nil || shift < -maxIntegerDigits || shift > maxIntegerDigits {
			return "", false
		}
	}
	all := units + fraction
	point := len(units) + shift
	switch {
	case len(all) > maxIntegerDigits || strings.Trim(all, "0123456789") != "":
		return "", false
	case point < 0:
		all, point = strings.Repeat("0", -point)+all, 0
	case point > len(all):
		all += strings.Repeat("0", point-len(all))
	}
	if strings.Trim(all[point:], "0") != "" {
		return "", false
	}
	switch whole := strings.TrimLeft(all[:point], "0"); {
	case whole == "":
		return "0", true
	case minus:
		return "-" + whole, true
	default:
		return whole, true
	}
}
