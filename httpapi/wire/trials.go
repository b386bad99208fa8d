package wire

import (
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/view"
)

type Trial = view.Trial

type Tried = view.Tried

type ChannelTest = alert.ChannelTest

const TrialTimeout = time.Minute
