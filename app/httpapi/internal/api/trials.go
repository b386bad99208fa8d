package api

import (
	"net/http"

	"github.com/belfry-run/belfry/core"
)

// How often something is sent out on request, on the whole server.
const trialsPerSecond = 5

// TrialsAtOnce is how often at the same time.
const TrialsAtOnce = 10

// MayTry refuses to send something out too often.
func (a *API) MayTry() error {
	if a.Trials.Allow() {
		return nil
	}
	e := core.Errorf(core.Unavailable, "too many tries and tests at once").WithHint("wait a second")
	return newProblem(http.StatusTooManyRequests, e)
}
