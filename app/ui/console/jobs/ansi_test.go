package jobs

import (
	"fmt"
	"strings"
	"testing"
)

func TestInk(t *testing.T) {
	for in, want := range map[string]string{
		"plain <b>":                                         "[:plain <b>]",
		"\x1b[31mred\x1b[0m no":                             "[ink-red:red] [: no]",
		"\x1b[1;4;92mall\x1b[22;24;39m no":                  "[ink-green ink-bold ink-underline:all] [: no]",
		"\x1b[38;5;196mr\x1b[38;2;0;0;255mb\x1b[38;5;240mg": "[ink-red:r] [ink-blue:b] [:g]",
		"\x1b[48;5;196mwide\x1b[49mno ground":               "[ground-red:wide] [:no ground]",
		"\x1b[44mblue\x1b[30;103mpen":                       "[ground-blue:blue] [ink-black ground-yellow:pen]",
		"\x1b]0;a title\x07said\x1b]8;;http://x\x1b\\link":  "[:saidlink]",
		"\x1b[2K\x1b[1Gline\x1b(B":                          "[:line]",
		"broken \x1b[31":                                    "[:broken ]",
		"\x1b[31\x1b[32mx":                                  "[ink-green:x]",
		"bell\x07 tab\tback\x08":                            "[:bell tab\tback]",
		"\x1b[;mx\x1b[999;31my":                             "[:x] [ink-red:y]",
		"\x1b":                                              "",
	} {
		var got []string
		for _, piece := range new(ink).paint(in) {
			got = append(got, fmt.Sprintf("[%s:%s]", piece.Class, piece.Text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// What a program writes names no class, and ends every time.
func FuzzInk(f *testing.F) {
	f.Add("\x1b[38;5;1mx\x1b]8;;\x1b\\")
	known := map[string]bool{"ink-bold": true, "ink-italic": true, "ink-underline": true}
	for _, c := range colours {
		known[c], known[strings.Replace(c, "ink-", "ground-", 1)] = true, true
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, piece := range new(ink).paint(line) {
			for _, class := range strings.Fields(piece.Class) {
				if !known[class] {
					t.Errorf("%q: class %q", line, class)
				}
			}
			if strings.ContainsRune(piece.Text, '\x1b') {
				t.Errorf("%q: %q", line, piece.Text)
			}
		}
	})
}
