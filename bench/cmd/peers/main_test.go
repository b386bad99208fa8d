//go:build linux

package main

import (
	"strings"
	"testing"
)

func names(list []contender) string {
	var b strings.Builder
	for _, c := range list {
		b.WriteString(c.name + "\n")
	}
	return b.String()
}

func TestPeersAreNotLeftOutSilently(t *testing.T) {
	all := contenders()
	for _, test := range []struct {
		only, without string
		in, out       int
	}{
		{"", "", len(all), 0},
		{"", "redis", len(all) - 3, 3},
		{"", "redis,graphile", len(all) - 5, 5},
		{"^River", "", 4, len(all) - 4},
		{"^River", "river-sqlite", 2, len(all) - 2},
	} {
		list, left, err := choose(all, test.only, test.without)
		if err != nil || len(list) != test.in || len(left) != test.out {
			t.Errorf("-only %q -without %q: got %d in and %d out, error %v", test.only, test.without, len(list), len(left), err)
		}
	}
}

func TestSelectionsWithoutAContenderAreRefused(t *testing.T) {
	for _, test := range [][2]string{{"nobody", ""}, {"", "mysql"}, {"(", ""}} {
		if list, _, err := choose(contenders(), test[0], test[1]); err == nil {
			t.Errorf("-only %q -without %q: got %s", test[0], test[1], names(list))
		}
	}
	for _, text := range []string{"sleep", "load", "enqueue|burn|load", "("} {
		if _, err := choosePhases(text); err == nil {
			t.Errorf("-phase %q: got no error, want one", text)
		}
	}
	for text, want := range map[string]int{"burn|end|load": 3, "idle": 1, "": len(phases)} {
		if list, err := choosePhases(text); err != nil || len(list) != want {
			t.Errorf("-phase %q: got %d phases, error %v", text, len(list), err)
		}
	}
}

func TestEachClassHasBelfryTwiceAndNoNameComesTwice(t *testing.T) {
	seen := map[string]bool{}
	bases := map[class]map[base]int{}
	for _, c := range contenders() {
		if seen[c.name] {
			t.Errorf("contender %s: got the name twice", c.name)
		}
		seen[c.name] = true
		if bases[c.class] == nil {
			bases[c.class] = map[base]int{}
		}
		bases[c.class][c.base]++
	}
	for _, c := range classes {
		if b := bases[c]; b[belfryDefault] != 1 || b[belfryTuned] != 1 || b[peer] == 0 {
			t.Errorf("%s: %v", c, b)
		}
	}
}

func TestMissingToolsSayHowToGetThem(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("BELFRY_PG_BIN", t.TempDir())
	s := &site{home: t.TempDir(), dir: t.TempDir()}
	err := s.check(t.Context(), contenders())
	if err == nil {
		t.Fatal("check of empty folders: got no error, want missing tools")
	}
	for _, want := range []string{"no redis-server", "no PostgreSQL in", "graphile-worker is not installed", "needs Go", "bench/setup.sh", "-without redis"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error: want %q in it, got:\n%v", want, err)
		}
	}
}
