package frame

import "testing"

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"/a?b=c": "/a?b=c", "//a": "/", "/\\a": "/", "": "/", "/\t/a": "/", "/\v/a": "/", "/a\x00": "/", "/\u0085a": "/", "/ä": "/ä"} {
		if got := LocalPath(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
