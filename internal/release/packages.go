package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// packagers has the formats of packages for Linux, by file extension.
var packagers = []string{"deb", "rpm"}

// packages writes the packages of a Linux platform. deploy/package has their content.
func (r *release) packages(work, base, processor string, files []file) error {
	nfpm, err := r.nfpm(work)
	if err != nil {
		return err
	}
	stage := filepath.Join(work, "package_"+processor)
	more, err := r.packaged()
	if err != nil {
		return err
	}
	for _, f := range append(files, more...) {
		path := filepath.Join(stage, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, f.mode); err != nil {
			return err
		}
		if err := os.Chtimes(path, r.time, r.time); err != nil {
			return err
		}
	}
	for _, packager := range packagers {
		target, err := filepath.Abs(filepath.Join(r.out, base+"."+packager))
		if err != nil {
			return err
		}
		cmd := exec.Command(nfpm, "package", "--config", "nfpm.yaml", "--packager", packager, "--target", target)
		cmd.Dir = stage
		cmd.Env = append(os.Environ(), "VERSION="+r.version, "ARCH="+processor, "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, out)
		}
	}
	return nil
}

// packaged returns the files that only packages have, beside those of an archive. Packages have programs in /usr/bin.
func (r *release) packaged() (files []file, err error) {
	for _, pattern := range []string{"deploy/package/*", "deploy/systemd/*.service"} {
		paths, err := filepath.Glob(filepath.Join(r.root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			files = append(files, file{filepath.Base(path), 0o644, bytes.ReplaceAll(text, []byte("/usr/local/bin/"), []byte("/usr/bin/"))})
		}
	}
	return files, nil
}

// nfpm builds the program that writes packages, once, and returns its path. Its modules are those of tools/nfpm.mod.
func (r *release) nfpm(work string) (string, error) {
	path, err := filepath.Abs(filepath.Join(work, "nfpm"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.Command("go", "build", "-modfile=tools/nfpm.mod", "-o", path, "github.com/goreleaser/nfpm/v2/cmd/nfpm")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOWORK=off") // nfpm is not in the workspace
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot build nfpm: %w", err)
	}
	return path, nil
}
