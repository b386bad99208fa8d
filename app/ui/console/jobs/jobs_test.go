package jobs

import "testing"

func TestSearchWithoutATerm(t *testing.T) {
	for in, want := range map[string]string{
		`state:failed task:x`:            `task:x`,
		`task:x STATE:failed since:2h`:   `task:x since:2h`,
		`error:"a state:b \" c" state:x`: `error:"a state:b \" c"`,
		`error:"half state:x`:            `error:"half state:x`,
		``:                               ``,
	} {
		if got := withoutTerm(in, "state"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
