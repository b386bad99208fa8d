package wire

import (
	"github.com/belfry-run/belfry/monitor"
)

// OccasionList lists the occurrences of a maintenance window.
type OccasionList struct {
	Items []monitor.ActiveWindow `json:"items" doc:"Soonest first; the one under way included"`
}
