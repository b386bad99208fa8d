package wire

import (
	"github.com/belfry-run/belfry/monitor"
)

// OccasionList is when a window of maintenance holds.
type OccasionList struct {
	Items []monitor.ActiveWindow `json:"items" doc:"Soonest first; the one under way included"`
}
