//go:build linux

package main

import (
	"bufio"
	"context"
	"database/sql"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// conditions returns the machine, the versions and the settings.
func (s *site) conditions(ctx context.Context, list []contender) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "- %s: "+format+"\n", append([]any{name}, args...)...)
	}
	line("machine", "%d CPUs (%s), %s of memory, %s/%s, kernel %s, databases on %s",
		runtime.NumCPU(), field("/proc/cpuinfo", "model name"), memory(), runtime.GOOS, runtime.GOARCH, kernel(), fileSystem(s.dir))
	line("Go", "%s, GOMAXPROCS %d; callers and worker in one process, with clients of their own on a server", runtime.Version(), runtime.GOMAXPROCS(0))
	if s.pg != nil {
		line("PostgreSQL", "%s", s.pg.settings(ctx))
	}
	if len(s.redises) > 0 {
		line("Redis", "%s, on a unix socket; appendonly yes and appendfsync always, or neither that nor save", version("redis-server", "--version"))
	}
	if node, _, err := s.graphile(); err == nil && slices.ContainsFunc(list, func(c contender) bool { return c.needs == "graphile" }) {
		line("Node.js", "%s, graphile-worker %s", version(node, "--version"), npmVersion(filepath.Join(s.home, "graphile", "node_modules", "graphile-worker")))
	}
	line("SQLite", "%s, journal_mode=WAL; peers over one connection, as their documents advise", sqliteVersion())
	line("peers", "%s", strings.Join(modules(s.child), ", "))
	b.WriteString("\n| contender | settings | a finished job is |\n|---|---|---|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.name, c.settings, c.history)
	}
	return b.String()
}

func (p *pgServer) settings(ctx context.Context) string {
	parts := []string{}
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_wal_size", "checkpoint_timeout", "autovacuum"} {
		var v string
		if err := p.admin.QueryRow(ctx, "show "+name).Scan(&v); err != nil {
			v = err.Error()
		}
		parts = append(parts, name+" "+v)
	}
	return strings.Join(parts, ", ") + "; over TCP on loopback; vacuum analyze and a checkpoint before each measurement"
}

// field returns the first value of a name in a file of /proc.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memory() string {
	var kb float64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%f kB", &kb); err != nil {
		return "unknown amount"
	}
	return fmt.Sprintf("%.0f GiB", kb/(1<<20))
}

func kernel() string {
	raw, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(raw))
}

// fileSystem returns the kind of a folder's file system. In memory nothing is
// durable, and every figure about a flush is wrong.
func fileSystem(dir string) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "an unknown file system"
	}
	switch uint32(fs.Type) {
	case 0xEF53:
		return "ext4"
	case 0x58465342:
		return "xfs"
	case 0x9123683E:
		return "btrfs"
	case 0x794C7630:
		return "overlayfs"
	case 0x01021994:
		return "**tmpfs, which flushes nothing: set TMPDIR to a folder on disk**"
	}
	return fmt.Sprintf("file system %#x", uint32(fs.Type))
}

func version(program, flag string) string {
	out, err := exec.Command(program, flag).Output()
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(out))
	for word := range strings.FieldsSeq(text) {
		if v, ok := strings.CutPrefix(word, "v="); ok { // the output of redis-server
			return v
		}
	}
	return text
}

func npmVersion(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "unknown"
	}
	var p struct{ Version string }
	if err := json.Unmarshal(raw, &p); err != nil {
		return "unknown"
	}
	return p.Version
}

func sqliteVersion() string {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err.Error()
	}
	defer db.Close() //nolint:errcheck // an empty database
	var v string
	if err := db.QueryRow("select sqlite_version()").Scan(&v); err != nil {
		return err.Error()
	}
	return v
}

// modules returns the compiled-in peers and drivers of this program and of River's
// SQLite contender.
func modules(child string) (list []string) {
	own, _ := debug.ReadBuildInfo()
	list = append(list, versions(own, []string{"river", "asynq", "goqite", "backlite", "sqlite", "pgx/v5"})...)
	if child == "" {
		return list
	}
	info, err := buildinfo.ReadFile(child)
	if err != nil {
		return list
	}
	return append(list, "on SQLite "+strings.Join(versions(info, []string{"river", "riverdriver/riversqlite"}), " with "))
}

func versions(info *debug.BuildInfo, ends []string) (list []string) {
	if info == nil {
		return nil
	}
	for _, m := range info.Deps {
		if slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(m.Path, "/"+end) }) {
			v := m.Version
			if m.Replace != nil {
				v = m.Replace.Version
			}
			list = append(list, m.Path+" "+v)
		}
	}
	return list
}
