// Package intake imports definitions of other schedulers and monitors into
// Belfry: whole crontabs, CronJobs of Kubernetes, the configuration of Gatus and
// the backup of Uptime Kuma.
//
// Each entry of a file becomes one [Line]: its meaning in plain words, its next
// times, its definitions, such as a task and a schedule, or a monitor, and notes
// on differences in Belfry. A faulty entry is a Line with its fault, by line and
// column. It is not in the manifest, and the other entries are still read. The
// manifest is always valid, and applying it twice changes nothing.
//
// Imported entries behave as before, not by Belfry's defaults: as in cron, an
// entry of a crontab may overlap with itself, is not retried and not caught up,
// and has the longest possible timeout. Names are derived from the commands, and
// those of monitors from their names, so the same file gives the same names.
//
// The package does no I/O except on the given reader, which is read up to
// [MaxSize] or [MaxBackup] bytes.
package intake

import (
	"bytes"
	"io"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
)

// Read reads CronJobs if the file looks like YAML or JSON of Kubernetes, and
// otherwise a crontab.
func Read(r io.Reader, o Options) (Result, error) {
	text, err := base.ReadAll(r)
	if err != nil {
		return Result{}, err
	}
	if looksLikeYAML(text) {
		return CronJobs(bytes.NewReader(text), o)
	}
	return Crontab(bytes.NewReader(text), o)
}

// looksLikeYAML decides by the first line that is not empty or a comment.
func looksLikeYAML(text []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, _, isPair := strings.Cut(line, ":")
		return line[0] == '{' || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "%YAML") ||
			isPair && (key == "apiVersion" || key == "kind" || key == "metadata" || key == "spec" || key == "items")
	}
	return false
}
