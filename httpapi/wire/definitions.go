package wire

import (
	"time"
)

// ApplyTimeout bounds one apply, which may be a hundred thousand definitions.
const ApplyTimeout = 2 * time.Minute
