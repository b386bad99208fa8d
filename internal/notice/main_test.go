package main

import (
	"os"
	"strings"
	"testing"
)

func TestNoticeNamesEveryModule(t *testing.T) {
	t.Parallel()
	all, err := modules("../../cmd/belfry")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d modules are found", len(all))
	}
	text, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for l := range strings.Lines(string(text)) {
		known[strings.TrimSpace(l)] = true
	}
	for _, m := range all {
		if !known[m.String()] {
			t.Errorf("NOTICE does not have %s; run: make notice", m)
		}
	}
	for _, v := range vendored {
		if !known[v.name] {
			t.Errorf("NOTICE does not have %s; run: make notice", v.name)
		}
	}
}

func TestModulesWithoutALicenceAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := terms(module{"example.com/m", "v1.0.0", t.TempDir()}); err == nil {
		t.Error("a module without a licence is accepted")
	}
}
