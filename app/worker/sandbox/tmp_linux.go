package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// tmp is where the program's temporary files go: /tmp of its own root, or a
// folder of the run's.
func (b *building) tmp() string {
	if b.hasNS() {
		return "/tmp"
	}
	return filepath.Join(b.sandbox.options.StateDir, b.setup.Name)
}

// tellTmp says where they go to the program, and where it starts.
func (b *building) tellTmp() {
	if !b.hasNS() {
		b.slot.Dir = b.tmp()
	}
	if b.setup.Dir == "" {
		b.setup.Dir = b.tmp()
	}
	if !slices.ContainsFunc(b.spec.Env, func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") }) {
		b.setup.Env = append(slices.Clip(b.spec.Env), "TMPDIR="+b.tmp())
	}
}

// makeTmp makes the folder for temporary files where there is no /tmp of the
// program's own.
func (b *building) makeTmp() error {
	if err := os.Mkdir(b.slot.Dir, 0o700); err != nil {
		return err
	}
	size := b.spec.Limits.Tmp
	b.bound = size > 0 && scratch.Bound(b.slot.Dir, size, scratch.Entries(size)) == nil
	return os.Chown(b.slot.Dir, b.uid(), -1)
}

// limitTmp says what holds the bytes in the program's TMPDIR.
func (b *building) limitTmp() {
	l := Limit{Name: "tmp", Value: float64(b.spec.Limits.Tmp)}
	switch {
	case l.Value <= 0:
		return
	case b.hasNS() || b.bound:
		l.By = "tmpfs"
	default:
		l.By = "watch"
	}
	b.limits = append(b.limits, l)
}
