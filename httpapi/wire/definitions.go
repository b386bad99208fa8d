package wire

import (
	"time"
)

// ApplyTimeout is the timeout of one apply, which may have a hundred thousand definitions.
const ApplyTimeout = 2 * time.Minute
