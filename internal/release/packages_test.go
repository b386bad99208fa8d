package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// installed has the files of a package and their modes. An rpm has other places for completions of zsh and licences.
var installed = map[string]string{
	"/usr/bin/belfry":                                  "-rwxr-xr-x",
	"/usr/lib/systemd/system/belfry.service":           "-rw-r--r--",
	"/usr/lib/systemd/system/belfry-worker.service":    "-rw-r--r--",
	"/usr/lib/sysusers.d/belfry.conf":                  "-rw-r--r--",
	"/etc/belfry/belfry.env":                           "-rw-------",
	"/usr/share/bash-completion/completions/belfry":    "-rw-r--r--",
	"/usr/share/fish/vendor_completions.d/belfry.fish": "-rw-r--r--",
	"/usr/share/zsh/vendor-completions/_belfry":        "-rw-r--r--",
	"/usr/share/doc/belfry/copyright":                  "-rw-r--r--",
	"/usr/share/doc/belfry/NOTICE":                     "-rw-r--r--",
}

// checkDeb installs a package into a separate folder, upgrades, removes and purges it. Programs that would change this
// machine are replaced by ones that write their names into a file.
func checkDeb(t *testing.T, deb string) {
	t.Helper()
	info := run(t, nil, "dpkg-deb", "--field", deb, "Package", "Version", "Architecture", "Depends", "Installed-Size")
	for _, want := range []string{"Package: belfry\n", "Version: 0.1.0~test\n", "Architecture: " + runtime.GOARCH + "\n", "Depends: systemd\n"} {
		if !strings.Contains(info, want) {
			t.Errorf("fields of the package: got %q, want %q among them", info, want)
		}
	}
	contents := map[string]string{}
	for line := range strings.Lines(run(t, nil, "dpkg-deb", "--contents", deb)) {
		f := strings.Fields(line)
		if contents[strings.TrimPrefix(f[5], ".")] = f[0]; f[1] != "root/root" || !strings.HasPrefix(line, "d") && f[3]+" "+f[4] != at.Format("2006-01-02 15:04") {
			t.Errorf("owner or time of a file: got %s", line)
		}
	}
	for name, mode := range installed {
		if contents[name] != mode {
			t.Errorf("mode of %s: got %q, want %q", name, contents[name], mode)
		}
	}

	m := machine(t)
	m.dpkg(t, "--install", deb)
	m.called(t, "systemd-sysusers belfry.conf", "systemctl daemon-reload", "systemctl try-restart belfry.service belfry-worker.service")
	for name := range installed {
		if _, err := os.Stat(filepath.Join(m.root, name)); err != nil {
			t.Error(err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(m.root, "/usr/lib/systemd/system/belfry.service"))
	if err != nil || !bytes.Contains(unit, []byte("\nExecStart=/usr/bin/belfry serve\n")) {
		t.Errorf("belfry.service: %v\n%s", err, unit)
	}
	if out := run(t, nil, filepath.Join(m.root, "usr/bin/belfry"), "version"); !strings.HasPrefix(out, "belfry v0.1.0-test, ") {
		t.Errorf("belfry version: %q", out)
	}
	settings := filepath.Join(m.root, "etc/belfry/belfry.env")
	if err := os.WriteFile(settings, []byte("BELFRY_LISTEN=:80\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.dpkg(t, "--install", deb) // again, as an upgrade does
	m.called(t, "systemctl daemon-reload", "systemd-sysusers belfry.conf", "systemctl daemon-reload", "systemctl try-restart belfry.service belfry-worker.service")
	if text, err := os.ReadFile(settings); err != nil || string(text) != "BELFRY_LISTEN=:80\n" {
		t.Errorf("settings after an upgrade: got %q, error %v", text, err)
	}
	m.dpkg(t, "--remove", "belfry")
	m.called(t, "systemctl disable --now belfry.service belfry-worker.service", "systemctl daemon-reload")
	if _, err := os.Stat(settings); err != nil {
		t.Errorf("file that must outlive the package: got error %v", err)
	}
	m.dpkg(t, "--purge", "belfry")
	m.called(t, "systemctl daemon-reload")
	for name := range installed {
		if _, err := os.Stat(filepath.Join(m.root, name)); err == nil {
			t.Errorf("%s: not removed", name)
		}
	}
}

// scratch has a folder that stands for a machine, and a file with the names of the called programs.
type scratch struct{ root, calls, path string }

func machine(t *testing.T) scratch {
	t.Helper()
	m := scratch{root: t.TempDir(), calls: filepath.Join(t.TempDir(), "calls"), path: t.TempDir()}
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(m.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(m.root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"systemctl", "systemd-sysusers"} {
		if err := os.WriteFile(filepath.Join(m.path, name), []byte("#!/bin/sh\necho \"${0##*/} $*\" >>"+m.calls+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// dpkg runs dpkg on the folder. Scripts of packages use the programs of this machine, since the folder has none.
func (m scratch) dpkg(t *testing.T, args ...string) {
	t.Helper()
	run(t, []string{"PATH=" + m.path + ":/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}, "dpkg",
		slices.Concat([]string{"--root=" + m.root, "--force-script-chrootless", "--force-depends", "--force-not-root", "--log=/dev/null"}, args)...)
}

// called checks which programs were called since the last time.
func (m scratch) called(t *testing.T, want ...string) {
	t.Helper()
	text, err := os.ReadFile(m.calls)
	if got := strings.Split(strings.TrimSpace(string(text)), "\n"); err != nil || !slices.Equal(got, want) {
		t.Errorf("called programs: got %q, want %q; error %v", got, want, err)
	}
	if err := os.Remove(m.calls); err != nil {
		t.Error(err)
	}
}

func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "TZ=UTC", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// checkRPM checks the header of a package.
func checkRPM(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(text, []byte("\xed\xab\xee\xdb")) {
		t.Fatalf("%s is no rpm: %v", path, err)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for _, want := range []string{"belfry", "0.1.0~test", machine, "systemd", "belfry-worker.service", "_belfry", "systemd-sysusers belfry.conf"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("rpm: %q is missing", want)
		}
	}
	if !regexp.MustCompile(`/usr/share/zsh/site-functions/\x00`).Match(text) {
		t.Error("rpm: the completions for zsh are in another place")
	}
}
