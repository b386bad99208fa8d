package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// The release of this platform has the archive, the packages, the bill of materials and the sums, from the real program.
func TestReleaseOfOnePlatform(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	// The build has the flags of other tests, without -trimpath and CGO_ENABLED=0, to share their cache.
	r := release{root: "../..", out: filepath.Join(t.TempDir(), "dist"), version: "v0.1.0-test", platforms: []string{platform}, time: at}
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	base := "belfry_0.1.0-test_" + strings.ReplaceAll(platform, "/", "_")
	names := []string{base + ".cdx.json", base + ".tar.gz"}
	if runtime.GOOS == "linux" {
		names = []string{base + ".cdx.json", base + ".deb", base + ".rpm", base + ".tar.gz"}
		checkDeb(t, filepath.Join(r.out, base+".deb"))
		checkRPM(t, filepath.Join(r.out, base+".rpm"))
	}
	checkSums(t, r.out, names...)
	files := unpack(t, filepath.Join(r.out, base+".tar.gz"))
	for name, inside := range map[string]string{
		"LICENSE": "Apache License", "NOTICE": "github.com/spf13/cobra", "completions/belfry.bash": "__belfry",
		"completions/_belfry": "#compdef belfry", "completions/belfry.fish": "complete -c belfry", "completions/belfry.ps1": "Register-ArgumentCompleter",
	} {
		if f := files[base+"/"+name]; f.mode != 0o644 || !bytes.Contains(f.content, []byte(inside)) {
			t.Errorf("file %s: got mode %o and %d bytes, want %q in it", name, f.mode, len(f.content), inside)
		}
	}
	if len(files) != 7 {
		t.Errorf("files of the archive: got %d, want 7", len(files))
	}
	program := filepath.Join(t.TempDir(), "belfry")
	if err := os.WriteFile(program, files[base+"/belfry"].content, files[base+"/belfry"].mode); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "version").Output(); err != nil || !strings.HasPrefix(string(out), "belfry v0.1.0-test, ") {
		t.Errorf("belfry version: got %q, error %v", out, err)
	}
	checkMaterials(t, filepath.Join(r.out, base+".cdx.json"))
	if err := r.run(); err == nil || !strings.Contains(err.Error(), "must be empty") {
		t.Errorf("release into a folder with files: got error %v", err)
	}
}

func checkSums(t *testing.T, out string, want ...string) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(content)) != sum {
			t.Errorf("sum of %s: got another one, error %v", name, err)
		}
		names = append(names, name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("files with sums: got %v, want %v", names, want)
	}
}

func checkMaterials(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string `json:"bomFormat"`
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	if c := bill.Metadata.Component; bill.BOMFormat != "CycloneDX" || c.URL != "pkg:golang/github.com/belfry-run/belfry@v0.1.0-test" {
		t.Errorf("bill of materials: got format %s and component %+v", bill.BOMFormat, c)
	}
	for _, name := range []string{"std", "github.com/jackc/pgx/v5", "github.com/spf13/cobra"} {
		if !slices.ContainsFunc(bill.Components, func(c component) bool { return c.Name == name && c.Version != "" }) {
			t.Errorf("bill of materials: %s is missing", name)
		}
	}
}

func unpack(t *testing.T, path string) map[string]file {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	for tr := tar.NewReader(zr); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil || !header.ModTime.Equal(at) || header.Uid != 0 {
			t.Errorf("file %s: got error %v, time %v, owner %d", header.Name, err, header.ModTime, header.Uid)
		}
		files[header.Name] = file{header.Name, header.FileInfo().Mode(), content}
	}
}

func TestArchivesRepeat(t *testing.T) {
	t.Parallel()
	files := []file{{"belfry.exe", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("text")}}
	for name, pack := range map[string]func(io.Writer, string, []file, time.Time) error{"tar.gz": tarGz, "zip": zipped} {
		var one, two bytes.Buffer
		if err := errors.Join(pack(&one, "belfry", files, at), pack(&two, "belfry", files, at)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("bytes of %s: got a difference between two builds", name)
		}
		if name != "zip" {
			continue
		}
		zr, err := zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len()))
		if err != nil || len(zr.File) != 2 || zr.File[0].Name != "belfry/belfry.exe" || zr.File[0].Mode() != 0o755 {
			t.Errorf("zip: %v, %+v", err, zr)
		}
	}
}

func TestReleaseRefusesVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "0.1.0", "v1", "v0.1", "v0.1.0 -X", "v01.0.0", "dev"} {
		r := release{root: "../..", out: filepath.Join(t.TempDir(), "dist"), version: version}
		if err := r.run(); err == nil || !strings.Contains(err.Error(), "version must be") {
			t.Errorf("version %q: got error %v", version, err)
		}
	}
}
