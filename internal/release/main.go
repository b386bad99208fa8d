// Command release makes the files of a release: for each platform an archive with the program, its licences and shell
// completions, and a bill of materials in CycloneDX; for Linux packages too (deb, rpm); and SHA256SUMS of them all. Run it in
// the root of the repository:
//
//	go run ./internal/release -version v0.1.0 -out dist
//
// The same commit and version, built with the same Go, make the same bytes.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms has the platforms of a release. docs/guides/releases.md says which of them are tested.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// release has the settings of a release.
type release struct {
	root      string // of the repository
	out       string // an empty folder, or one that does not exist
	version   string // such as v0.1.0
	platforms []string
	flags     []string  // of go build
	env       []string  // of go build
	time      time.Time // of every file in an archive
}

func main() {
	r := release{root: ".", flags: []string{"-trimpath"}, env: []string{"CGO_ENABLED=0"}}
	var list string
	flag.StringVar(&r.version, "version", "", "version, such as v0.1.0")
	flag.StringVar(&r.out, "out", "dist", "folder for the files; it must be empty")
	flag.StringVar(&list, "platforms", strings.Join(platforms, ","), "platforms, with commas")
	flag.Parse()
	r.platforms = strings.Split(list, ",")
	err := r.stamp()
	if err == nil {
		err = r.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// stamp sets the time to SOURCE_DATE_EPOCH, or to the time of the commit.
func (r *release) stamp() error {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "-C", r.root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return fmt.Errorf("cannot read the time of the commit: %w; set SOURCE_DATE_EPOCH", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be seconds: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	return nil
}

var fit = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

func (r *release) run() error {
	if !fit.MatchString(r.version) {
		return fmt.Errorf("version must be such as v0.1.0, not %q", r.version)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if entries, err := os.ReadDir(r.out); err != nil || len(entries) > 0 {
		return errors.Join(fmt.Errorf("%s must be empty: remove it, or choose another folder with -out", r.out), err)
	}
	work, err := os.MkdirTemp("", "belfry-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	shared, err := r.shared(work)
	if err != nil {
		return err
	}
	for _, platform := range r.platforms {
		if err := r.platform(work, platform, shared); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return r.sums()
}

// shared returns the files that every archive has.
func (r *release) shared(work string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "NOTICE"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, text})
	}
	program, err := r.build(work, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct{ shell, name string }{
		{"bash", "belfry.bash"}, {"zsh", "_belfry"}, {"fish", "belfry.fish"}, {"powershell", "belfry.ps1"},
	} {
		text, err := exec.Command(program, "completion", c.shell).Output()
		if err != nil {
			return nil, fmt.Errorf("belfry completion %s: %w", c.shell, err)
		}
		files = append(files, file{"completions/" + c.name, 0o644, text})
	}
	return files, nil
}

// build makes the program of a platform once, and returns its path.
func (r *release) build(work, platform string) (string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	path, err := filepath.Abs(filepath.Join(work, system+"_"+processor, "belfry"))
	if err != nil {
		return "", err
	}
	if system == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	args := slices.Concat([]string{"build"}, r.flags, []string{"-ldflags", "-s -w -X main.version=" + r.version, "-o", path, "./cmd/belfry"})
	cmd := exec.Command("go", args...)
	cmd.Dir = r.root
	cmd.Env = slices.Concat(os.Environ(), []string{"GOOS=" + system, "GOARCH=" + processor}, r.env)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return path, nil
}

// platform writes the archive, the packages and the bill of materials of one platform.
func (r *release) platform(work, platform string, shared []file) error {
	path, err := r.build(work, platform)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	base := "belfry_" + strings.TrimPrefix(r.version, "v") + "_" + strings.ReplaceAll(platform, "/", "_")
	files := append([]file{{filepath.Base(path), 0o755, program}}, shared...)
	if processor, linux := strings.CutPrefix(platform, "linux/"); linux {
		if err := r.packages(work, base, processor, files); err != nil {
			return err
		}
	}
	pack, suffix := tarGz, ".tar.gz"
	if strings.HasPrefix(platform, "windows/") {
		pack, suffix = zipped, ".zip"
	}
	if err := r.create(base+suffix, func(w io.Writer) error { return pack(w, base, files, r.time) }); err != nil {
		return err
	}
	return r.create(base+".cdx.json", func(w io.Writer) error { return materials(w, path, r.version, r.time) })
}

func (r *release) create(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// sums writes SHA256SUMS for sha256sum -c.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}
