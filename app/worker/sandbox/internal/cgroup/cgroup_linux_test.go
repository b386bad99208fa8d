package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// A container with half of a processor runs programs that may use a whole one, which is the default. Version 1 refuses a group
// with more than the one around it, and all of these programs failed.
func TestAGroupMayAskForMoreThanTheOneAroundIt(t *testing.T) {
	trees, err := ReadTrees("")
	if err != nil {
		t.Fatal(err)
	}
	h, is := Find(trees).By[isolation.LayerCPU]
	if !is || h.Version != 1 || os.Geteuid() != 0 {
		return // version 2 takes any share
	}
	h.Own = filepath.Join(h.Own, "belfry-test-half")
	if err := os.Mkdir(h.Own, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(h.Own) })
	if err := os.WriteFile(filepath.Join(h.Own, quotaFile), []byte("50000"), 0); err != nil {
		t.Fatal(err)
	}
	for cpu, want := range map[float64]string{1: "-1", 0.5: "50000", 0.25: "25000"} {
		g := (&Groups{By: map[isolation.Layer]Tree{isolation.LayerCPU: h}}).Paths("run", func(isolation.Layer) bool { return true })
		err := g.Create(isolation.Limits{CPU: cpu})
		got, _ := os.ReadFile(filepath.Join(h.Own, "run", quotaFile))
		_ = os.Remove(filepath.Join(h.Own, "run"))
		if text := strings.TrimSpace(string(got)); err != nil || text != want {
			t.Errorf("share of %v: got quota %s, error %v, want %s", cpu, text, err, want)
		}
	}
}
