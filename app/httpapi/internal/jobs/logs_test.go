package jobs

import (
	"testing"

	"github.com/belfry-run/belfry/core"
)

func FuzzPosition(f *testing.F) {
	f.Add("1.2.abc")
	f.Add("0.-1.")
	f.Add("..")
	f.Add("9223372036854775808.1.x")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePosition(text)
		if err != nil {
			if core.CodeOf(err) != core.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := parsePosition(p.String())
		if err != nil || again != p {
			t.Errorf("%q is %+v, and its text %q is %+v, %v", text, p, p.String(), again, err)
		}
	})
}
