// Package intake reads what other schedulers and monitors were told and says it
// in Belfry's words: whole crontabs, CronJobs of Kubernetes, the configuration
// of Gatus and the backup of Uptime Kuma.
//
// Each entry of a file becomes one [Line]: what it means in plain words, when
// it runs next, what it became, such as a task and a schedule, or a monitor, and
// notes on what Belfry does otherwise. A faulty entry is a Line with its fault, by line and column,
// and does not keep the others from being read; it is not in the manifest. The
// manifest is always valid, and applying it twice changes nothing.
//
// Imported entries behave as they did, not as Belfry's defaults would have
// it: an entry of a crontab may overlap with itself, is not retried, is not
// made up for and has the longest timeout there is, because cron does no more.
// Names are made of the commands, and those of monitors of their names, so the
// same file gives the same names.
//
// Nothing here does I/O but for the reader it is given, which is read up to
// [MaxSize] or [MaxBackup] bytes.
package intake

import (
	"bytes"
	"io"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
)

// Read reads a file that is either: CronJobs when it looks like YAML or JSON
// of Kubernetes, and otherwise a crontab.
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

// looksLikeYAML goes by the first line that says anything.
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
