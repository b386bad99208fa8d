package api

import (
	"net/http"

	"github.com/belfry-run/belfry/core"
)

const trialsPerSecond = 5

const TrialsAtOnce = 10

func (a *API) MayTry() error {
	if a.Trials.Allow() {
		return nil
	}
	e := core.Errorf(core.Unavailable, "too many tries and tests at once").WithHint("wait a second")
	return newProblem(http.StatusTooManyRequests, e)
}
