package api

import (
	"net/http"

	"github.com/belfry-run/belfry/core"
)

// trialsPerSecond is the rate of tries and tests that users start, on the whole server.
const trialsPerSecond = 5

// TrialsAtOnce is the burst of tries and tests.
const TrialsAtOnce = 10

// MayTry counts a try or test, and refuses it above the rate.
func (a *API) MayTry() error {
	if a.Trials.Allow() {
		return nil
	}
	e := core.Errorf(core.Unavailable, "too many tries and tests at once").WithHint("wait a second")
	return newProblem(http.StatusTooManyRequests, e)
}
