package wire

import (
	"time"
)

// ConfirmTimeout is how long a node may read an artifact to verify it, if its
// storage does not do that itself.
const ConfirmTimeout = 10 * time.Minute
