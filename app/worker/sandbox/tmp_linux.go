package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// tmp returns the folder for the program's temporary files: /tmp of its own root,
// or a folder of the run.
func (b *setup) tmp() string {
	if b.hasNS() {
		return "/tmp"
	}
	return filepath.Join(b.sandbox.options.StateDir, b.setup.Name)
}

// setTmpVariables sets TMPDIR and the working directory of the program.
func (b *setup) setTmpVariables() {
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

// makeTmp creates the folder for temporary files if the program has no /tmp of
// its own.
func (b *setup) makeTmp() error {
	if err := os.Mkdir(b.slot.Dir, 0o700); err != nil {
		return err
	}
	size := b.spec.Limits.Tmp
	b.bound = size > 0 && scratch.Bound(b.slot.Dir, size, scratch.Entries(size)) == nil
	return os.Chown(b.slot.Dir, b.uid(), -1)
}

// limitTmp returns what limits the size of the program's TMPDIR.
func (b *setup) limitTmp() {
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
