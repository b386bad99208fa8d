package wire

import (
	"strconv"

	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/monitor"
)

// PageDiff is the difference between two versions of a page.
type PageDiff struct {
	From monitor.PageVersion `json:"from" doc:"Without its text"`
	To   monitor.PageVersion `json:"to" doc:"Without its text"`
	textdiff.Result
}

// The names of special versions.
const (
	NewestVersion   = "newest"
	BaselineVersion = "baseline"
)

// VersionText formats the number of a version as its name.
func VersionText(seq int64) string {
	switch seq {
	case 0:
		return NewestVersion
	case -1:
		return BaselineVersion
	}
	return strconv.FormatInt(seq, 10)
}
