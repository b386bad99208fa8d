//go:build linux

package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// peers has the other programs: the folder of the module that pins each, and its package.
var peers = map[string]struct{ module, pkg string }{
	"blackbox": {"blackbox", "github.com/prometheus/blackbox_exporter"},
	"gatus":    {"gatus", "github.com/TwiN/gatus/v5"},
}

// build builds all programs, each in its own module. A peer that cannot be built is named in the table and not measured.
func (f *field) build(ctx context.Context) error {
	f.programs, f.versions, f.refused = map[string]string{}, map[string]string{}, map[string]error{}
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return errors.New("the folder of this program is not known")
	}
	folder := filepath.Join(filepath.Dir(here), "..", "..") // of module bench
	if err := f.goBuild(ctx, "belfry", filepath.Dir(folder), "github.com/belfry-run/belfry/cmd/belfry"); err != nil {
		return err
	}
	for name, p := range peers {
		if err := f.goBuild(ctx, name, filepath.Join(folder, p.module), p.pkg); err != nil {
			f.refused[name] = err
			log.Printf("%s cannot be built: %v", name, err)
			continue
		}
		if info, err := buildinfo.ReadFile(f.programs[name]); err == nil {
			f.versions[name] = versionOf(info, p.pkg)
		}
	}
	return nil
}

func (f *field) goBuild(ctx context.Context, name, module, pkg string) error {
	out := f.path(name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if name == "belfry" {
		cmd.Env = append(cmd.Env, "GOWORK=") // Belfry is in the workspace above, the others are not
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", pkg, err, lastLine(string(text)))
	}
	f.programs[name] = out
	return nil
}

func versionOf(info *buildinfo.BuildInfo, module string) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			return m.Version
		}
	}
	return "of an unknown version"
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
