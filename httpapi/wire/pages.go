package wire

import (
	"strconv"

	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/monitor"
)

// PageDiff is how one version of a page became another.
type PageDiff struct {
	From monitor.PageVersion `json:"from" doc:"Without its text"`
	To   monitor.PageVersion `json:"to" doc:"Without its text"`
	textdiff.Result
}

// Names of versions by what they are.
const (
	NewestVersion   = "newest"
	BaselineVersion = "baseline"
)

// VersionText is the other way round.
func VersionText(seq int64) string {
	switch seq {
	case 0:
		return NewestVersion
	case -1:
		return BaselineVersion
	}
	return strconv.FormatInt(seq, 10)
}
