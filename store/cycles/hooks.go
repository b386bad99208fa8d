package cycles

import (
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
)

// Hooks are the actions of other packages within the transitions of cycles.
type Hooks struct {
	// Tell notifies of a cycle that has ended.
	Tell func(c *Change, run cycle.Run, j job.Job, s job.Settlement) error
}
