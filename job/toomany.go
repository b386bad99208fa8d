package job

import (
	"fmt"

	"github.com/belfry-run/belfry/core"
)

// TooMany is the error of a list with more than [core.MaxBatch] entries.
func TooMany(field string, n int) error {
	e := core.InvalidField(field, fmt.Sprint(n, " entries"), fmt.Sprintf("has more than %d entries", core.MaxBatch), fmt.Sprintf("send at most %d at once", core.MaxBatch))
	e.Code, e.Message = core.TooLarge, "too many at once"
	return e
}
