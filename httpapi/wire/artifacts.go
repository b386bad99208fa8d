package wire

import (
	"time"
)

// ConfirmTimeout is how long a node may read an artifact that its store has not
// compared itself.
const ConfirmTimeout = 10 * time.Minute
