package wire

import (
	"net/http"
	"testing"

	"github.com/belfry-run/belfry/core"
)

func TestARefusalThatWaitingDoesNotHelpNamesNoTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem Problem
		want    string
	}{
		{Problem{Status: http.StatusTooManyRequests, Code: core.QueueFull}, ""},
		{Problem{Status: http.StatusTooManyRequests, Code: core.OverQuota}, ""},
		{Problem{Status: http.StatusTooManyRequests, Code: core.QueueFull, RetryIn: 7}, "7"},
		{Problem{Status: http.StatusTooManyRequests, Code: core.Unavailable}, "1"},
		{Problem{Status: http.StatusServiceUnavailable, Code: core.Unavailable}, "1"},
	} {
		if got := c.problem.GetHeaders().Get("Retry-After"); got != c.want {
			t.Errorf("%d %s after %d: Retry-After is %q, want %q", c.problem.Status, c.problem.Code, c.problem.RetryIn, got, c.want)
		}
	}
}
