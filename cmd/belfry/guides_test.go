package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the guide for newcomers calls a command is one, with the flags that it names.
func TestComingFromNamesCommandsThatExist(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guides/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newCLI(nil, io.Discard, io.Discard, nil).root()
	named := regexp.MustCompile("`belfry ([^`]+)`").FindAllStringSubmatch(string(guide), -1)
	if len(named) < 20 {
		t.Fatalf("only %d commands are found", len(named))
	}
	for _, m := range named {
		words := strings.Fields(m[1])
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root {
			t.Errorf("belfry %s: %v", m[1], err)
			continue
		}
		for _, word := range rest {
			if flag, is := strings.CutPrefix(word, "--"); is && cmd.Flags().Lookup(flag) == nil {
				t.Errorf("belfry %s: there is no --%s", m[1], flag)
			}
		}
	}
}
