package wire

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/view"
)

// Trial is a definition to try without saving it.
type Trial = view.Trial

// Tried is the result of a [Trial].
type Tried = view.Tried

// ChannelTest is the result of a test notification.
type ChannelTest = alert.ChannelTest

// TrialTimeout is the longest time of a trial.
const TrialTimeout = time.Minute
