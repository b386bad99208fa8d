package api

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// Wait reads the parameter wait: how long a call may wait for a result.
func Wait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := core.ParseDuration(text)
	if err != nil {
		return 0, core.InvalidField("wait", wire.Shorten(text), "is not a duration", "such as 10s")
	}
	if d < 0 {
		return 0, core.InvalidField("wait", wire.Shorten(text), "is negative", "")
	}
	return min(d, job.MaxClaimWait).D(), nil
}
