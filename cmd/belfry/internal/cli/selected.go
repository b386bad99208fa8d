package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/belfry-run/belfry/view"
)

// RetryKey is the help of --key of the retry of a noun.
func RetryKey(noun string) string {
	return "idempotency key: a " + noun + " that was retried with it is not retried again; remembered for 24h"
}

// Selected shows the result for each selected job; noun names the jobs. If jobs were given by id and none was changed, the
// exit code reports that: not found if none of them exists.
func (c *CLI) Selected(all view.Selected, noun, done string, named bool) error {
	err := c.Emit(all, func(w io.Writer) {
		for _, id := range all.IDs {
			fmt.Fprintf(w, "%s %d %s\n", noun, id, done)
		}
		for _, id := range all.Existing {
			fmt.Fprintf(w, "%s %d was retried already, with the same key\n", noun, id)
		}
		for _, id := range slices.Sorted(maps.Keys(all.Left)) {
			if all.Left[id] == view.NoSuchJob {
				fmt.Fprintf(c.Stderr, "no %s %d\n", noun, id)
				continue
			}
			fmt.Fprintf(c.Stderr, "%s %d left as it is: %s\n", noun, id, all.Left[id])
		}
		if len(all.IDs)+len(all.Left)+len(all.Existing) == 0 {
			fmt.Fprintf(c.Stderr, "no such %ss\n", noun)
		}
	})
	if err == nil && named && len(all.IDs)+len(all.Existing) == 0 {
		for _, why := range all.Left {
			if why != view.NoSuchJob {
				return ExitStatus(ExitConflict) // the reasons are printed above
			}
		}
		return ExitStatus(ExitNotFound)
	}
	return err
}
