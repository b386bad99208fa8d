package core

import (
	"strings"
	"testing"
)

func TestJSONThatIsCarriedHasALimitOfDepth(t *testing.T) {
	t.Parallel()
	nested := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, row := range []struct{ name, text, want string }{
		{"a number", `1`, ""},
		{"at the limit", nested("[", "", "]", MaxJSONDepth), ""},
		{"over the limit", nested("[", "", "]", MaxJSONDepth+1), "is nested more than 500 levels deep"},
		{"objects over the limit", nested(`{"a":`, "1", "}", MaxJSONDepth+1), "is nested more than 500 levels deep"},
		{"many beside each other", "[" + strings.Repeat("[],", 5000) + "[]]", ""},
		{"brackets in a text", `"` + strings.Repeat("[", 5000) + `"`, ""},
		{"brackets behind an escaped quote", `"\"` + strings.Repeat("[", 5000) + `"`, ""},
		{"brackets behind a backslash", nested(`["\\",`, "1", "]", MaxJSONDepth+1), "is nested more than 500 levels deep"},
		{"not ended", `{"a":`, "is not JSON"},
		{"nothing", ``, "is not JSON"},
		{"two values", `1 2`, "is not JSON"},
	} {
		if got := JSONFault([]byte(row.text)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
